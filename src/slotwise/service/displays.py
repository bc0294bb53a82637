"""Displays and events. Pages in memory choose the displays, and the store records displays and events."""

import asyncio
from collections import Counter, OrderedDict
from functools import partial
from typing import NamedTuple

import msgspec

from slotwise.service.clock import Clock
from slotwise.service.errors import Conflict, Forbidden, StoreDown
from slotwise.service.ids import RandomIds
from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.metrics import Metrics
from slotwise.service.pages.page_cache import PageCache
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.registers import NOTHING, EventStatus, changes
from slotwise.service.store.interface import Store, TrafficRows
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import Display, DisplayChange, Event, RecordedEvents
from slotwise.service.store_health import StoreHealth

MOST_RECENT = 20_000  # displays kept in memory, so that a request with a known id is answered at once
OTHER_NODES_SECONDS = (0.15, 0.3, 0.6)  # after which an unknown display is looked up again: another node may commit it
MOST_WAITING = 10_000  # displays that wait to be committed; if more wait, new displays are not learnt from


class IssuedDisplay(NamedTuple):
    """A display and its page. `is_new` is False if an earlier request had the same id."""

    model: PageModel
    display: Display
    is_new: bool


class Displays:
    """Issues displays and records events."""

    def __init__(self, store: Store, pages: PageCache, health: StoreHealth, clock: Clock, metrics: Metrics) -> None:
        self._store, self._pages, self._health = store, pages, health
        self._clock, self._metrics = clock, metrics
        self._ids = RandomIds()
        self._recent: OrderedDict[str, Display] = OrderedDict()

    async def recommend(self, page: str, request: RecommendationRequest, fill_all: bool = False) -> IssuedDisplay:
        """Choose a display for one page view. With `fill_all`, raises TooFewItems if positions would be left out."""
        model = self._pages.current(page)
        if model is None:
            model = await self._pages.settled_model(page)
        if request.id is not None:
            issued = await self._find_issued(request.id, self._clock(), in_store=not self._store.is_shared)
            if issued is not None:
                return _repeat(model, issued, request)
        now = self._clock()
        if fill_all:
            model.check_enough_items(request, now)
        degraded = self._health.degraded or self._store.waiting > MOST_WAITING
        display = model.choose(request, request.id or self._ids.display_id(now), self._ids.nonce(), now, degraded)
        self._metrics.displays.count(page, display.variant)
        if display.warming:
            self._metrics.warming.inc()
        if degraded:
            self._metrics.degraded.inc()
        elif request.id is not None and self._store.is_shared:
            winner = await self._decide(model, display)
            if winner is not display:
                return _repeat(model, winner, request)
        else:
            self._store.add(display)
        self._recent[display.id] = display
        if len(self._recent) > MOST_RECENT:
            self._recent.popitem(last=False)
        return IssuedDisplay(model, display, is_new=True)

    async def _decide(self, model: PageModel, display: Display) -> Display:
        """The display that has the id of this one. The store decides, because other nodes may be asked for it, too."""
        totals = display.registers.totals()
        try:
            winner = await self._store.do(lambda ledger: ledger.issue(display), TrafficRows(displays=[display]))
        except StoreDown:  # it may be in the store all the same: the page is loaded again
            self._pages.evict(model.page.name)
            return msgspec.structs.replace(display, degraded=True)
        if winner is not display and totals is not NOTHING:  # take back the skips that were counted when it was chosen
            self._pages.apply_changes(
                display.page, [DisplayChange(display, changes(totals, NOTHING), -totals.displays)]
            )
        return winner

    async def preview(self, page: str, request: RecommendationRequest, fill_all: bool = False) -> IssuedDisplay:
        """Choose a display as for a page view, but one that no visitor sees: it has no id, and nothing is recorded."""
        model, now = self._pages.current(page) or await self._pages.settled_model(page), self._clock()
        if fill_all:
            model.check_enough_items(request, now)
        return IssuedDisplay(model, model.choose(request, "", self._ids.nonce(), now, preview=True), is_new=True)

    async def record_events(self, events: list[Event], key: ApiKey | None = None) -> RecordedEvents:
        """Commit events, and learn from them. Raises StoreDown if the store cannot be written.

        Raises `Forbidden` if an event is for a page that the key is not for.
        """
        recorded = await self._record(events, key, is_last=not self._store.is_shared)
        for pause in OTHER_NODES_SECONDS if self._store.is_shared else ():
            unknown = [k for k, outcome in enumerate(recorded.outcomes) if outcome.status == "unknown"]
            if not unknown:
                break
            await asyncio.sleep(pause)
            again = await self._record([events[k] for k in unknown], key, is_last=pause == OTHER_NODES_SECONDS[-1])
            for k, outcome in zip(unknown, again.outcomes, strict=True):
                recorded.outcomes[k] = outcome
            recorded.changes.extend(again.changes)
        return recorded

    async def _record(self, events: list[Event], key: ApiKey | None, is_last: bool) -> RecordedEvents:
        """Commit events, and learn from them. Only the last try counts events of unknown displays in the metrics."""
        now, is_check_due = self._clock(), self._health.is_check_due()

        def operation(ledger: Ledger) -> RecordedEvents:
            if key is not None and key.pages is not None:
                _check_pages(ledger, events, key)
            recorded = ledger.record_events(events, now)
            if is_check_due and all(outcome.page is None for outcome in recorded.outcomes):
                ledger.check_writable()  # because nothing was written
            return recorded

        return await self._pages.commit(operation, partial(self._learn, is_last), TrafficRows(events))

    async def find(self, id: str) -> Display | None:
        """The display that has this id, or None if there is none in the log. Raises StoreDown if that is not known."""
        found = await self._find_issued(id, self._clock())
        if found is None and self._health.degraded:
            raise StoreDown
        return found

    def count_events(self, events: list[tuple[EventStatus, int | None]]) -> None:
        """Add events to the metrics. Each is given as (status, page number). The label of an unknown page is ""."""
        for (status, page), number in Counter(events).items():
            model = None if page is None else self._pages.by_number(page)
            self._metrics.events.labels("" if model is None else model.page.name, status).inc(number)

    def forget_all(self) -> None:
        """Drop the cache of recent displays."""
        self._recent.clear()

    def forget_page(self, number: int) -> None:
        """Drop the displays of a page that was deleted for good."""
        for id in [id for id, display in self._recent.items() if display.page == number]:
            del self._recent[id]

    def forget_expired(self, now: float) -> None:
        """Remove from the cache the displays that are no longer in the log.

        Otherwise they could return if the clock is set back.
        """
        for id in [id for id, display in self._recent.items() if display.drop_after < now]:
            del self._recent[id]

    def forget_dropped(self, displays: list[Display]) -> None:
        """Drop displays that the store refused because their id was taken.

        Their skips were counted in memory but not in the store, so their pages are loaded again.
        """
        for display in displays:
            if self._recent.get(display.id) is display:
                del self._recent[display.id]
            model = self._pages.by_number(display.page)
            if model is not None:
                self._pages.evict(model.page.name)

    async def _find_issued(self, id: str, now: float, in_store: bool = True) -> Display | None:
        """The display that has this id, or None if there is none in the log."""
        recent = self._recent.get(id)
        if recent is not None and now <= recent.drop_after:
            return recent
        return None if self._health.degraded or not in_store else await self._store.find(id)

    def _learn(self, is_last: bool, recorded: RecordedEvents) -> None:
        counted = [(found.status, found.page) for found in recorded.outcomes if is_last or found.status != "unknown"]
        self.count_events(counted)
        for page in {change.display.page for change in recorded.changes}:
            self._pages.apply_changes(page, [change for change in recorded.changes if change.display.page == page])


def _check_pages(ledger: Ledger, events: list[Event], key: ApiKey) -> None:
    """Raise `Forbidden` if an event is for a page that the key is not for. A token is a right of its own."""
    allowed = {page.number for page in map(ledger.page, key.pages or ()) if page is not None}
    for event in events:
        display = ledger.display(event.display) if event.nonce is None else None
        if display is not None and display.page not in allowed:
            raise Forbidden(f"the key {key.id} is not for the page of the display {event.display!r}", key.id)


def _repeat(model: PageModel, display: Display, request: RecommendationRequest) -> IssuedDisplay:
    """Return the display again. Raises Conflict if the request is for another page, layout or segment."""
    segments = model.page.body.segments
    same = display.page == model.page.number and request.layout in (None, display.layout)
    if not same or (request.segment or "") != segments[display.segment]:  # a segment's number is valid only on its page
        raise Conflict(f"the id {display.id!r} was used for another page, layout or segment")
    return IssuedDisplay(model, display, is_new=False)
