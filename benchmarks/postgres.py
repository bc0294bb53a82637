"""The speed of the PostgreSQL store beside the SQLite store, in one run: durable events, and recommendations.

PostgreSQL runs on this machine, with its default settings: each commit waits for the disk, as with SQLite.
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, report
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service, running
from slotwise.service.store.records import Event
from tests.postgres_server import running_server

BATCH, BATCHES, SENDERS, TURNS = 100, 60, 8, 5
REQUESTS = 3_000  # recommendations of a turn
LEAST_EVENTS, LEAST_RECOMMENDATIONS = 0.6, 0.9  # relative to SQLite
N_ITEMS, POSITIONS = 50, [f"p{k}" for k in range(5)]
_REQUEST = RecommendationRequest()


class Measured:
    """A service on one store, and its speeds in each turn."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.events: list[float] = []
        self.recommendations: list[float] = []

    async def define(self) -> None:
        await self.service.compiled.wait()
        await self.service.save_page("shop", lambda _: NO_PAGE.with_spec(PageSpec(positions=POSITIONS)), None)
        items = [(f"i{k}", ItemSpec()) for k in range(N_ITEMS)]
        await self.service.save_items(await self.service.model("shop"), items)
        await self.service.recommend("shop", _REQUEST)

    async def turn(self) -> None:
        """Measure once."""
        began = time.perf_counter()
        shown = [(await self.service.recommend("shop", _REQUEST)).display for _ in range(REQUESTS)]
        self.recommendations.append(REQUESTS / (time.perf_counter() - began))
        await self.service.store.do(lambda ledger: ledger.page_names())  # the displays are committed
        clicks = [Event(EventKind.CLICK, d.id, d.nonce, None, p, None) for p in POSITIONS[:2] for d in shown]
        batches = [clicks[k : k + BATCH] for k in range(0, BATCHES * BATCH, BATCH)]

        async def send() -> None:
            while batches:
                recorded = await self.service.record_events(batches.pop())
                assert all(outcome.status == "accepted" for outcome in recorded.outcomes)

        began = time.perf_counter()
        await asyncio.gather(*[send() for _ in range(SENDERS)])
        self.events.append(BATCH * BATCHES / (time.perf_counter() - began))


async def measure(sqlite: Path, address: str) -> tuple[Measured, Measured]:
    """Measure both in turns."""
    async with running(sqlite, seed=None) as first, running(address, seed=None) as second:
        both = Measured(first), Measured(second)
        for measured in both:
            await measured.define()
        for _ in range(TURNS):
            for measured in both:
                await measured.turn()
        return both


def main() -> bool:
    """Print the table. Returns whether all limits hold."""
    with tempfile.TemporaryDirectory() as folder, running_server(fsync=True) as server:
        sqlite, postgres = asyncio.run(measure(Path(folder) / "store.db", server.database()))

    def row(what: str, ours: list[float], theirs: list[float], limit: float) -> Row:
        """The median of the ratios of the turns."""
        described = f"{what}: PostgreSQL {np.median(ours):,.0f}/s, SQLite {np.median(theirs):,.0f}/s"
        return Row(described, float(np.median(np.array(ours) / np.array(theirs))), "x", limit, most=False)

    rows = [
        row("durable events", postgres.events, sqlite.events, LEAST_EVENTS),
        row("recommendations", postgres.recommendations, sqlite.recommendations, LEAST_RECOMMENDATIONS),
    ]
    return report("PostgreSQL beside SQLite", "postgres", rows)


if __name__ == "__main__":
    sys.exit(not main())
