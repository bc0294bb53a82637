"""Load: simulated visitors who ask a running service for displays and click, at a constant rate or as fast as it goes.

At a rate, the rounds have a timetable, and latency counts from the time a round was due: a service that stalls is
charged for every visitor who would have come meanwhile. Without a rate each connection plays its rounds one after
another and waits until the clicks that are due are learnt; on a single connection that is the game of `simulate`.
"""

import asyncio
import selectors
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import msgspec

from slotwise.checks import BadInput
from slotwise.client.address import Address, phrase
from slotwise.client.http_client import path_of
from slotwise.client.load.click_queue import Clicks
from slotwise.client.load.fast_connection import Lost, Stream
from slotwise.client.load.latency import Latency
from slotwise.client.load.learning_curve import Curve
from slotwise.client.load.visitors import Visitors

TICK = 0.5  # seconds between two looks at a load under way
PATIENCE = 10.0  # seconds without any answer until a load ends
PAUSE = 0.1  # seconds after a refusal, so that a service that is down is not flooded
Done = TypeVar("Done")


class Plan(NamedTuple):
    """What a load is to be."""

    page: str
    rounds: int | None = None  # None: until it is stopped
    rate: float | None = None  # rounds per second; None: as fast as it goes
    connections: int = 16
    delay: int = 0  # rounds until a click is sent


class _Shown(msgspec.Struct):
    position: str
    item: str


class _Display(msgspec.Struct):
    token: str
    items: list[_Shown]
    degraded: bool = False


_decode = msgspec.json.Decoder(_Display).decode


class Load:
    """One load, under way or done."""

    def __init__(self, address: Address, visitors: Visitors, plan: Plan) -> None:
        self.plan, self.visitors = plan, visitors
        self.curve, self.latency, self.errors = Curve(), Latency(), Counter[str]()
        self.degraded, self.clicked = 0, 0
        self.stopped = ""  # why, when it did not end by itself
        self._address = address
        self._streams = [Stream(address) for _ in range(plan.connections + 1)]
        self.clicks = Clicks(self._streams[0], plan.delay)
        self._path = path_of("pages", plan.page, "recommendations")
        self._taken, self._began, self._heard = 0, 0.0, 0.0

    @property
    def seconds(self) -> float:
        """From the first round until the last answer."""
        return max(self._heard - self._began, 1e-9)

    def stop(self, why: str = "stopped") -> None:
        """Play no more rounds."""
        self.stopped = self.stopped or why

    async def run(self, tell: Callable[["Load"], None]) -> None:
        """Play all rounds; `tell` is called now and then."""
        try:
            await asyncio.gather(*[stream.open() for stream in self._streams])
        except Lost as lost:
            raise BadInput(f"{self._address.url} does not answer: {lost}") from None
        sending = asyncio.create_task(self.clicks.send())
        self._began = self._heard = time.perf_counter()
        workers = [asyncio.create_task(self._work(stream)) for stream in self._streams[1:]]
        try:
            await self._watch(workers, tell)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.clicks.finish(), PATIENCE)
        finally:
            for task in [sending, *workers]:
                task.cancel()
            await asyncio.gather(sending, *workers, return_exceptions=True)
            for stream in self._streams:
                stream.close()
        tell(self)

    async def _watch(self, workers: list["asyncio.Task[None]"], tell: Callable[["Load"], None]) -> None:
        pending = set(workers)
        while pending:
            done, pending = await asyncio.wait(pending, timeout=TICK)
            for worker in done:
                worker.result()
            tell(self)
            if self.stopped:
                await asyncio.wait(workers, timeout=TICK)
                return
            if time.perf_counter() - self._heard > PATIENCE + 1.0 / (self.plan.rate or 1.0):
                self.stop(f"no answer for {PATIENCE:.0f} seconds")

    async def _work(self, stream: Stream) -> None:
        while not self.stopped and self._taken != self.plan.rounds:
            number = self._taken
            self._taken += 1
            await self._round(stream, await self._due(number))

    async def _due(self, number: int) -> float:
        """Wait until a round is due; when that is, even if it has passed."""
        now = time.perf_counter()
        if self.plan.rate is None:
            return now
        due = self._began + number / self.plan.rate
        if due > now:
            await asyncio.sleep(due - now)
        return due

    async def _round(self, stream: Stream, due: float) -> None:
        try:
            status, content = await stream.post(self._path, b"{}")
        except Lost as lost:
            return await self._refused(str(lost))
        self._heard = time.perf_counter()
        if status not in (200, 201):
            return await self._refused(phrase(status))
        self.latency.add(self._heard - due)
        display = _decode(content)
        self.degraded += display.degraded
        visit = self.visitors.visit((shown.position, shown.item) for shown in display.items)
        self.curve.add(visit.regret)
        self.clicked += len(visit.clicked)
        self.clicks.add(display.token, visit.clicked)
        if self.plan.rate is None:
            await self.clicks.settled()
        return None

    async def _refused(self, why: str) -> None:
        self.errors[why] += 1
        await asyncio.sleep(PAUSE)


def run_until_interrupted(main: Callable[[], Coroutine[Any, Any, Done]], interrupted: Callable[[], None]) -> Done:
    """Run on an event loop made for load; the first Ctrl-C or SIGTERM is told, a second one is not waited for."""

    async def watched() -> Done:
        loop = asyncio.get_running_loop()

        def hear() -> None:
            interrupted()
            for known in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(known)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, hear)
        return await main()

    # epoll rounds every wait up to a millisecond, as long as an answer takes; select does not
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        return runner.run(watched())
