"""How long each call keeps the event loop busy, with the largest pages that the limits allow.

The service runs on the event loop of this process, and a thread sends the requests. Every callback of the loop is timed
by the CPU time of the loop's own thread. So neither other processes nor other threads count.
"""

import asyncio
import contextlib
import gc
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, report
from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.listeners import bind
from slotwise.service.http.server import GC_THRESHOLD, listening
from slotwise.service.pages.limits import MOST_NAMED
from slotwise.service.service import running

MOST_MILLISECONDS = 20.0
ITEMS, NAMED = 100_000, MOST_NAMED


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

    def call(self, method: str, path: str, body: Any = None, expected: int = 200) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        connection = HTTPConnection("127.0.0.1", self._port)
        headers = {"Content-Type": "application/json"}
        connection.request(method, path if path.startswith("/") else f"/v1/pages/{path}", content, headers)
        response = connection.getresponse()
        assert response.read() is not None
        connection.close()
        assert response.status in (expected, expected + 1, 204), (method, path, response.status)

    def measured(self, what: str, *calls: tuple[Any, ...]) -> None:
        self._timer.reset()
        for call in calls:
            self.call(*call)
        print(f"{what}: {1e3 * self._timer.longest:.1f} ms", flush=True)
        self.rows.append(Row(what, 1e3 * self._timer.longest, "ms", MOST_MILLISECONDS))


def exercise(caller: Caller) -> None:
    """Every route, on pages of 100,000 items x 5 positions and of 10,000 items x 99 positions."""
    caller.call("PUT", "small", {"positions": ["one"]})
    caller.call("POST", "small/items:batch", {"items": [{"item": "hat"}]})
    caller.call("POST", "small/recommendations", {})
    many = [f"position-{k}" for k in range(50)]
    for name, n_items, layouts in (
        ("wide", ITEMS, {"default": many[:5]}),
        ("long", 10_000, {"default": many, "second": many[:49]}),
    ):
        caller.measured(f"{name}: define", ("PUT", name, {"layouts": layouts}))
        batches = [[{"item": f"item {k}"} for k in range(first, first + 1000)] for first in range(0, n_items, 1000)]
        caller.measured(f"{name}: add items", *[("POST", f"{name}/items:batch", {"items": rows}) for rows in batches])
        caller.measured(f"{name}: first display", ("POST", f"{name}/recommendations", {}))
        time.sleep(5.0)  # the first ensemble
        caller.measured(f"{name}: display", *[("POST", f"{name}/recommendations", {})] * 20)
        named = [f"item {k}" for k in range(NAMED)]
        constraints = {"eligible": named, "excluded": named[: NAMED // 2], "pinned": {"position-0": "item 7"}}
        caller.measured(f"{name}: display, constrained", *[("POST", f"{name}/recommendations", constraints)] * 5)
        unknown = {"eligible": ["nothing"]}
        caller.measured(f"{name}: display, unknown item", ("POST", f"{name}/recommendations", unknown, 422))
        caller.measured(f"{name}: read the page", ("GET", name, None))
        caller.measured(f"{name}: change a setting", ("PATCH", name, {"holdout": 0.01}))
        caller.measured(f"{name}: pin", ("PUT", f"{name}/pins/default/position-0", {"item": "item 3"}))
        caller.measured(f"{name}: pause an item", ("PATCH", f"{name}/items/item%207", {"state": "paused"}))
        caller.measured(f"{name}: display after that", *[("POST", f"{name}/recommendations", {})] * 5)
        cells = [
            {"item": f"item {k}", "layout": "default", "position": "position-0", "clicks": 1, "skips": 9}
            for k in range(min(n_items, 100_000))
        ]
        caller.measured(
            f"{name}: import {len(cells):,} counts", ("PUT", f"{name}/state", {"counts": cells, "displays": 9})
        )
        caller.measured(f"{name}: load and display", ("POST", f"{name}/recommendations", {}))
        caller.measured(f"{name}: export the counts", ("GET", f"{name}/state", None))
        caller.measured(f"{name}: export the log", ("GET", f"{name}/log?format=ndjson", None))
        caller.measured(f"{name}: export the log as Parquet", ("GET", f"{name}/log?format=parquet", None))
        caller.measured(f"{name}: many sweeps", ("PATCH", name, {"params": {"sweeps": 100}}))
        caller.measured(f"{name}: display after that", *[("POST", f"{name}/recommendations", {})] * 20)
        caller.measured(f"{name}: name the default order", ("PATCH", name, {"default_order": named, "mode": "shadow"}))
        caller.measured(f"{name}: display in default order", *[("POST", f"{name}/recommendations", {})] * 20)
        caller.measured(f"{name}: learn again", ("PATCH", name, {"mode": "learn"}))
        caller.measured(f"{name}: insights", ("GET", f"{name}/insights", None))
        caller.measured(f"{name}: add a segment", ("PATCH", name, {"segments": ["new"]}))
    caller.measured("compile a policy", ("PATCH", "small", {"policy": "greedy"}))
    caller.measured("metrics", ("GET", "/metrics", None))


async def measure(work: Callable[[Caller], None]) -> list[Row]:
    timer = LoopTimer()
    with tempfile.TemporaryDirectory() as folder, timer.installed():
        async with running(Path(folder) / "store.db") as service:
            await service.compiled.wait()
            gc.freeze()  # as `serve` does
            gc.set_threshold(*GC_THRESHOLD)
            listener = bind("127.0.0.1", 0)
            async with listening(make_app(service, DevAccess()), listener):
                caller = Caller(listener.getsockname()[1], timer)
                await asyncio.to_thread(work, caller)
    return caller.rows


def main() -> bool:
    return report("The event loop", Path(__file__).stem, asyncio.run(measure(exercise)))


if __name__ == "__main__":
    sys.exit(not main())
