"""LoadGenerator: simulated visitors who request displays from a running service and click.

With a rate, each round has a scheduled time, and its latency is measured from that time. So if the service stalls, the
latency of every visitor who arrives in the meantime increases. Without a rate, each connection runs its rounds one
after the other, and waits until due clicks are acknowledged. With a single connection, this is the loop of `simulate`.
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
from slotwise.client.address import ServiceAddress
from slotwise.client.http_client import path_of, status_text
from slotwise.client.load.click_queue import ClickQueue
from slotwise.client.load.fast_connection import ConnectionLost, FastConnection
from slotwise.client.load.latency import Latency, RecentLatency
from slotwise.client.load.learning_curve import LearningCurve
from slotwise.client.load.round_schedule import LONGEST_WAIT, RoundSchedule
from slotwise.client.load.visitors import Visitors

PROGRESS_INTERVAL = 0.5  # seconds between two progress reports
RESPONSE_TIMEOUT = 10.0  # seconds without any response after which the load stops
ERROR_PAUSE = 0.1  # seconds after an error, so that a service that is down does not get a flood of requests
VISITORS, VISITS = 1_000, 5  # 1,000 visitors take turns until each has come 5 times; then other visitors follow
T = TypeVar("T")


def unit_of(number: int) -> int:
    """The visitor of a round."""
    return number // (VISITORS * VISITS) * VISITORS + number % VISITORS


class LoadPlan(NamedTuple):
    """The page, the number of rounds, and how fast the rounds are sent."""

    page: str
    rounds: int | None = None  # None: until stopped
    rate: float | None = None  # rounds per second; None: as fast as possible
    connections: int = 16
    delay: int = 0  # rounds until a click is sent


class _PlacedItem(msgspec.Struct):
    position: str
    item: str


class _DisplayReply(msgspec.Struct):
    token: str
    items: list[_PlacedItem]
    variant: str = ""
    degraded: bool = False


_decode = msgspec.json.Decoder(_DisplayReply).decode


class LoadGenerator:
    """Runs the rounds of a plan and measures latency and regret."""

    def __init__(self, address: ServiceAddress, visitors: Visitors, plan: LoadPlan, key: str | None = None) -> None:
        self.plan, self.visitors = plan, visitors
        self.curve, self.latency, self.errors = LearningCurve(), Latency(), Counter[str]()
        self.recent_latency = RecentLatency()
        self.degraded, self.clicked = 0, 0
        # called for each visit with its variant, the items by position, and the clicked positions
        self.on_visit: Callable[[str, dict[str, str], list[str]], None] | None = None
        self.stopped = ""  # the reason, when the load stopped before its last round
        self._address = address
        self._connections = [FastConnection(address, key) for _ in range(plan.connections + 1)]
        self.clicks = ClickQueue(self._connections[0], plan.delay)
        self._path = path_of("pages", plan.page, "recommendations")
        self._started_rounds, self._start, self._last_response = 0, 0.0, 0.0
        self.schedule = RoundSchedule(plan.rate, 0.0)

    @property
    def seconds(self) -> float:
        """The time from the first round to the last response."""
        return max(self._last_response - self._start, 1e-9)

    def set_rate(self, rate: float | None) -> None:
        """Run the next rounds at this rate per second; 0 pauses, and None is as fast as possible."""
        self.schedule.change(rate, self._started_rounds, time.perf_counter())

    def stop(self, reason: str = "stopped") -> None:
        """Start no more rounds."""
        self.stopped = self.stopped or reason

    async def run(self, on_progress: Callable[["LoadGenerator"], None]) -> None:
        """Run all rounds, and call `on_progress` regularly and at the end."""
        try:
            await asyncio.gather(*[connection.open() for connection in self._connections])
        except ConnectionLost as error:
            raise BadInput(f"{self._address.url} does not answer: {error}") from None
        sender = asyncio.create_task(self.clicks.send())
        self._start = self._last_response = time.perf_counter()
        self.schedule.change(self.plan.rate, 0, self._start)
        workers = [asyncio.create_task(self._run_rounds(connection)) for connection in self._connections[1:]]
        try:
            await self._wait_for(workers, on_progress)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.clicks.finish(), RESPONSE_TIMEOUT)
        finally:
            for task in [sender, *workers]:
                task.cancel()
            await asyncio.gather(sender, *workers, return_exceptions=True)
            for connection in self._connections:
                connection.close()
        on_progress(self)

    async def _wait_for(
        self, workers: list["asyncio.Task[None]"], on_progress: Callable[["LoadGenerator"], None]
    ) -> None:
        pending = set(workers)
        while pending:
            done, pending = await asyncio.wait(pending, timeout=PROGRESS_INTERVAL)
            for worker in done:
                worker.result()
            on_progress(self)
            if self.stopped:
                await asyncio.wait(workers, timeout=PROGRESS_INTERVAL)
                return
            silence = time.perf_counter() - max(self._last_response, self.schedule.since)
            if not self.schedule.paused and silence > RESPONSE_TIMEOUT + 1.0 / (self.schedule.rate or 1.0):
                self.stop(f"no response for {RESPONSE_TIMEOUT:.0f} seconds")

    async def _run_rounds(self, connection: FastConnection) -> None:
        while not self.stopped and self._started_rounds != self.plan.rounds:
            number = self._started_rounds
            self._started_rounds += 1
            await self._run_round(connection, unit_of(number), await self._scheduled(number))

    async def _scheduled(self, number: int) -> float:
        """Wait until the scheduled time of a round and return that time. It may lie in the past."""
        while True:
            now = time.perf_counter()
            due = self.schedule.due(number)
            if due is None or self.stopped:
                return now
            if due <= now:
                return due
            await asyncio.sleep(min(due - now, LONGEST_WAIT))

    async def _run_round(self, connection: FastConnection, unit: int, due: float) -> None:
        try:
            status, content = await connection.post(self._path, b'{"unit":"visitor %d"}' % unit)
        except ConnectionLost as error:
            return await self._count_error(str(error))
        self._last_response = time.perf_counter()
        if status not in (200, 201):
            return await self._count_error(status_text(status))
        self.latency.add(self._last_response - due)
        self.recent_latency.add(self._last_response - due, self._last_response)
        display = _decode(content)
        self.degraded += display.degraded
        visit = self.visitors.visit((placed.position, placed.item) for placed in display.items)
        self.curve.add(visit.regret)
        self.clicked += len(visit.clicked)
        self.clicks.add(display.token, visit.clicked)
        if self.on_visit is not None:
            self.on_visit(display.variant, {placed.position: placed.item for placed in display.items}, visit.clicked)
        if self.schedule.rate is None:
            await self.clicks.settled()
        return None

    async def _count_error(self, reason: str) -> None:
        self.errors[reason] += 1
        await asyncio.sleep(ERROR_PAUSE)


def run_until_interrupted(main: Callable[[], Coroutine[Any, Any, T]], on_interrupt: Callable[[], None]) -> T:
    """Run `main` on an event loop with precise timers.

    The first Ctrl-C or SIGTERM calls `on_interrupt`. The second signal has its default effect.
    """

    async def with_signal_handlers() -> T:
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)

        def handle() -> None:
            on_interrupt()
            for number in signals:
                loop.remove_signal_handler(number)

        for number in signals:
            loop.add_signal_handler(number, handle)
        return await main()

    # epoll rounds every wait up to a millisecond, which is as long as a response takes; select does not
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())) as runner:
        return runner.run(with_signal_handlers())
