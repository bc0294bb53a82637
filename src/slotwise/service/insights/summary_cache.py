"""A cache of page summaries. One task computes them, one page after another, while they are asked for."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress

from slotwise.service.background_threads import run_in_background
from slotwise.service.clock import Clock
from slotwise.service.errors import ServiceError
from slotwise.service.insights.page_summary import PageSummary, recent_rates, settled
from slotwise.service.insights.uplift_insight import page_uplift
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.interface import Store

KEEP_SECONDS, MOST_CACHED = 15.0, 2_000
SHARE = 0.03  # of a core, for summaries that are computed again


class SummaryCache:
    """Computes and keeps summaries. Create it inside a running event loop."""

    def __init__(self, store: Store, model: Callable[[str], Awaitable[PageModel]], clock: Clock) -> None:
        self._store, self._model, self._clock = store, model, clock
        self._known: OrderedDict[str, tuple[float, PageSummary]] = OrderedDict()  # with the time of the computation
        self._wanted: OrderedDict[str, None] = OrderedDict()
        self._working: asyncio.Task[None] | None = None

    def summaries(self, names: list[str]) -> dict[str, PageSummary]:
        """The summaries that are known. Those that are missing or old are computed afterwards, so ask again."""
        now = time.monotonic()
        for name in names:
            if name not in self._known or now - self._known[name][0] > KEEP_SECONDS:
                self._wanted[name] = None
        if self._wanted and (self._working is None or self._working.done()):
            self._working = asyncio.create_task(self._work())
        return {name: self._known[name][1] for name in names if name in self._known}

    async def _work(self) -> None:
        while self._wanted:
            name, _ = self._wanted.popitem(last=False)
            started, is_new = time.monotonic(), name not in self._known
            with suppress(ServiceError):
                self._known[name] = (started, await self._compute(name))
            while len(self._known) > MOST_CACHED:
                self._known.popitem(last=False)
            if not is_new:
                await asyncio.sleep((time.monotonic() - started) / SHARE)

    async def _compute(self, name: str) -> PageSummary:
        model = await self._model(name)
        number, allocation, spec, now = model.page.number, model.page.allocation, model.page.body.spec, self._clock()

        def read() -> PageSummary:
            rates, days = self._store.read_here(
                lambda ledger: (ledger.rates(number), ledger.daily_rates(number, allocation))
            )
            totals, hours = recent_rates(rates, now)
            positions = len(next(iter(spec.all_layouts().values())))
            uplift = page_uplift(spec, days)
            return PageSummary(name, now, spec.mode, spec.holdout, 0, positions, totals, hours, uplift, None)

        summary = await run_in_background(read)
        summary.items = sum(model.active_items(now).tolist())
        summary.settled = settled(model.likely_displays(now))
        return summary
