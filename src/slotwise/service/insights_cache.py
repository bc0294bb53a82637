"""Insights of pages, computed in the background for one page at a time, and kept for a few seconds."""

import asyncio
import time
from typing import NamedTuple

from slotwise.service.background import run_in_background
from slotwise.service.clock import Clock
from slotwise.service.pages.insights import Insights, compute_insights, insight_inputs
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.interface import Store, StoredPage

KEEP_SECONDS, MOST_CACHED = 5.0, 100


class _CachedInsights(NamedTuple):
    page: StoredPage
    started: float
    result: "asyncio.Future[Insights]"

    def is_usable(self, page: StoredPage) -> bool:
        result = self.result
        failed = result.done() and (result.cancelled() or result.exception() is not None)
        return self.page == page and not failed and time.monotonic() - self.started <= KEEP_SECONDS


class InsightsCache:
    """Create it inside a running event loop."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._cached: dict[str, _CachedInsights] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    async def insights(self, model: PageModel) -> Insights:
        """What a page has learnt, at most KEEP_SECONDS old."""
        name = model.page.name
        cached = self._cached.get(name)
        if cached is None or not cached.is_usable(model.page):
            cached = _CachedInsights(model.page, time.monotonic(), asyncio.ensure_future(self._compute(model)))
            if len(self._cached) >= MOST_CACHED:
                self._cached.clear()
            self._cached[name] = cached
        return await asyncio.shield(cached.result)

    async def _compute(self, model: PageModel) -> Insights:
        async with self._one_at_a_time:
            rates = await self._store.do(lambda ledger: ledger.rates(model.page.number))
            return await run_in_background(compute_insights, insight_inputs(model, self._clock()), rates)
