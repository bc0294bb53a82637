"""How long each call keeps the event loop busy, with the largest pages that the limits allow.

The service runs on the event loop of this process, and a thread sends the requests. Every callback of the loop is timed
by the CPU time of the loop's own thread. So neither other processes nor other threads count.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measure import Row, report
from slotwise.service.api.overview import PAGE_SIZE as OVERVIEW_PAGES
from slotwise.service.garbage_collection import collecting_in_background
from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.listeners import bind
from slotwise.service.http.server import listening
from slotwise.service.pages.limits import MOST_EVENTS, MOST_NAMED
from slotwise.service.service import running

MOST_MILLISECONDS = 20.0
ITEMS, NAMED = 100_000, MOST_NAMED
ACTIONS = 500  # in one call of Azure Personalizer


class LoopTimer:
    """The longest callback of the event loop since the last `reset`, in seconds of CPU time."""

    def __init__(self) -> None:
        self.longest, self._thread = 0.0, threading.get_ident()

    def reset(self) -> None:
        self.longest = 0.0

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        run = asyncio.Handle._run

        def timed(handle: asyncio.Handle) -> None:
            if threading.get_ident() != self._thread:
                return run(handle)
            began = time.thread_time()
            try:
                return run(handle)
            finally:
                self.longest = max(self.longest, time.thread_time() - began)

        asyncio.Handle._run = timed
        try:
            yield
        finally:
            asyncio.Handle._run = run


class Caller:
    """Sends requests from a thread, and notes the longest callback of each kind of call."""

    def __init__(self, port: int, timer: LoopTimer) -> None:
        self._port, self._timer = port, timer
        self.rows: list[Row] = []

    def call(self, method: str, path: str, body: Any = None, expected: int = 200) -> bytes:
        """The content of the response. `body` is sent as it is if it is bytes, and otherwise as JSON."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self._port)
        headers = {"Content-Type": "application/x-ndjson" if isinstance(body, bytes) else "application/json"}
        connection.request(method, path if path.startswith("/") else f"/v1/pages/{path}", content, headers)
        response = connection.getresponse()
        received = response.read()
        connection.close()
        assert response.status in (expected, expected + 1, 202, 204), (method, path, response.status, received[:300])
        return received

    def measured(self, what: str, *calls: tuple[Any, ...]) -> None:
        self._timer.reset()
        for call in calls:
            self.call(*call)
        self._note(what)

    def measured_for(self, what: str, seconds: float, *calls: tuple[Any, ...]) -> None:
        """Also measure what goes on for some seconds after the calls."""
        self._timer.reset()
        for call in calls:
            self.call(*call)
        time.sleep(seconds)
        self._note(what)

    def _note(self, what: str) -> None:
        print(f"{what}: {1e3 * self._timer.longest:.1f} ms", flush=True)
        self.rows.append(Row(what, 1e3 * self._timer.longest, "ms", MOST_MILLISECONDS))


class Page(NamedTuple):
    """A page at the limits. The first position of its default layout is `position-0`."""

    name: str
    n_items: int
    layouts: dict[str, list[str]]


_MANY = [f"position-{k}" for k in range(50)]
PAGES = (
    Page("wide", ITEMS, {"default": _MANY[:5]}),
    Page("long", 10_000, {"default": _MANY, "second": _MANY[:49]}),
)


def exercise(caller: Caller) -> None:
    """Every route, on pages of 100,000 items x 5 positions and of 10,000 items x 99 positions."""
    for k in range(OVERVIEW_PAGES):
        name = f"small-{k:03}"
        caller.call("PUT", name, {"positions": ["one"]})
        caller.call("POST", f"{name}/items:batch", {"items": [{"item": "hat"}]})
        caller.call("POST", f"{name}/recommendations", {})
    for page in PAGES:
        _define(caller, page)
        _show(caller, page)
        _send_events(caller, page)
        _change(caller, page)
        _move_counts(caller, page)
        _use_policy(caller, page)
        _look(caller, page)
    _use_personalizer(caller, PAGES[0])
    for page in PAGES:
        _delete(caller, page)
    caller.measured("compile a policy", ("PATCH", "small-000", {"policy": "greedy"}))
    for path in ("/metrics", "/openapi.json", "/docs", "/v1/pages", "/v1/history", "/v1/keys", "/v1/version"):
        caller.measured(path, ("GET", path))
    caller.measured_for("overview of 100 pages", 3.0, ("GET", "/v1/overview"))
    caller.measured("dashboard of 100 pages", ("GET", "/dashboard"))


def _define(caller: Caller, page: Page) -> None:
    name = page.name
    caller.measured(f"{name}: define", ("PUT", name, {"layouts": page.layouts}))
    numbers = range(page.n_items)
    batches = [[{"item": f"item {k}"} for k in numbers[first : first + 1000]] for first in numbers[::1000]]
    caller.measured(f"{name}: add items", *[("POST", f"{name}/items:batch", {"items": rows}) for rows in batches])


def _show(caller: Caller, page: Page) -> None:
    name, path = page.name, f"{page.name}/recommendations"
    caller.measured(f"{name}: first display", ("POST", path, {}))
    time.sleep(5.0)  # the first ensemble
    caller.measured(f"{name}: display", *[("POST", path, {})] * 20)
    named = [f"item {k}" for k in range(NAMED)]
    constraints = {"eligible": named, "excluded": named[: NAMED // 2], "pinned": {"position-0": "item 7"}}
    caller.measured(f"{name}: display, constrained", *[("POST", path, constraints)] * 5)
    caller.measured(f"{name}: preview, constrained", *[("POST", f"{path}?preview=true", constraints)] * 5)
    caller.measured(f"{name}: display, unknown item", ("POST", path, {"eligible": ["nothing"]}, 422))


def _send_events(caller: Caller, page: Page) -> None:
    clicks = []
    while len(clicks) < MOST_EVENTS:
        display = json.loads(caller.call("POST", f"{page.name}/recommendations", {}))
        clicks += [
            {"type": "click", "token": display["token"], "position": row["position"]} for row in display["items"]
        ]
    caller.measured(
        f"{page.name}: {MOST_EVENTS} clicks", *[("POST", "/v1/events", {"events": clicks[:MOST_EVENTS]})] * 2
    )


def _change(caller: Caller, page: Page) -> None:
    name, item = page.name, f"{page.name}/items/item%207"
    caller.measured(f"{name}: read the page", ("GET", name))
    caller.measured(f"{name}: change a setting", ("PATCH", name, {"holdout": 0.01}))
    pin = f"{name}/pins/default/position-0"
    caller.measured(f"{name}: pin, unpin", ("PUT", pin, {"item": "item 3"}), ("DELETE", pin))
    caller.measured(f"{name}: pause an item", ("PATCH", item, {"state": "paused"}))
    caller.measured(f"{name}: read, replace, delete an item", ("GET", item), ("PUT", item, {}), ("DELETE", item))
    caller.measured(f"{name}: display after that", *[("POST", f"{name}/recommendations", {})] * 5)
    caller.measured(f"{name}: add a segment", ("PATCH", name, {"segments": ["new"]}))


def _move_counts(caller: Caller, page: Page) -> None:
    name, n_cells = page.name, min(page.n_items, 100_000)
    cells = [
        {"item": f"item {k}", "layout": "default", "position": "position-0", "clicks": 1, "skips": 9}
        for k in range(n_cells)
    ]
    caller.measured(f"{name}: import {n_cells:,} counts", ("PUT", f"{name}/state", {"counts": cells, "displays": 9}))
    caller.measured(f"{name}: load and display", ("POST", f"{name}/recommendations", {}))
    caller.measured(f"{name}: export the counts", ("GET", f"{name}/state"))
    lines = caller.call("GET", f"{name}/state.ndjson")
    caller.measured(f"{name}: export the counts as lines", ("GET", f"{name}/state.ndjson"))
    caller.measured(f"{name}: import lines", ("PUT", f"{name}/state.ndjson", lines))
    caller.measured(f"{name}: display after that", ("POST", f"{name}/recommendations", {}))
    caller.measured(f"{name}: export the log", ("GET", f"{name}/log?format=ndjson"))
    caller.measured(f"{name}: export the log as Parquet", ("GET", f"{name}/log?format=parquet"))


def _use_policy(caller: Caller, page: Page) -> None:
    name, path = page.name, f"{page.name}/recommendations"
    named = [f"item {k}" for k in range(NAMED)]
    caller.measured(f"{name}: many sweeps", ("PATCH", name, {"params": {"sweeps": 100}}))
    caller.measured(f"{name}: display after that", *[("POST", path, {})] * 20)
    caller.measured(f"{name}: name the default order", ("PATCH", name, {"default_order": named, "mode": "shadow"}))
    caller.measured(f"{name}: display in default order", *[("POST", path, {})] * 20)
    caller.measured(f"{name}: learn again", ("PATCH", name, {"mode": "learn", "params": {}}))
    caller.measured_for(f"{name}: ensembles after that", 8.0, ("POST", path, {}))


def _look(caller: Caller, page: Page) -> None:
    name, path = page.name, f"/dashboard/pages/{page.name}"
    caller.measured(f"{name}: insights and uplift", ("GET", f"{name}/insights"))
    caller.measured(f"{name}: history", ("GET", f"{name}/history"))
    caller.measured_for(f"{name}: overview", 3.0, ("GET", "/v1/overview?after=a"))
    caller.measured_for(f"{name}: dashboard", 2.0, ("GET", path))
    caller.measured(f"{name}: dashboard, all items", ("GET", f"{path}?items=all"))
    caller.measured(f"{name}: dashboard, one item", ("GET", f"{path}/items/item%209"))


def _use_personalizer(caller: Caller, page: Page) -> None:
    """Azure Personalizer's calls, with as many actions as they may have."""
    path, actions = f"{page.name}/personalizer/v1.0", [{"id": f"item {k}"} for k in range(100, 100 + ACTIONS)]
    body = {"actions": actions, "slots": [{"id": position} for position in page.layouts["default"]]}
    caller.measured("personalizer: rank slots", *[("POST", f"{path}/multislot/rank", body)] * 5)
    event = json.loads(caller.call("POST", f"{path}/multislot/rank", body))["eventId"]
    rewards = [{"slotId": position, "value": 1.0} for position in page.layouts["default"]]
    caller.measured(
        "personalizer: reward slots", ("POST", f"{path}/multislot/events/{event}/reward", {"reward": rewards})
    )
    caller.call("PATCH", page.name, {"layouts": {"default": ["position-0"]}})
    caller.measured("personalizer: rank", *[("POST", f"{path}/rank", {"actions": actions})] * 5)
    event = json.loads(caller.call("POST", f"{path}/rank", {"actions": actions}))["eventId"]
    caller.measured(
        "personalizer: activate, reward",
        ("POST", f"{path}/events/{event}/activate"),
        ("POST", f"{path}/events/{event}/reward", {"value": 1.0}),
    )


def _delete(caller: Caller, page: Page) -> None:
    caller.measured(f"{page.name}: archive", ("DELETE", page.name))
    caller.measured_for(f"{page.name}: delete for good", 5.0, ("DELETE", f"{page.name}?purge={page.name}"))


async def measure(work: Callable[[Caller], None]) -> list[Row]:
    timer = LoopTimer()
    with tempfile.TemporaryDirectory() as folder, timer.installed():
        async with running(Path(folder) / "store.db") as service:
            await service.compiled.wait()
            listener = bind("127.0.0.1", 0)
            with collecting_in_background():  # as `serve` does
                async with listening(make_app(service, DevAccess()), listener):
                    caller = Caller(listener.getsockname()[1], timer)
                    await asyncio.to_thread(work, caller)
    return caller.rows


def main() -> bool:
    return report("The event loop", Path(__file__).stem, asyncio.run(measure(exercise)))


if __name__ == "__main__":
    sys.exit(not main())
