"""The service while it runs: pages in memory over a store, on one event loop.

All that is in memory changes on the loop's thread only, and only as the store commits it: an answer of the store is
applied by a callback in the order of the groups, so a page that is read in between has each change exactly once.
"""

import asyncio
import logging
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from slotwise.service.background import aside
from slotwise.service.clock import Clock
from slotwise.service.errors import Conflict, DoesNotFit, NotFound, NotReady, StaleVersion, StoreDown
from slotwise.service.ids import Randomness
from slotwise.service.metrics import Metrics
from slotwise.service.pages.compiler import TRIAL, Compiler
from slotwise.service.pages.insights import Insights, insights, seen
from slotwise.service.pages.page import ItemSpec, PageBody, PageSpec, check_room
from slotwise.service.pages.page_model import Ask, PageModel
from slotwise.service.registers import Counting, Registers, Status
from slotwise.service.store.interface import (
    Answer,
    Cell,
    Display,
    Event,
    Ledger,
    Operation,
    PageCounts,
    Received,
    StoredPage,
)
from slotwise.service.store.sqlite import SqliteStore
from slotwise.service.tokens import Named, Tokens, rotated

MOST_RECENT = 20_000  # displays kept in memory, so that the same id gives the same display at once
MOST_WAITING = 10_000  # displays that wait for the disk, before new ones are not learnt
DROP_MARGIN = 7200.0  # a clock that jumps an hour must not drop what can still be clicked
PRUNE_MOST = 1_000  # displays in one group
TICK_SECONDS = 1.0
BEAT_SECONDS = 1.0  # between two tries whether the store can be written
ROTATE_CHECK_SECONDS = 600.0
INSIGHT_SECONDS, MOST_INSIGHTS = 5.0, 100  # how long they are kept, and of how many pages

_log = logging.getLogger("slotwise.service")


class _Kept(NamedTuple):
    """Insights that were asked for, and when."""

    page: StoredPage
    made: float
    answer: "asyncio.Future[Insights]"

    def failed(self) -> bool:
        """Whether there is nothing to keep."""
        return self.answer.done() and (self.answer.cancelled() or self.answer.exception() is not None)


class Service:
    """Made inside a running event loop; `running` opens and closes it."""

    def __init__(self, path: Path, clock: Clock, seed: int | None = None) -> None:
        self.clock, self.metrics = clock, Metrics()
        self._rng, self._random = np.random.default_rng(seed), Randomness()
        self._models: dict[str, PageModel] = {}
        self._by_number: dict[int, PageModel] = {}
        self._loading: dict[str, asyncio.Future[PageModel | None]] = {}
        self._recent: OrderedDict[str, Display] = OrderedDict()
        self._insights: dict[str, _Kept] = {}
        self._one_at_a_time = asyncio.Semaphore(1)
        self._compiler = Compiler()
        self._beaten = -math.inf
        self.degraded, self.ready, self.compiled = False, False, asyncio.Event()
        self.store = SqliteStore(path, self.metrics.group, self._failed, self._recovered, self._dropped)
        self.metrics.store_up.set(1)

    async def open(self) -> None:
        """Read the secrets, or make them."""
        await self._rotate()

    async def compile(self) -> None:
        """Compile the kernels, which takes seconds once per installation; then the service is ready."""
        try:
            await self._compiler.kernels(TRIAL)
        except Exception:
            _log.exception("the kernels cannot be compiled: the service will not be ready")
        else:
            self.ready = True
            self.compiled.set()

    async def close(self) -> None:
        """Commit what waits."""
        self.ready = False
        await self.store.close()

    async def prepare(self, spec: PageSpec) -> None:
        """Compile what a page defined like this needs, so that it need not wait for that when it is asked for."""
        self._check_ready()
        await asyncio.shield(self._compiler.kernels(spec))

    # pages

    async def model(self, name: str) -> PageModel:
        """A page by its name, read from the store when it is not in memory; 404 when there is none."""
        self._check_ready()
        model = self._models.get(name)
        if model is None:
            model = await self._load(name)
        if model is None:
            raise NotFound(f"there is no page {name!r}; PUT /v1/pages/... defines one")
        return model

    def _check_ready(self) -> None:
        if not self.ready:
            raise NotReady

    async def _load(self, name: str) -> PageModel | None:
        loading = self._loading.get(name)
        if loading is None:
            loading = self._loading[name] = asyncio.ensure_future(self._install(name))
        return await asyncio.shield(loading)

    async def _install(self, name: str) -> PageModel | None:
        try:
            while True:
                read = await self._read(name)
                if read is None:
                    return None
                kernels = self._compiler.kernels(read[0].body.spec)
                if kernels.done():
                    break
                await asyncio.shield(kernels)  # then read it anew: what is committed meanwhile is told to nobody
            model = PageModel(*read, self._rng)
            self._models[name] = self._by_number[model.page.number] = model
            self.metrics.pages.set(len(self._models))
            return model
        finally:
            del self._loading[name]

    def _read(self, name: str) -> "asyncio.Future[tuple[StoredPage, list[tuple[str, ItemSpec]], PageCounts] | None]":
        now = self.clock()
        return self.store.do(lambda ledger: _read_page(ledger, name, now))

    def _forget(self, name: str) -> None:
        """Read the page anew when it is next asked for."""
        model = self._models.pop(name, None)
        if model is not None:
            del self._by_number[model.page.number]

    async def _settled(self, operation: Operation[Answer], apply: Callable[[Answer], None]) -> Answer:
        """Commit an operation and apply its answer, even when whoever asked has gone."""
        future = self.store.do(operation)
        future.add_done_callback(lambda done: None if done.exception() else apply(done.result()))
        return await asyncio.shield(future)

    async def save_page(
        self, name: str, change: Callable[[StoredPage | None], PageBody], expected: int | None, archived: bool = False
    ) -> tuple[StoredPage, bool]:
        """Define a page anew from what it was; whether it is a new one. 412 when it is not `expected` any more."""
        now = self.clock()

        def operation(ledger: Ledger) -> tuple[StoredPage, bool]:
            before = ledger.page(name)
            there = before is not None and not before.archived
            if expected is not None and (before is None or not there or before.version != expected):
                raise StaleVersion
            body = change(before)
            if before is not None and there and body is before.body and not archived:
                return before, False  # nothing changed, so the version stays
            if before is None or (body.columns, body.segments) != (before.body.columns, before.body.segments):
                line = check_room(body, 0 if before is None else len(ledger.items(before.number)))
                if line is not None:
                    raise DoesNotFit.at("", line)
            saved = ledger.save_page(name, body, before and before.version, now, archived)
            return saved, not there

        return await self._settled(operation, lambda _: self._forget(name))

    async def save_items(self, model: PageModel, items: list[tuple[str, ItemSpec]]) -> list[bool | str]:
        """Add or change items; for each whether it is new, or why there is no room for it."""
        name, page = model.page.name, model.page.number

        def operation(ledger: Ledger) -> tuple[list[tuple[int, bool] | None], str]:
            stored = ledger.page(name)
            assert stored is not None  # it was read once, and none is ever deleted
            full = check_room(stored.body, stored.body.most_items + 1) or ""
            return ledger.save_items(page, items, stored.body.most_items), full

        def apply(saved: tuple[list[tuple[int, bool] | None], str]) -> None:
            now = self._models.get(name)
            if now is not None:
                now.set_items([(row[0], *item) for row, item in zip(saved[0], items, strict=True) if row is not None])

        rows, full = await self._settled(operation, apply)
        return [full if row is None else row[1] for row in rows]

    async def import_counts(self, model: PageModel, cells: list[Cell], displays: float, expected: int | None) -> int:
        """Take these for all that was learnt on a page; the new revision."""
        name, page = model.page.name, model.page.number
        return await self._settled(
            lambda ledger: ledger.import_counts(page, cells, displays, expected), lambda _: self._forget(name)
        )

    # displays

    async def recommend(self, name: str, ask: Ask, id: str | None) -> tuple[PageModel, Display, bool, list[str]]:
        """A display for a page view: (its page, it, whether it is new, positions left out)."""
        model = self._models.get(name)
        while model is None or not self.ready or self._models.get(name) is not model:
            model = await self.model(name)  # again, when it was forgotten while this one waited for it
        if id is not None:
            issued = self._issued(id, self.clock())
            if issued is not None:
                return self._again(model, issued, ask)
        now = self.clock()
        degraded = self.degraded or self.store.waiting > MOST_WAITING
        counting = model.counting
        choice = model.choose(ask, now, counting is Counting.ISSUED and not degraded)
        until = now + model.click_window
        display = Display(
            id or self._random.name(now),
            self._random.nonce(),
            model.page.number,
            choice.layout,
            choice.segment,
            now,
            until,
            now + model.keep_seconds + DROP_MARGIN,
            choice.variant,
            model.page.epoch,
            Registers(len(choice.places), Counting.NEVER if degraded else counting),
            choice.places,
            degraded=degraded,
        )
        self.metrics.displayed(name, choice.variant)
        if degraded:
            self.metrics.degraded.inc()
        else:
            self.store.add(display)
        self._recent[display.id] = display
        if len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
        return model, display, True, choice.left_out

    def _issued(self, id: str, now: float) -> Display | None:
        """The display that has this id, unless its time is over and the log has dropped it."""
        found = self._recent.get(id)
        if found is not None and now <= found.drop_after:
            return found
        return None if self.degraded else self.store.peek(id)

    def _again(self, model: PageModel, display: Display, ask: Ask) -> tuple[PageModel, Display, bool, list[str]]:
        """The same display for the same id; an id that was used for something else is a conflict."""
        body = model.page.body
        same = display.page == model.page.number and ask.layout in (None, display.layout)
        if not same or (ask.segment or "") != body.segments[display.segment]:  # a segment of its own page only
            raise Conflict(f"the id {display.id!r} was used for another page, layout or segment")
        shown = {place.position for place in display.places}
        positions = body.spec.all_layouts().get(display.layout, [])
        return model, display, False, [position for position in positions if position not in shown]

    def token(self, display: Display) -> str:
        """What lets a browser say that the display was viewed or clicked."""
        return self.tokens.sign(Named(display.id, display.nonce, display.page), display.until)

    async def receive(self, events: list[Event]) -> Received:
        """Commit events and learn from them."""
        now = self.clock()
        return await self._settled(lambda ledger: ledger.receive(events, now), self._moved)

    def count_events(self, events: list[tuple[Status, int | None]]) -> None:
        """Show in the metrics what became of events, by page; "" where the page is not known."""
        for (status, page), number in Counter(events).items():
            model = None if page is None else self._by_number.get(page)
            self.metrics.events.labels("" if model is None else model.page.name, status).inc(number)

    def _moved(self, received: Received) -> None:
        self.count_events([(status, page) for status, _, page in received.statuses])
        for page in {move.display.page for move in received.moves}:
            model = self._by_number.get(page)
            if model is not None:
                model.move([move for move in received.moves if move.display.page == page])

    async def insights(self, model: PageModel) -> Insights:
        """What a page has learnt, at most some seconds old, computed on another thread, for one page at a time."""
        name = model.page.name
        kept = self._insights.get(name)
        if kept is None or kept.page != model.page or kept.failed() or time.monotonic() - kept.made > INSIGHT_SECONDS:
            kept = _Kept(model.page, time.monotonic(), asyncio.ensure_future(self._compute(model)))
            if len(self._insights) >= MOST_INSIGHTS:
                self._insights.clear()
            self._insights[name] = kept
        return await asyncio.shield(kept.answer)

    async def _compute(self, model: PageModel) -> Insights:
        async with self._one_at_a_time:
            rates = await self.store.do(lambda ledger: ledger.rates(model.page.number))
            return await aside(insights, seen(model, self.clock()), rates)

    # health and time

    async def check_store(self) -> None:
        """Write something, unless that was done a moment ago: a disk may fill up while nobody calls."""
        if self.degraded:
            raise StoreDown
        if time.monotonic() - self._beaten > BEAT_SECONDS:
            self._beaten = time.monotonic()  # those who ask meanwhile need not write as well
            await self.store.do(lambda ledger: ledger.beat())

    def _failed(self) -> None:
        self.degraded = True
        self.metrics.store_up.set(0)

    def _recovered(self) -> None:
        """What was issued meanwhile is not in the store: read every page anew."""
        for kept in (self._models, self._by_number, self._recent):
            kept.clear()
        self.degraded = False
        self.metrics.store_up.set(1)

    def _dropped(self, displays: list[Display]) -> None:
        """Of displays whose ids others had first, memory alone has counted the skips: read their pages anew."""
        for display in displays:
            if self._recent.get(display.id) is display:
                del self._recent[display.id]
            model = self._by_number.get(display.page)
            if model is not None:
                self._forget(model.page.name)

    async def keep_house(self) -> None:
        """For ever: let counts fade, drop what is old, rotate the secrets."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self.tick()
            except StoreDown:
                continue  # the store says so itself, and recovers by itself
            except Exception:
                _log.exception("the house was not kept")  # and is next time

    async def tick(self) -> None:
        """What is due now."""
        now = self.clock()
        if abs(now - self._rotated) >= ROTATE_CHECK_SECONDS:
            await self._rotate()
        for name, model in list(self._models.items()):
            passed, began = model.page.body.spec.epochs_since(model.page.epoch_began, now)
            if passed > 0:
                await self._begin_epoch(name, model, model.page.epoch + passed, began)
        while dropped := await self.store.do(lambda ledger: ledger.prune(now, PRUNE_MOST)):
            for id in [id for id, display in self._recent.items() if display.drop_after < now]:
                del self._recent[id]  # a clock that is set back later must not bring them back
            if dropped < PRUNE_MOST:
                break

    async def _begin_epoch(self, name: str, model: PageModel, epoch: int, began: float) -> None:
        def apply(_: None) -> None:
            if self._models.get(name) is model:
                model.begin_epoch(epoch, began)

        await self._settled(lambda ledger: ledger.begin_epoch(model.page.number, epoch, began), apply)

    async def _rotate(self) -> None:
        now = self.clock()

        def operation(ledger: Ledger) -> list[tuple[float, str]]:
            before = ledger.secrets()
            after = rotated(before, now)
            if after != before:
                ledger.save_secrets(after)
            return after

        self.tokens, self._rotated = Tokens(await self.store.do(operation)), now


def _read_page(
    ledger: Ledger, name: str, now: float
) -> tuple[StoredPage, list[tuple[str, ItemSpec]], PageCounts] | None:
    page = ledger.page(name)
    if page is None or page.archived:
        return None
    passed, began = page.body.spec.epochs_since(page.epoch_began, now)
    if passed > 0:
        page = page._replace(epoch=page.epoch + passed, epoch_began=began)
        ledger.begin_epoch(page.number, page.epoch, began)
    return page, ledger.items(page.number), ledger.counts(page.number)
