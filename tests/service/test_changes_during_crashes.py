"""Pages are redefined, imported and purged while visitors send events and the service is killed.

No call may end in an internal error, and the store must verify after every end. What visitors know of their displays
does not matter here: they guess ids, repeat batches, and go on clicking on displays of deleted pages.
"""

import asyncio
import random
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotwise.service.maintenance.verify import verify
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import HANG

PAGES = ["shop", "home", "mail"]
VISITORS, EDITORS = 4, 2
ENDS = (signal.SIGKILL, signal.SIGTERM)  # in turn
MOST_EVENTS = 500  # in a batch


class Traffic:
    """Calls at random, and how often each was answered with each status."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.answers: Counter[tuple[str, int]] = Counter()
        self.shown: list[dict[str, Any]] = []
        self.batches: list[list[dict[str, Any]]] = []

    async def call(
        self, http: httpx.AsyncClient, name: str, method: str, path: str, body: Any = None
    ) -> httpx.Response:
        answer = await http.request(method, path, json=body)
        assert answer.status_code < 500 or answer.status_code == 503, (name, answer.text)
        self.answers[name, answer.status_code] += 1
        return answer

    async def edit(self, http: httpx.AsyncClient) -> None:
        while True:
            await self._change(http, f"/v1/pages/{self.rng.choice(PAGES)}")
            await asyncio.sleep(self.rng.uniform(0.0, 0.03))

    async def _change(self, http: httpx.AsyncClient, path: str) -> None:
        choice = self.rng.random()
        if choice < 0.6:
            await self.define(http, path)
        elif choice < 0.7:
            await self.call(http, "delete", "DELETE", path)
        elif choice < 0.9:
            await self.call(http, "purge", "DELETE", f"{path}?purge={path.rpartition('/')[2]}")
        else:
            state = await self.call(http, "state", "GET", f"{path}/state")
            if state.status_code == 200:
                await self.call(http, "import", "PUT", f"{path}/state", state.json())

    async def define(self, http: httpx.AsyncClient, path: str) -> None:
        rng = self.rng
        choices: dict[str, list[Any]] = {
            "segments": [[], ["new", "old"]],
            "holdout": [0.0, 0.5],
            "count": ["issued", "viewed"],
            "half_life": [None, 86_400.0],
            "mode": ["learn", "learn", "shadow", "off"],
            "most_per_category": [None, 1],
        }
        spec = {"positions": rng.sample(POSITIONS, rng.randint(1, len(POSITIONS)))}
        spec |= {name: rng.choice(values) for name, values in choices.items() if rng.random() < 0.3}
        await self.call(http, "define", "PUT", path, spec)
        states = ["active", "active", "paused", "retired"]
        rows = [
            {"item": item, "state": rng.choice(states), "value": rng.choice([1.0, 2.0]), "category": rng.choice("ab")}
            for item in rng.sample(ITEMS, rng.randint(2, len(ITEMS)))
        ]
        await self.call(http, "items", "POST", f"{path}/items:batch", {"items": rows})

    async def visit(self, http: httpx.AsyncClient) -> None:
        rng = self.rng
        while True:
            request = {"id": f"view-{rng.randrange(1_000)}"} if rng.random() < 0.4 else {"unit": f"{rng.randrange(50)}"}
            path = f"/v1/pages/{rng.choice(PAGES)}/recommendations"
            answer = await self.call(http, "recommend", "POST", path, request)
            if answer.status_code < 300:
                self.shown.append(answer.json())
            batch = [self._event() for _ in range(rng.choice((1, 3, 30, 200)))]
            if self.batches and rng.random() < 0.4:
                batch = (rng.choice(self.batches) + batch)[:MOST_EVENTS]
            self.batches = [*self.batches[-20:], batch]
            sent = await self.call(http, "events", "POST", "/v1/events", {"events": batch})
            if sent.status_code == 200:
                assert len(sent.json()["results"]) == len(batch)

    def _event(self) -> dict[str, Any]:
        rng = self.rng
        id = {"id": f"event-{rng.randrange(1_000)}"} if rng.random() < 0.5 else {}
        if not self.shown or rng.random() < 0.15:
            return id | {"type": "click", "display": f"view-{rng.randrange(10**6)}", "position": "hero"}
        shown = rng.choice(self.shown[-40:])
        kind = rng.choice(("click", "click", "view", "discard"))
        named = {"display": shown["id"]} if kind == "discard" or rng.random() < 0.5 else {"token": shown["token"]}
        return id | named | {"type": kind} | ({"position": rng.choice(POSITIONS)} if kind == "click" else {})


async def call_until(server: Process, traffic: Traffic, end: signal.Signals) -> None:
    async with httpx.AsyncClient(base_url=server.address, timeout=HANG) as http:
        for page in PAGES:
            await traffic.define(http, f"/v1/pages/{page}")
        calls = [traffic.visit(http) for _ in range(VISITORS)] + [traffic.edit(http) for _ in range(EDITORS)]
        tasks = [asyncio.create_task(call) for call in calls]
        await asyncio.wait(tasks, timeout=traffic.rng.uniform(0.3, 1.5), return_when=asyncio.FIRST_EXCEPTION)
        server.process.send_signal(end)
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if not isinstance(ended, httpx.TransportError):
                raise ended
    server.process.wait(timeout=HANG)


@pytest.mark.parametrize("cycles", [2, pytest.param(100, marks=pytest.mark.soak)])
def test_no_call_ends_in_an_internal_error(tmp_path: Path, cycles: int) -> None:
    store, traffic = tmp_path / "store.db", Traffic(seed=cycles)
    for cycle in range(cycles):
        with process(store) as server:
            try:
                asyncio.run(call_until(server, traffic, ENDS[cycle % len(ENDS)]))
            except AssertionError as error:
                raise AssertionError(f"cycle {cycle}: {error}\n" + "\n".join(server.logged())) from error
            assert server.logged() == []
        assert verify(store).differences == []
    print(
        f"{cycles} ends: {sum(traffic.answers.values()):,} calls, {traffic.answers['events', 200]:,} batches of events"
    )
    assert {name for name, status in traffic.answers if status < 300} >= {"define", "items", "recommend", "events"}
