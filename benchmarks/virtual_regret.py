"""`python -m benchmarks.virtual_regret [50 | 500]`: like `http_regret`, but the rate is kept on any machine.

The service runs in this process, with its real store and without HTTP. A display moves the clock that ensembles are
made by, so 500 displays of a page are one second. The service stops while it makes a batch of ensembles. It uses them
when the clock has moved by the CPU time of the batch, and then rests on the same clock, so that ensembles get their
share of one core. Each page has a service of its own. Only waiting for a free core is left out. This takes a few
minutes.
"""

import asyncio
import heapq
import itertools
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import slotwise as sw
from benchmarks.http_regret import (
    DELAY,
    POLICY,
    ROUNDS,
    RUNS,
    SETTING,
    SLOWER,
    compared,
    row_of_simulated,
    simulate_many,
    slow_down,
)
from benchmarks.measure import report
from slotwise.checks import Floats
from slotwise.paper.named_click_models import setting
from slotwise.service.displays import Displays, IssuedDisplay
from slotwise.service.ensembles import ensemble_refresher
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import EventKind
from slotwise.service.service import Service, running
from slotwise.service.store.records import Event

MOST_IN_PROGRESS = 16  # batches of clicks that wait for their commit
RATES = (50, 500)  # displays per second and page


class VirtualClock:
    """A clock that only displays move. Everything about ensembles waits by it."""

    def __init__(self) -> None:
        self._now, self.per_display = 0.0, 0.0
        self._order = itertools.count()
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []

    def restart(self, per_display: float) -> None:
        """Call this before a service starts. Every display takes this many seconds."""
        self._now, self.per_display = 0.0, per_display
        self._waiting.clear()

    def install(self) -> None:
        """Let ensembles be made by this clock, and every display move it."""
        recommend = Displays.recommend

        async def recommend_later(*arguments: Any) -> IssuedDisplay:
            self._advance()
            return await recommend(*arguments)

        Displays.recommend = recommend_later  # type: ignore[method-assign, assignment]
        module: Any = ensemble_refresher
        module.asyncio = SimpleNamespace(**{**vars(asyncio), "sleep": self._sleep})
        run_in_background = module.run_in_background

        async def run(function: Callable[..., Any], *arguments: Any) -> Any:
            if function is not module._run_jobs:
                return await run_in_background(function, *arguments)
            result = function(*arguments)  # here, so that the displays wait and the clock stands still
            await self._sleep(result.seconds)
            return result

        module.run_in_background = run

    def _advance(self) -> None:
        self._now += self.per_display
        while self._waiting and self._waiting[0][0] <= self._now:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)

    async def _sleep(self, seconds: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self._now + seconds, next(self._order), future))
        await future


class Visitors:
    """The visitors of the page of one run."""

    def __init__(self, service: Service, model: sw.PBM, run: int) -> None:
        self.page, self.regret = f"run-{run}", 0.0
        self._service, self._model, self._rng = service, model, np.random.default_rng([1, run])
        self._best = model.expected_clicks(model.best_display())

    async def define(self) -> None:
        spec = PageSpec(positions=[str(k) for k in range(self._model.kappa.size)], policy=POLICY)
        await self._service.save_page(self.page, lambda _: NO_PAGE.with_spec(spec), None)
        items = [(str(k), ItemSpec()) for k in range(self._model.theta.size)]
        await self._service.save_items(await self._service.model(self.page), items)

    async def visit(self) -> list[Event]:
        """One visitor sees a display. Returns the clicks."""
        display = (await self._service.recommend(self.page, RecommendationRequest())).display
        shown = np.full(self._model.kappa.size, -1)
        for entry in display.entries:
            shown[int(entry.position)] = entry.item
        chances = self._model.theta[shown] * self._model.kappa
        self.regret += float(self._best - chances.sum())
        clicked = np.flatnonzero(self._rng.random(chances.size) < chances).tolist()
        return [Event(EventKind.CLICK, display.id, display.nonce, display.page, str(k), None) for k in clicked]


async def play(run: int) -> float:
    """The regret of this run."""
    with tempfile.TemporaryDirectory() as folder:
        async with running(Path(folder) / "store.db") as service:
            await service.compiled.wait()
            visitors = Visitors(service, setting(SETTING), run)
            await visitors.define()
            late, sending = deque[list[Event]](), set[asyncio.Task[Any]]()
            for _ in range(ROUNDS):
                late.append(await visitors.visit())
                if len(late) > DELAY and (due := late.popleft()):
                    sending.add(task := asyncio.create_task(service.record_events(due)))
                    task.add_done_callback(sending.discard)
                await asyncio.sleep(0)
                while len(sending) > MOST_IN_PROGRESS:
                    await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
            return visitors.regret


def play_all(clock: VirtualClock, rate: int, what: str) -> Floats:
    regret: list[float] = []
    for run in range(RUNS):
        clock.restart(1.0 / rate)
        regret.append(asyncio.run(play(run)))
        print(f"{rate}/s, {what}: {len(regret)} runs, mean regret {np.mean(regret):.1f}", file=sys.stderr, flush=True)
    return np.array(regret)


def main(rates: list[int]) -> bool:
    simulated, clock = simulate_many(), VirtualClock()
    clock.install()
    usual = [play_all(clock, rate, "usual") for rate in rates]
    slow_down(SLOWER, lambda _: None)  # slower jobs take no longer: they only say so
    rows = [row_of_simulated(simulated)]
    for rate, regret in zip(rates, usual, strict=True):
        rows += compared(f"{rate}/s", regret, play_all(clock, rate, f"{SLOWER:g} times slower"), simulated)
    return report(f"Regret after {ROUNDS:,} rounds by a virtual clock, {RUNS} runs", Path(__file__).stem, rows)


if __name__ == "__main__":
    sys.exit(not main([int(text) for text in sys.argv[1:]] or list(RATES)))
