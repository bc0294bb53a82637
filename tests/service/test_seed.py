"""With a seed, the same requests get the same displays, whenever background threads and housekeeping run."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.service.running_service import Client, ManualClock, open_client

ROUNDS = 40
PAGES = {
    "shop": {},
    "plan": {"policy": "slot_ids", "segments": ["new"]},
    "first": {"template": "home"},
    "second": {"template": "home", "segments": ["new"]},
}


async def send_requests(client: Client, rounds: int, interrupt: Callable[[], Awaitable[None]]) -> list[Any]:
    """Displays, clicks and changes of items on several pages. `interrupt` is awaited between the requests."""
    for name, spec in PAGES.items():
        await client.page(name, items=[f"item{k}" for k in range(30)], **spec)
    chosen, visitors = [], np.random.default_rng(0)
    for k in range(rounds):
        name = list(PAGES)[k % len(PAGES)]
        request = {"segment": "new"} if "segments" in PAGES[name] and visitors.random() < 0.5 else {}
        shown = await client.recommend(name, id=f"view{k}", **request)
        chosen.append([row["item"] for row in shown["items"]])
        await interrupt()
        for row in shown["items"]:  # one request after another, while draws are made
            if visitors.random() < 0.5:
                await client.send({"type": "click", "token": shown["token"], "position": row["position"]})
        await interrupt()
        if k % 3 == 0:
            item, prior = f"new{k}", {"clicks": 2.0, "views": 9.0} if k % 2 else None
            await client.ok("PUT", f"/v1/pages/{name}/items/{item}", {"prior": prior})
        if k % 5 == 0:
            item = shown["items"][0]["item"]
            await client.ok("PUT", f"/v1/pages/{name}/items/{item}", {"state": "retired"})
            await interrupt()
    return chosen


async def displays(folder: Path, seed: int, rounds: int, interrupt_seed: int | None = None) -> list[Any]:
    folder.mkdir()
    clock, times = ManualClock(), np.random.default_rng(interrupt_seed)
    async with open_client(folder, clock, seed) as client:

        async def interrupt() -> None:
            if interrupt_seed is not None and times.random() < 0.4:
                await asyncio.sleep(0.003 * times.random())
                await client.service.tick()

        return await send_requests(client, rounds, interrupt)


def test_a_seeded_service_repeats_its_displays(tmp_path: Path) -> None:
    first = asyncio.run(displays(tmp_path / "first", 3, ROUNDS))
    assert asyncio.run(displays(tmp_path / "again", 3, ROUNDS, interrupt_seed=1)) == first
    assert asyncio.run(displays(tmp_path / "other", 4, 8)) != first[:8], "the seed makes a difference"
