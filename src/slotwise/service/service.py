"""The running service: pages in memory and a store, on one event loop.

Pages in memory change only on the thread of the loop, and only after the store has committed a change. Callbacks apply
the changes in the order of the commits. So a page that is loaded between two commits has each change exactly once.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from slotwise.checks import Floats
from slotwise.compilation_progress import watch_compilation
from slotwise.service.clock import Clock, machine_clock
from slotwise.service.displays import Displays, IssuedDisplay
from slotwise.service.ensembles.ensemble_refresher import SHARE, Refresher
from slotwise.service.history import DEV, Author
from slotwise.service.insights.insights import Insights
from slotwise.service.insights.insights_cache import InsightsCache
from slotwise.service.insights.page_summary import PageSummary
from slotwise.service.insights.summary_cache import SummaryCache
from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.keys.ended_sessions import with_ended
from slotwise.service.keys.key_cache import KeyCache
from slotwise.service.keys.session import Session
from slotwise.service.keys.sessions import Sessions
from slotwise.service.maintenance.housekeeping import Housekeeping
from slotwise.service.maintenance.purger import Purger
from slotwise.service.metrics import Metrics
from slotwise.service.pages.page_cache import PageCache
from slotwise.service.pages.page_changes import PageChanges
from slotwise.service.pages.page_definition import ItemSpec, PageBody, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.preconditions import Precondition
from slotwise.service.registers import EventStatus
from slotwise.service.store.changes_elsewhere import ChangedSecrets, ChangesElsewhere
from slotwise.service.store.interface import StoreCallbacks
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.open_store import open_store
from slotwise.service.store.records import Display, Event, RecordedEvents, StoredItem, StoredPage
from slotwise.service.store_health import StoreHealth
from slotwise.service.tokens import TokenClaims, Tokens

_log = logging.getLogger("slotwise.service")


class Resources(NamedTuple):
    """What the service may use: a share of one core to make ensembles, and memory for pages."""

    refresh_share: float = SHARE
    page_bytes: float = 4e9


DEFAULT_RESOURCES = Resources()


class Service:
    """A running service. Create it inside a running event loop, then `open` it. At the end, `close` it."""

    def __init__(
        self,
        store: Path | str,
        clock: Clock | None = None,
        seed: int | None = None,
        resources: Resources = DEFAULT_RESOURCES,
    ) -> None:
        self.metrics, self.compiled = Metrics(), asyncio.Event()
        self.stopping = asyncio.Event()  # set when the server stops: responses that have no end must end
        self.streams = 0  # such responses that are being sent
        self.compiled_functions = 0  # functions compiled before the service is ready; 0 if all are in the cache
        self.on_commit: Callable[[int, float], None] | None = None  # called with the size of a group and the seconds
        self._health = StoreHealth(self.metrics)
        callbacks = StoreCallbacks(
            committed=self._committed,
            failed=lambda: self._health.set_degraded(True),
            recovered=self._recovered,
            dropped=lambda displays: self._displays.forget_dropped(displays),
            elsewhere=self._follow,
        )
        self.store = open_store(store, callbacks)
        clock = self.clock = clock or self.store.clock or machine_clock
        self.refresher = Refresher(self.metrics, seed, resources.refresh_share)
        self._pages = PageCache(self.store, clock, self.metrics, self.refresher, seed, resources.page_bytes)
        self._page_changes = PageChanges(self.store, clock, self._pages)
        self._displays = Displays(self.store, self._pages, self._health, clock, self.metrics)
        self.keys = KeyCache(self.store, clock)
        self._insights = InsightsCache(self.store, clock)
        self._summaries = SummaryCache(self.store, self._pages.model, clock)
        self._housekeeping = Housekeeping(self.store, self._pages, self._displays, clock)
        self.purger = Purger(self.store, clock)

    async def open(self) -> None:
        """Load the secrets that sign tokens, or create them. Give up imports that a crash has interrupted."""
        await self._housekeeping.rotate_secrets()
        await self.store.do(lambda ledger: ledger.abandon_imports())

    async def compile(self) -> None:
        """Compile the kernels. Then the service is ready. This takes seconds, but only once per installation."""

        def count(compiled: int, running: bool) -> None:
            self.compiled_functions = compiled

        try:
            with watch_compilation(count):
                await self._pages.compile()
        except Exception:
            _log.exception("the kernels cannot be compiled: the service will not become ready")
        else:
            self.compiled.set()

    async def close(self) -> None:
        """Commit everything that waits, then close the store."""
        self._pages.ready = False
        await self.refresher.close()
        await self.store.close()

    def set_resources(self, resources: Resources) -> None:
        """Change what the service may use, from now on."""
        self.refresher.set_share(resources.refresh_share)
        self._pages.set_budget(resources.page_bytes)

    async def run_housekeeping(self) -> None:
        """Do the periodic work, until cancelled."""
        await self._housekeeping.run()

    async def tick(self) -> None:
        """Do the periodic work that is due now."""
        await self._housekeeping.tick()

    @property
    def ready(self) -> bool:
        """Whether the kernels are compiled, and the service is not closed."""
        return self._pages.ready

    @property
    def degraded(self) -> bool:
        """Whether the store is down. The service then issues displays, but does not learn from them."""
        return self._health.degraded

    @property
    def tokens(self) -> Tokens:
        return self._housekeeping.tokens

    @property
    def sessions(self) -> Sessions:
        return self._housekeeping.sessions

    async def check_store(self) -> None:
        """Raise StoreDown if the store cannot be written."""
        await self._health.check(self.store)

    def _committed(self, size: int, seconds: float) -> None:
        self.metrics.observe_group(size, seconds)
        if self.on_commit is not None:
            self.on_commit(size, seconds)

    def _recovered(self) -> None:
        """Load every page again, because displays issued while the store was down are not in the store."""
        self._pages.clear()
        self._displays.forget_all()
        self._health.set_degraded(False)

    def _follow(self, changes: ChangesElsewhere) -> None:
        """Apply to memory what other nodes have committed."""
        if not changes.is_complete:
            _log.warning("changes of other nodes were missed; all pages are loaded again")
            self._pages.clear()
            self._housekeeping.reload_secrets()
            return
        self._pages.follow(changes.groups, self._displays.forget_page)
        if any(isinstance(change, ChangedSecrets) for group in changes.groups for change in group.definitions):
            self._housekeeping.reload_secrets()

    # pages

    async def model(self, name: str) -> PageModel:
        """A page by its name. Raises NotFound if it does not exist."""
        return await self._pages.model(name)

    async def prepare(self, spec: PageSpec) -> None:
        """Compile the kernels that a page with this definition needs, so that its first request does not wait."""
        await self._pages.prepare(spec)

    async def save_page(
        self,
        name: str,
        change: Callable[[StoredPage | None], PageBody],
        expected: Precondition | None,
        archived: bool = False,
        author: Author = DEV,
    ) -> tuple[StoredPage, bool]:
        """Replace a page; see `PageChanges.save_page`."""
        return await self._page_changes.save_page(name, change, expected, archived, author)

    async def purge_page(self, name: str, expected: Precondition | None, author: Author = DEV) -> None:
        """Delete a page for good; see `PageChanges.purge_page`. Its data are removed in the background."""
        await self._page_changes.purge_page(name, expected, author, self._displays.forget_page)
        self.purger.wake()

    async def save_items(
        self, model: PageModel, items: list[tuple[str, ItemSpec]], author: Author = DEV
    ) -> list[bool | str]:
        """Add or change items; see `PageChanges.save_items`."""
        return await self._page_changes.save_items(model, items, author)

    async def item(self, model: PageModel, item: str) -> StoredItem:
        """An item with its version. Raises NotFound if it does not exist."""
        return await self._page_changes.item(model, item)

    async def change_item(
        self,
        model: PageModel,
        item: str,
        change: Callable[[ItemSpec], ItemSpec],
        expected: Precondition | None,
        create: bool = False,
        author: Author = DEV,
    ) -> tuple[StoredItem, bool]:
        """Replace one item; see `PageChanges.change_item`."""
        return await self._page_changes.change_item(model, item, change, expected, create, author)

    async def import_counts(
        self,
        model: PageModel,
        cells: Floats,
        displays: float,
        expected: Precondition | None,
        author: Author = DEV,
    ) -> int:
        """Replace everything that a page has learnt; see `PageChanges.import_counts`. Returns the new revision."""
        try:
            return await self._page_changes.import_counts(model, cells, displays, expected, author)
        finally:
            self.purger.wake()

    async def insights(self, model: PageModel, share: float = 1.0) -> Insights:
        """What a page has learnt. The result is a few seconds old; see `InsightsCache.insights`."""
        return await self._insights.insights(model, share)

    def latest_insights(self, model: PageModel) -> Insights | None:
        """The newest insights that are computed; see `InsightsCache.latest`."""
        return self._insights.latest(model)

    def summaries(self, names: list[str]) -> dict[str, PageSummary]:
        """What is known of these pages at a glance; see `SummaryCache.summaries`."""
        return self._summaries.summaries(names)

    # keys

    async def change_keys(self, operation: Operation[ResultT]) -> ResultT:
        """Commit a change of keys. It applies from the next request on."""
        result = await self.store.do(operation)
        await self.keys.refresh()
        return result

    async def end_session(self, session: Session) -> None:
        """Commit that a person has signed out. Copies of the cookie are not valid any more."""
        now = self.clock()
        await self.change_keys(
            lambda ledger: ledger.save_ended_sessions(with_ended(ledger.ended_sessions(), session, now))
        )

    # displays

    def recommend(
        self, page: str, request: RecommendationRequest, fill_all: bool = False
    ) -> Coroutine[Any, Any, IssuedDisplay]:
        """Choose a display for one page view. With `fill_all`, raises TooFewItems if positions would be left out."""
        return self._displays.recommend(page, request, fill_all)

    async def find_display(self, id: str) -> Display | None:
        """The display with this id, or None; see `Displays.find`."""
        return await self._displays.find(id)

    def preview(
        self, page: str, request: RecommendationRequest, fill_all: bool = False
    ) -> Coroutine[Any, Any, IssuedDisplay]:
        """Choose a display that no visitor sees: nothing is recorded, and it has no id and no token."""
        return self._displays.preview(page, request, fill_all)

    def token(self, display: Display) -> str:
        """The token with which a browser reports that the display was viewed or clicked."""
        return self.tokens.sign(TokenClaims(display.id, display.nonce, display.page), display.until)

    async def record_events(self, events: list[Event], key: ApiKey | None = None) -> RecordedEvents:
        """Commit events, and learn from them. Raises `Forbidden` if one is for a page that the key is not for."""
        return await self._displays.record_events(events, key)

    def count_events(self, events: list[tuple[EventStatus, int | None]]) -> None:
        """Add the statuses of events to the metrics; see `Displays.count_events`."""
        self._displays.count_events(events)


@asynccontextmanager
async def running(
    store: Path | str, clock: Clock | None = None, seed: int | None = None, resources: Resources = DEFAULT_RESOURCES
) -> AsyncIterator[Service]:
    """Run a service on this store until the block ends. At the end, the service commits everything that waits.

    `store` is the path of a SQLite file, or an address. By default, the clock is that of the store.
    """
    service = Service(store, clock, seed, resources)
    try:
        await service.open()
        periodic = (service.compile(), service.run_housekeeping(), service.purger.run())
        tasks = [asyncio.create_task(work) for work in periodic]
        try:
            yield service
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
    finally:
        await service.close()
