"""Visits to a page while its service is killed and restarted. The arguments are the client, a URL, a page, displays.

It prints a line when all displays are issued, waits for a line on its input, clicks 100 times a second, and then
prints the outcomes as JSON.
"""

import asyncio
import json
import sys
import time
from typing import Any

from slotwise_client import AsyncClient, Client, DefaultOrder, Display, Options
from tests.service.running_service import ITEMS, POSITIONS
from tests.waiting import HANG

RATE = 100  # events per second
TIMEOUT = 0.2  # for pages during the outage
DEFAULT = DefaultOrder(POSITIONS, ITEMS)
# many small batches, so that the end of the service interrupts some; a long pause would only prolong the test
OPTIONS = Options(
    timeout=TIMEOUT, flush_seconds=0.05, longest_backoff=1.0, event_timeout=HANG, discard_unanswered=False
)


def clicks_of(displays: list[Display]) -> list[tuple[Display, str]]:
    return [(display, position) for display in displays for position in POSITIONS]


def pause_until(began: float, number: int) -> float:
    return max(0.0, began + number / RATE - time.monotonic())


def result(client: Client | AsyncClient, waits: list[float], sources: set[str]) -> dict[str, Any]:
    return {"outcomes": client.outcomes, "longest_wait": max(waits), "sources": sorted(sources)}


def visit(url: str, page: str, number: int) -> dict[str, Any]:
    waits, sources = [], set()
    with Client(url, None, OPTIONS) as client:
        displays = [client.recommend(page, timeout=HANG, default=DEFAULT) for _ in range(number)]
        print("issued", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        for index, (display, position) in enumerate(clicks_of(displays)):
            time.sleep(pause_until(began, index))
            client.click(display, position)
            if index % RATE == 0:
                asked = time.monotonic()
                sources.add(client.recommend(f"{page}-other", default=DEFAULT).source)
                waits.append(time.monotonic() - asked)
        client.flush(HANG)
        return result(client, waits, sources)


async def visit_async(url: str, page: str, number: int) -> dict[str, Any]:
    waits, sources = [], set()
    async with AsyncClient(url, None, OPTIONS) as client:
        displays = [await client.recommend(page, timeout=HANG, default=DEFAULT) for _ in range(number)]
        print("issued", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.monotonic()
        for index, (display, position) in enumerate(clicks_of(displays)):
            await asyncio.sleep(pause_until(began, index))
            client.click(display, position)
            if index % RATE == 0:
                asked = time.monotonic()
                sources.add((await client.recommend(f"{page}-other", default=DEFAULT)).source)
                waits.append(time.monotonic() - asked)
        await client.flush(HANG)
        return result(client, waits, sources)


if __name__ == "__main__":
    _, kind, url, page, number = sys.argv
    found = visit(url, page, int(number)) if kind == "sync" else asyncio.run(visit_async(url, page, int(number)))
    print(json.dumps(found))
