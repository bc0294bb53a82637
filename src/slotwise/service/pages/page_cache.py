"""The pages in memory. They are loaded from the store when needed, and updated after the store commits a change."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice

import numpy as np

from slotwise.service.background_threads import free_in_background, run_in_background
from slotwise.service.clock import Clock
from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.ensembles.ensemble_refresher import Refresher
from slotwise.service.errors import NotFound, NotReady
from slotwise.service.metrics import Metrics
from slotwise.service.pages.changes_of_nodes import add_counts, added_up, redefine, set_items
from slotwise.service.pages.compiler import TRIAL, Compiler
from slotwise.service.pages.folded import NOTHING_FOLDED
from slotwise.service.pages.page_content import PageContent, begin_load, read_content
from slotwise.service.pages.page_definition import PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.changes_elsewhere import (
    BegunEpoch,
    ChangedCounts,
    ChangedDefinition,
    ChangedItems,
    ChangedPage,
    GroupElsewhere,
    PurgedPage,
    ReplacedCounts,
)
from slotwise.service.store.interface import Reader, Store, TrafficRows, commit_and_apply
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.records import DisplayChange, StoredPage
from slotwise.service.templates.template_cache import TemplateCache
from slotwise.service.templates.template_counts import PageBlock, TemplateCounts, read_counts

FOLD_SECONDS, FOLD_PAGES = 3600.0, 10  # how often a page is checked for what is folded, and how many pages at a time
LARGE_PAGE = 1_000  # items; a page with more of them is freed on a background thread, because this takes long

PageChange = Callable[[PageModel], bool | None]  # returns False if the page must be loaded again


class _PageLoad:
    """A page that is built on a background thread, and the changes that the store committed meanwhile."""

    def __init__(self, number: int) -> None:
        self.number, self.is_stale = number, False
        self.changes: list[PageChange] = []


class PageCache:
    """Finds pages by name and by number. It can be used only when `ready` is set, after the kernels are compiled."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        metrics: Metrics,
        refresher: Refresher,
        seed: int | None,
        most_bytes: float = math.inf,
    ) -> None:
        self._store, self._clock, self._metrics, self._refresher = store, clock, metrics, refresher
        self._seeded = seed is not None
        self._shared_by_pages = np.random.default_rng(seed), self._ask_for_draws, ArrangementCache()
        self._compiler = Compiler()
        self._by_name: OrderedDict[str, PageModel] = OrderedDict()  # the page that was used last comes last
        self._by_number: dict[int, PageModel] = {}
        self._loading: dict[str, asyncio.Future[PageModel | None]] = {}
        self._sizes: dict[str, int] = {}  # bytes of each page in memory
        self._n_bytes, self._most_bytes = 0, most_bytes
        self._loads: dict[str, _PageLoad] = {}  # pages that are read, but not yet built
        # large pages that were evicted: requests in progress may use the first ones, but not the second ones any more
        self._evicted: tuple[list[PageModel], list[PageModel]] = [], []
        self._fold_checked: dict[
            PageModel, float
        ] = {}  # when each page was checked; the page that was first comes first
        self._templates = TemplateCache(self._read_template, refresher.request, refresher.forget)
        self.ready = False

    async def compile(self) -> None:
        """Compile the kernels of the default policy. Then the cache is ready."""
        await self._compiler.kernels(TRIAL)
        self.ready = True

    async def prepare(self, spec: PageSpec) -> None:
        """Compile the kernels that a page with this definition needs, so that its first request does not wait."""
        self._check_ready()
        await asyncio.shield(self._compiler.kernels(spec))

    async def settle(self) -> None:
        """With a seed, wait until no ensemble is due. Then displays depend only on the sequence of the requests."""
        if self._seeded:
            await self._refresher.finish()

    async def commit(
        self, operation: Operation[ResultT], apply: Callable[[ResultT], None], traffic: TrafficRows | None = None
    ) -> ResultT:
        """Commit an operation that changes pages, then apply its result to memory."""
        await self.settle()  # so that no ensemble is made from some of its changes
        return await commit_and_apply(self._store, operation, apply, traffic)

    async def apply_pending(self) -> None:
        """Apply the changes of all pages to their counts. Housekeeping calls this."""
        for model in await self._refresher.apply_pending():  # items that were shown for the first time have rows now
            if not isinstance(model, PageModel) or self._by_name.get(model.page.name) is not model:
                continue
            if model.n_bytes != self._sizes[model.page.name]:
                self._measure(model)

    # lookup

    def loaded(self) -> list[PageModel]:
        return list(self._by_name.values())

    def by_name(self, name: str) -> PageModel | None:
        """A page, or None if it is not in memory."""
        model = self._by_name.get(name)
        if model is not None:
            self._by_name.move_to_end(name)
        return model

    def peek(self, name: str) -> PageModel | None:
        """Like `by_name`, but this does not count as a use of the page."""
        return self._by_name.get(name)

    def by_number(self, number: int) -> PageModel | None:
        """A page, or None if it is not in memory."""
        return self._by_number.get(number)

    async def model(self, name: str) -> PageModel:
        """A page. It is loaded from the store if it is not in memory. Raises NotFound if it does not exist."""
        self._check_ready()
        model = self.by_name(name)
        if model is None:
            model = await self.load(name)
        if model is None:
            raise NotFound(f"there is no page {name!r}; define it first")
        return model

    def current(self, name: str) -> PageModel | None:
        """A page if it can choose a display at once. Otherwise wait for `settled_model`."""
        return self.by_name(name) if self.ready and not self._seeded else None

    async def settled_model(self, name: str) -> PageModel:
        """Like `model`, but the page is certainly in memory, and with a seed its ensemble is not due.

        `model` may return a page that was evicted while it was being loaded.
        """
        await self.settle()
        model = self.by_name(name)
        while model is None or not self.ready or self._by_name.get(name) is not model:
            model = await self.model(name)
        return model

    def evict(self, name: str) -> None:
        """Drop a page from memory. It is loaded again when it is next needed."""
        if name in self._loads:
            self._loads[name].is_stale = True
        model = self._by_name.pop(name, None)
        if model is not None:
            del self._by_number[model.page.number]
            self._n_bytes -= self._sizes.pop(name)
            del self._fold_checked[model]
            self._refresher.forget(model)
            self._templates.remove(model)
            if len(model.specs) > LARGE_PAGE:
                self._evicted[0].append(model)

    def free_evicted(self) -> None:
        """Free the large pages that were evicted before the last call. Housekeeping calls this."""
        evicted, unused = self._evicted
        self._evicted = [], evicted
        if unused:
            free_in_background(unused)

    def clear(self) -> None:
        for name in [*self._by_name, *self._loads]:
            self.evict(name)

    def _check_ready(self) -> None:
        if not self.ready:
            raise NotReady

    async def load(self, name: str) -> PageModel | None:
        """Load a page. None if it does not exist."""
        loading = self._loading.get(name)
        if loading is None:
            loading = self._loading[name] = asyncio.ensure_future(self._load_once(name))
        return await asyncio.shield(loading)

    async def _load_once(self, name: str) -> PageModel | None:
        try:
            while True:
                found = await self._read(name)
                if found is None:
                    return None
                kernels = self._compiler.kernels(found[0].body.spec)
                if not kernels.done():
                    await asyncio.shield(kernels)  # then read again: changes committed meanwhile were not noted
                elif found[1] is not None:
                    return self._publish(self._model(found[1]))
                else:
                    model = await self._build(found[0])
                    if model is not None:
                        return model
        finally:
            del self._loading[name]

    async def _build(self, page: StoredPage) -> PageModel | None:
        """Read and build a page on a background thread. Returns None if it is out of date and must be read again.

        No other callback runs between the moment of the reader and the line after it. So the changes noted here are
        exactly those that the reader does not see.
        """
        reader = await self._store.begin_read()
        load = self._loads[page.name] = _PageLoad(page.number)
        try:
            model = await run_in_background(self._read_and_build, reader, page.name)
        finally:
            del self._loads[page.name]
        if load.is_stale or model is None or not self._compiler.kernels(model.page.body.spec).done():
            return None
        if any(change(model) is False for change in load.changes):
            return None
        return self._publish(model)

    def _read_and_build(self, reader: Reader, name: str) -> PageModel | None:
        content = reader.read(lambda ledger: read_content(ledger, name))
        return None if content is None else self._model(content)

    def _model(self, content: PageContent) -> PageModel:
        page, items, counts, folded = content
        model = PageModel(page, items, counts, *self._shared_by_pages, folded)
        model.seen = counts.seen
        return model

    def _publish(self, model: PageModel) -> PageModel:
        self._templates.add(model)
        self._by_name[model.page.name] = self._by_number[model.page.number] = model
        self._fold_checked[model] = self._clock()
        self._measure(model)
        self._metrics.pages.set(len(self._by_name))
        return model

    def _ask_for_draws(self, model: PageModel) -> None:
        """Ask for the draws that are due after a change of a page: its own, and those of its template."""
        self._refresher.request(model)
        if model.template is not None:
            self._refresher.request(model.template)

    def templates_changed(self, names: set[str]) -> None:
        """Note that pages have joined or left these templates, or that their counts were replaced."""
        self._templates.pages_changed(names)

    def _read_template(self, name: str) -> TemplateCounts:
        """The counts of the pages of a template. A background thread calls this."""
        now = self._clock()
        return self._store.read_here(lambda ledger: read_counts(ledger, name, self._block, now))

    def _block(self, number: int) -> PageBlock | None:
        model = self._by_number.get(number)
        return None if model is None else model.block()

    def _measure(self, model: PageModel) -> None:
        """Note the size of a page. If the pages need more memory than the budget, evict those not used for longest."""
        name, size = model.page.name, model.n_bytes
        self._n_bytes += size - self._sizes.get(name, 0)
        self._sizes[name] = size
        self._evict_beyond_budget()

    def set_budget(self, most_bytes: float) -> None:
        """Change how much memory the pages may take together."""
        self._most_bytes = most_bytes
        self._evict_beyond_budget()

    def _evict_beyond_budget(self) -> None:
        while self._n_bytes + self._templates.n_bytes > self._most_bytes and len(self._by_name) > 1:
            self.evict(next(iter(self._by_name)))
            self._metrics.evicted.inc()
        self._metrics.page_bytes.set(self._n_bytes + self._templates.n_bytes)

    def apply(self, page: int, change: PageChange) -> None:
        """Apply a committed change to a page, if the page is in memory or is being built."""
        model = self._by_number.get(page)
        if model is not None:
            if change(model) is False:
                self.evict(model.page.name)
            elif model.n_bytes != self._sizes[model.page.name]:
                self._by_name.move_to_end(model.page.name)
                self._measure(model)
        for load in self._loads.values():
            if load.number == page:
                load.changes.append(change)

    async def _read(self, name: str) -> "tuple[StoredPage, PageContent | None] | None":
        """A page, and its content if it is read at once."""
        now = self._clock()
        if not self._store.is_shared:
            return await self._store.do(lambda ledger: begin_load(ledger, name, now))
        page = await self._store.read(lambda ledger: ledger.page(name))  # the other nodes need not wait
        if page is None or page.archived:
            return None
        if page.body.spec.epochs_since(page.epoch_began, now)[0] > 0:
            await self._store.do(lambda ledger: begin_load(ledger, name, now))
        return page, None  # a reader sees all tables at one moment, a group of a shared store does not

    # changes on other nodes

    def follow(self, groups: Sequence[GroupElsewhere], forget: Callable[[int], None]) -> None:
        """Apply what other nodes have committed. `forget` is called with the number of a page that was deleted.

        Definitions come first, in their order. The counts of a page are added up first, and applied at once: a group
        may take back what a group further down has counted, and no count in memory is ever below zero.
        """
        for group in groups:
            for definition in group.definitions:
                self._follow_definition(definition, group, forget)
        changed: dict[int, list[tuple[GroupElsewhere, ChangedCounts]]] = {}
        for group in groups:
            for counts in group.counts:
                changed.setdefault(counts.page, []).append((group, counts))
        for page, changes in changed.items():
            self.apply(page, partial(_add_unseen, changes))

    def _follow_definition(
        self, changed: ChangedDefinition, group: GroupElsewhere, forget: Callable[[int], None]
    ) -> None:
        if isinstance(changed, ChangedItems):
            self.apply(changed.page, _unless_seen(group, partial(set_items, changed)))
        elif isinstance(changed, BegunEpoch):
            self.apply(changed.page, lambda model: model.begin_epoch(changed.epoch, changed.began))
        elif isinstance(changed, ChangedPage):
            page = changed.page
            model = self._by_number.get(page.number)
            if model is None or page.archived or not redefine(changed, model):
                self.evict(page.name)
            for load in self._loads.values():
                load.is_stale = load.is_stale or load.number == page.number
            self.templates_changed(_changed_template_names(changed))
        elif isinstance(changed, ReplacedCounts | PurgedPage):
            model = self._by_number.get(changed.page)
            if model is not None:
                self.evict(model.page.name)
                if model.template is not None:
                    self.templates_changed({model.template.name})
            for load in self._loads.values():
                load.is_stale = load.is_stale or load.number == changed.page
            if isinstance(changed, PurgedPage):
                forget(changed.page)

    # changes

    def apply_changes(self, page: int, changes: list[DisplayChange]) -> None:
        """Apply changes of counts that the store has committed."""
        self.apply(page, lambda model: model.apply_changes(changes))

    async def drop_folded(self, now: float) -> None:
        """Drop the counts of folded items, columns and segments from memory. One call checks a few pages."""
        for model, checked in list(islice(self._fold_checked.items(), FOLD_PAGES)):
            if abs(now - checked) >= FOLD_SECONDS and await self._drop_folded(model) and model in self._fold_checked:
                del self._fold_checked[model]  # so that it becomes the last one
                self._fold_checked[model] = now
            await asyncio.sleep(0)  # the check of a large page takes milliseconds

    async def _drop_folded(self, model: PageModel) -> bool:
        """Returns False if the page was changed meanwhile, so that it must be checked again.

        The reader sees all displays issued so far. Later ones cannot have what is unused, unless the page is changed.
        """
        unused, n_changes, number = model.unused(), model.n_changes, model.page.number
        if unused == NOTHING_FOLDED:
            return True
        reader = await self._store.begin_read()
        logged = await run_in_background(reader.read, lambda ledger: ledger.logged(number))
        if model.n_changes != n_changes:
            return False
        if self._by_number.get(number) is model:
            model.drop(unused - logged)
        return True

    async def begin_due_epoch(self, model: PageModel, now: float) -> None:
        """Fade the counts of a page if an epoch has passed."""
        passed, began = model.page.body.spec.epochs_since(model.page.epoch_began, now)
        if passed <= 0:
            return
        epoch = model.page.epoch + passed

        number = model.page.number

        def apply(_: None) -> None:
            self.apply(number, lambda current: current.begin_epoch(epoch, began))

        await self.commit(lambda ledger: ledger.begin_epoch(number, epoch, began), apply)


def _unless_seen(group: GroupElsewhere, change: PageChange) -> PageChange:
    """The change, unless the page was loaded after the group."""
    return lambda model: None if _is_seen(group, model) else change(model)


def _add_unseen(changes: list[tuple[GroupElsewhere, ChangedCounts]], model: PageModel) -> bool:
    """Add changes of counts, without those of groups after which the page was loaded."""
    unseen = [counts for group, counts in changes if not _is_seen(group, model)]
    return not unseen or add_counts(added_up(unseen), model)


def _is_seen(group: GroupElsewhere, model: PageModel) -> bool:
    return group.number <= model.seen.get(group.node, 0)


def _changed_template_names(changed: ChangedPage) -> set[str]:
    joined = None if changed.page.archived else changed.page.body.spec.template
    return {name for name in (changed.left, joined) if name is not None} if changed.left != joined else set()
