"""A day of virtual time with late clicks, fading and retention: nothing grows, and the counts agree with the log.

Every virtual hour the test measures the pages of the database and the blocks that Python has allocated. Both must stay
constant after the first displays are dropped, three hours after they were issued.
"""

import asyncio
import gc
import heapq
import itertools
import random
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import psutil
import pytest

from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.store.records import Event
from tests.service.running_service import POSITIONS, START, Client, ManualClock, open_client

HOUR = 3600.0
WAL_BYTES = 32e6
PAGE_BYTES = 4096
FEW_PAGES = 8  # b-trees gain and lose a page as rows come and go; a row left by each of 8,000 displays takes over 40
KEPT = 500  # arrangements; their cache is full before hour 6
STEADY = 5  # from this hour on, nothing may grow


class Day:
    """Displays at regular times, and clicks minutes later. Clicks may be repeated or late, displays discarded."""

    def __init__(self, client: Client, displays: int) -> None:
        self.client, self.gap, self.rng = client, 24 * HOUR / displays, random.Random(11)
        self.due: list[tuple[float, int, Event, float]] = []  # (time, sequence number, event, end of its click window)
        self.numbers = itertools.count()
        self.statuses = Counter[tuple[EventKind, str]]()
        self.measured: list[tuple[int, int, int]] = []

    async def run(self) -> None:
        clock = self.client.clock
        for hour in range(24):
            while clock.now < START + (hour + 1) * HOUR:
                for _ in range(20):
                    clock.now += self.gap
                    await self._request_display()
                await self._send(clock.now)
                await self.client.service.tick()
            self.measured.append(await self._measure())
        clock.now += 2 * HOUR  # the last clicks are all late
        await self._send(clock.now)

    async def _request_display(self) -> None:
        page = self.rng.choice(["shop", "feed"])
        _, display, _ = await self.client.service.recommend(page, RecommendationRequest())
        self._plan(Event(EventKind.VIEW, display.id, None, None, None, None), display.until, 10.0)
        for position in POSITIONS:
            if self.rng.random() < 0.2:
                click = Event(EventKind.CLICK, display.id, None, None, position, f"{display.id}:{position}")
                self._plan(click, display.until, HOUR / 2)
                if self.rng.random() < 0.1:
                    self._plan(click, display.until, HOUR / 2)
        if self.rng.random() < 0.02:
            self._plan(Event(EventKind.DISCARD, display.id, None, None, None, None), display.until, HOUR / 2)

    def _plan(self, event: Event, until: float, mean: float) -> None:
        when = self.client.clock.now + min(self.rng.expovariate(1 / mean), 2.5 * HOUR)
        heapq.heappush(self.due, (when, next(self.numbers), event, until))

    async def _send(self, now: float) -> None:
        batch = []
        while self.due and self.due[0][0] <= now:
            batch.append(heapq.heappop(self.due))
        answer = await self.client.service.record_events([event for _, _, event, _ in batch])
        for (_, _, event, until), status in zip(batch, [outcome.status for outcome in answer.outcomes], strict=True):
            self.statuses[event.kind, status] += 1
            wanted = (
                ("accepted", "duplicate") if now <= until or event.kind is EventKind.DISCARD else ("late", "duplicate")
            )
            assert status in wanted, (event, now - until)

    async def _measure(self) -> tuple[int, int, int]:
        """(bytes of the database, blocks allocated by Python, bytes of the process)."""
        gc.collect()
        pages = await self.client.service.store.do(lambda ledger: ledger._run("PRAGMA page_count").fetchone()[0])
        return PAGE_BYTES * pages, sys.getallocatedblocks(), psutil.Process().memory_info().rss


@pytest.mark.parametrize("displays", [8_000, pytest.param(500_000, marks=pytest.mark.soak)])
def test_a_day_leaves_nothing_behind(tmp_path: Path, displays: int, monkeypatch: pytest.MonkeyPatch) -> None:
    few = partial(ArrangementCache, most=KEPT)  # the usual 20,000 would still be filling up in the last hour
    monkeypatch.setattr("slotwise.service.pages.page_cache.ArrangementCache", few)

    async def scenario() -> Day:
        async with open_client(tmp_path, ManualClock()) as client:
            times = {"click_window": HOUR, "retention": HOUR, "half_life": 6 * HOUR}
            await client.page("shop", holdout=0.1, **times)
            await client.page("feed", count="viewed", **times)
            day = Day(client, displays)
            await day.run()
            for name in ("shop", "feed"):
                await assert_memory_is_the_store(client, name)
            return day

    day = asyncio.run(scenario())
    verdict = verify(tmp_path / "store.db")
    assert verdict.differences == []
    assert verdict.displays < displays / 6  # those of the last hours
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) < day.measured[-1][0] + WAL_BYTES
    (size, blocks, rss), (size_after, blocks_after, rss_after) = day.measured[STEADY], day.measured[-1]
    print(
        f"{displays:,} displays, {sum(day.statuses.values()):,} events; from hour {STEADY + 1} to 24: store "
        f"{size / 1e6:.2f} -> {size_after / 1e6:.2f} MB, blocks {blocks:,} -> {blocks_after:,}, "
        f"process {rss / 1e6:.0f} -> {rss_after / 1e6:.0f} MB"
    )
    assert size_after < 1.1 * size + FEW_PAGES * PAGE_BYTES
    assert blocks_after < blocks + max(5_000, displays / 20)
    assert rss_after < rss + 20e6
    assert min(day.statuses[EventKind.CLICK, status] for status in ("accepted", "late", "duplicate")) > displays / 100


async def assert_memory_is_the_store(client: Client, name: str) -> None:
    model = await client.service.model(name)
    kept = await client.service.store.do(lambda ledger: ledger.counts(model.page.number))
    cells = {cell[:3]: pytest.approx(cell[3:], rel=1e-6, abs=1e-6) for cell in kept.cells}
    assert {cell[:3]: cell[3:] for cell in model.cells()} == cells
    assert model.counts().displays == pytest.approx(kept.displays, rel=1e-6)
    assert 100 < kept.displays < 100_000
