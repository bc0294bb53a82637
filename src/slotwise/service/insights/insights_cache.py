"""A cache of insights. They are computed in the background, for one page at a time, and kept for a few seconds."""

import asyncio
import time
from typing import NamedTuple

from slotwise.service.background_threads import free_in_background, run_in_background
from slotwise.service.clock import Clock
from slotwise.service.insights.insight_inputs import insight_inputs
from slotwise.service.insights.insights import Insights, compute_insights
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.interface import Store
from slotwise.service.store.records import StoredPage

KEEP_SECONDS, MOST_CACHED = 5.0, 100
LONGEST_KEPT = 30.0  # seconds, however long a computation takes


class _CachedInsights(NamedTuple):
    page: StoredPage
    items: list[ItemSpec]
    started: float
    result: "asyncio.Future[Insights]"
    before: list[Insights]  # those of the computation before, while this one is under way

    @property
    def latest(self) -> Insights | None:
        """The newest insights that are computed."""
        if self.has_failed or not self.result.done():
            return next(iter(self.before), None)
        return self.result.result()

    @property
    def has_failed(self) -> bool:
        return self.result.done() and (self.result.cancelled() or self.result.exception() is not None)

    def is_usable(self, model: PageModel, keep_seconds: float) -> bool:
        """Whether the page's definition is unchanged, and the insights did not fail and are not too old."""
        unchanged = self.page == model.page and self.items == model.specs
        return unchanged and not self.has_failed and time.monotonic() - self.started <= keep_seconds


class InsightsCache:
    """Computes and keeps insights. Create it inside a running event loop."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._cached: dict[str, _CachedInsights] = {}
        self._seconds: dict[str, float] = {}  # what the last computation took
        self._one_at_a_time = asyncio.Semaphore(1)

    async def insights(self, model: PageModel, share: float = 1.0) -> Insights:
        """What a page has learnt, at most KEEP_SECONDS old, or older if computing it takes more than a share of a core.

        The share limits what callers cost together who ask again and again.
        """
        name = model.page.name
        cached = self._cached.get(name)
        keep_seconds = min(max(KEEP_SECONDS, self._seconds.get(name, 0.0) / share), LONGEST_KEPT)
        if cached is None or not cached.is_usable(model, keep_seconds):
            latest = self.latest(model)
            before = [] if latest is None else [latest]
            result = asyncio.ensure_future(self._compute(model, before))
            cached = _CachedInsights(model.page, list(model.specs), time.monotonic(), result, before)
            del latest
            replaced = [self._cached.pop(name, None)]
            if len(self._cached) >= MOST_CACHED:
                replaced += self._cached.values()
                self._cached.clear()
                self._seconds.clear()
            self._cached[name] = cached
            free_in_background(replaced)  # those of a large page take long
        return await asyncio.shield(cached.result)

    def latest(self, model: PageModel) -> Insights | None:
        """The newest insights that are computed, even if they are old or the page's definition has changed since."""
        cached = self._cached.get(model.page.name)
        return cached.latest if cached is not None and cached.page.number == model.page.number else None

    async def _compute(self, model: PageModel, before: list[Insights]) -> Insights:
        async with self._one_at_a_time:
            number, allocation = model.page.number, model.page.allocation
            reader = await self._store.begin_read()
            inputs = insight_inputs(model, self._clock())

            def compute() -> Insights:
                rates, days = reader.read(lambda ledger: (ledger.rates(number), ledger.daily_rates(number, allocation)))
                return compute_insights(inputs(), rates, days)

            started = time.monotonic()
            result = await run_in_background(compute)
            self._seconds[model.page.name] = time.monotonic() - started
            if before:
                free_in_background(before)
            return result
