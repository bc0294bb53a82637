"""Makes new ensembles of pages, and draws of templates, on a background thread.

The most urgent page or template comes first. All of them together use a share of one core.
"""

import asyncio
import logging
import math
import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from slotwise.service.background_threads import run_in_background
from slotwise.service.ensembles.draws_due import ITEMS_ADDED
from slotwise.service.metrics import Metrics

SHARE = 0.5  # of one core
BATCH_PAGES, BATCH_SECONDS = 32, 0.01  # a batch ends after this many pages, or after this much CPU time
_log = logging.getLogger("slotwise.service")


class DrawJob(Protocol):
    """Makes draws on a background thread."""

    def run(self, rng: np.random.Generator) -> Any:
        """The draws, or None if none are needed."""


class Refreshable(Protocol):
    """A page or a template. `install` gets what the job returned."""

    @property
    def urgency(self) -> int: ...
    @property
    def growth(self) -> float: ...
    def begin_refresh(self) -> DrawJob: ...
    def install(self, draws: Any) -> None: ...
    def apply_pending(self) -> None: ...


class _JobResult(NamedTuple):
    draws: Any  # None if no draws are needed, or if the job failed
    failed: bool


class _BatchResult(NamedTuple):
    jobs: list[_JobResult]  # of the first jobs of the batch; the others did not run
    seconds: float  # CPU time


class Refresher:
    """The queue of pages and templates whose draws are due. All calls are made on the thread of the event loop.

    Pages wait in one queue for each level of urgency. Only one batch runs at a time. After each batch, the refresher
    rests so long that its share of the time is `share`. With a seed, it does not rest, and a batch ends with its last
    page: then nothing depends on how fast the machine is.
    """

    def __init__(self, metrics: Metrics, seed: int | None, share: float = SHARE) -> None:
        self._metrics = metrics
        self._rests = seed is None
        self.set_share(share)
        self._batch_seconds = BATCH_SECONDS if seed is None else math.inf
        self._rng = np.random.default_rng(None if seed is None else [seed, 1])  # used by one batch at a time
        self._waiting: list[dict[Refreshable, None]] = [{} for _ in range(ITEMS_ADDED + 1)]
        self._levels: dict[Refreshable, int] = {}  # of the pages that wait
        self._running: dict[Refreshable, None] = {}
        self._changed: dict[Refreshable, None] = {}  # pages with changes that may wait to be applied to the counts
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        metrics.refresh_waiting.set_function(lambda: len(self._levels))
        metrics.refresh_growth.set_function(self._largest_growth)

    def set_share(self, share: float) -> None:
        """Change the share of one core that ensembles may use. With a seed, there is no limit."""
        self._rest = 1.0 / share - 1.0 if self._rests else 0.0  # seconds of rest for a second of work

    @property
    def idle(self) -> bool:
        """Whether no page waits for an ensemble and none is being made."""
        return self._task is None

    def request(self, model: Refreshable) -> None:
        """Put a page into the queue if its ensemble is due. This is called after every change of the page."""
        self._changed[model] = None
        urgency = model.urgency
        if urgency < 0 or model in self._running or self._closed:
            return  # `_run` asks again for a page that is running
        if urgency > self._levels.get(model, -1):
            self.forget(model)
            self._waiting[urgency][model], self._levels[model] = None, urgency
        if self._task is None:  # also if an earlier task failed, because no thread could be started
            self._task = asyncio.create_task(self._run())

    def forget(self, model: Refreshable) -> None:
        """Remove a page from the queue. If an ensemble is being made for it, this ensemble will not be used."""
        self._running.pop(model, None)
        level = self._levels.pop(model, None)
        if level is not None:
            del self._waiting[level][model]

    async def close(self) -> None:
        """Stop. A batch that is running ends by itself, and its result is not used."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None  # `_run` does this too, but not if it was cancelled before its first step

    async def apply_pending(self) -> list[Refreshable]:
        """Apply the changes of all pages to their counts, so that pending changes take no memory. Returns the pages."""
        changed, self._changed = list(self._changed), {}
        if changed:
            await run_in_background(_apply_pending, changed)
        return changed

    async def finish(self) -> None:
        """Wait until no ensemble is due."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        try:
            while batch := self._take():
                self._running = dict.fromkeys(batch)
                jobs = [model.begin_refresh() for model in batch]
                result = await run_in_background(_run_jobs, jobs, self._batch_seconds, self._rng)
                self._finish(batch, result)
                await asyncio.sleep(result.seconds * self._rest)
        finally:
            self._task, self._running = None, {}

    def _take(self) -> list[Refreshable]:
        """Remove the most urgent pages from the queue. Pages of one level are taken in the order of their requests."""
        batch: list[Refreshable] = []
        for level in reversed(self._waiting):
            while level and len(batch) < BATCH_PAGES:
                model = next(iter(level))
                self.forget(model)
                batch.append(model)
        return batch

    def _finish(self, batch: list[Refreshable], result: _BatchResult) -> None:
        kept, self._running = self._running, {}
        for model, (draws, failed) in zip(batch, result.jobs, strict=False):
            self._metrics.refreshes.inc(draws is not None)
            self._metrics.refresh_failures.inc(failed)
            if model in kept and not failed:  # after a failure, the next change of the counts asks again
                model.install(draws)
        for model in batch[len(result.jobs) :]:
            if model in kept:
                self.request(model)
        self._metrics.refresh_seconds.inc(result.seconds)

    def _largest_growth(self) -> float:
        """The growth of the most urgent page, relative to the growth at which an ensemble is due.

        Metrics are written on a background thread, while the event loop changes the queue, so this works on a copy.
        """
        urgent = next((list(level) for level in reversed(self._waiting) if level), [])
        return max((model.growth for model in urgent), default=0.0)


def _apply_pending(models: list[Refreshable]) -> None:
    for model in models:
        model.apply_pending()


def _run_jobs(jobs: list[DrawJob], most_seconds: float, rng: np.random.Generator) -> _BatchResult:
    """Run jobs until this CPU time is used up. This runs on a background thread."""
    began, results = time.thread_time(), list[_JobResult]()
    for job in jobs:
        try:
            results.append(_JobResult(job.run(rng), failed=False))
        except Exception:
            _log.exception("an ensemble cannot be made; the page keeps the one that it has")
            results.append(_JobResult(None, failed=True))
        if time.thread_time() - began > most_seconds:
            break
    return _BatchResult(results, time.thread_time() - began)
