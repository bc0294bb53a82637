"""The pages in memory. They are loaded from the store when needed, and updated after the store commits a change."""

import asyncio
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

import msgspec
import numpy as np

from slotwise.checks import Floats
from slotwise.service.background_threads import run_in_background
from slotwise.service.clock import Clock
from slotwise.service.ensembles.arrangement_cache import ArrangementCache
from slotwise.service.ensembles.ensemble_refresher import Refresher
from slotwise.service.errors import PAGE_ARCHIVED, DoesNotFit, NotFound, NotReady
from slotwise.service.history import DEV, Author, differing
from slotwise.service.metrics import Metrics
from slotwise.service.pages.changes_of_nodes import add_counts, redefine, set_items
from slotwise.service.pages.compiler import TRIAL, Compiler
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded, find_unused
from slotwise.service.pages.page_checks import check_limits, most_items
from slotwise.service.pages.page_definition import ItemSpec, PageBody, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.preconditions import Precondition
from slotwise.service.store.changes_elsewhere import (
    BegunEpoch,
    ChangedDefinition,
    ChangedItems,
    ChangedPage,
    GroupElsewhere,
    PurgedPage,
    ReplacedCounts,
)
from slotwise.service.store.interface import (
    CountRows,
    DisplayChange,
    Ledger,
    Operation,
    Reader,
    ResultT,
    Store,
    StoredItem,
    StoredPage,
    Traffic,
    commit_and_apply,
)
from slotwise.service.templates.template_cache import TemplateCache
from slotwise.service.templates.template_counts import PageBlock, TemplateCounts, read_counts

STAGED_AT_ONCE = 1_000  # imported counts that one transaction writes
BUILT_AT_ONCE = 2_000  # counts; a larger page is read and built on a background thread

FOLD_SECONDS, FOLD_PAGES = 3600.0, 10  # how often a page is checked for what is folded, and how many pages at a time

PageChange = Callable[[PageModel], bool | None]  # returns False if the page must be loaded again


class _PageContent(NamedTuple):
    """The data that a page model is built from."""

    page: StoredPage
    items: list[tuple[str, ItemSpec]]
    counts: CountRows
    folded: Folded


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
        self._fold_checked: dict[
            PageModel, float
        ] = {}  # when each page was checked; the page that was first comes first
        self._templates = TemplateCache(self._read_template, refresher.request, refresher.forget)
        self._one_import = asyncio.Lock()
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
        self, operation: Operation[ResultT], apply: Callable[[ResultT], None], traffic: Traffic | None = None
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

    def by_number(self, number: int) -> PageModel | None:
        """A page, or None if it is not in memory."""
        return self._by_number.get(number)

    async def model(self, name: str) -> PageModel:
        """A page. It is loaded from the store if it is not in memory. Raises NotFound if it does not exist."""
        self._check_ready()
        model = self.by_name(name)
        if model is None:
            model = await self._load(name)
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

    def clear(self) -> None:
        for name in [*self._by_name, *self._loads]:
            self.evict(name)

    def _check_ready(self) -> None:
        if not self.ready:
            raise NotReady

    async def _load(self, name: str) -> PageModel | None:
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
        content = reader.read(lambda ledger: _read_content(ledger, name))
        return None if content is None else self._model(content)

    def _model(self, content: _PageContent) -> PageModel:
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

    def _apply(self, page: int, change: PageChange) -> None:
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

    async def _read(self, name: str) -> "tuple[StoredPage, _PageContent | None] | None":
        """A page, and its content if it is read at once."""
        now = self._clock()
        if not self._store.is_shared:
            return await self._store.do(lambda ledger: _begin_load(ledger, name, now))
        page = await self._store.read(lambda ledger: ledger.page(name))  # the other nodes need not wait
        if page is None or page.archived:
            return None
        if page.body.spec.epochs_since(page.epoch_began, now)[0] > 0:
            await self._store.do(lambda ledger: _begin_load(ledger, name, now))
        return page, None  # a reader sees all tables at one moment, a group of a shared store does not

    # changes on other nodes

    def follow(self, groups: Sequence[GroupElsewhere], forget: Callable[[int], None]) -> None:
        """Apply what other nodes have committed. `forget` is called with the number of a page that was deleted.

        Definitions come first, in their order. Counts can be added in any order.
        """
        for group in groups:
            for definition in group.definitions:
                self._follow_definition(definition, group, forget)
        for group in groups:
            for counts in group.counts:
                self._apply(counts.page, _unless_seen(group, partial(add_counts, counts)))

    def _follow_definition(
        self, changed: ChangedDefinition, group: GroupElsewhere, forget: Callable[[int], None]
    ) -> None:
        if isinstance(changed, ChangedItems):
            self._apply(changed.page, _unless_seen(group, partial(set_items, changed)))
        elif isinstance(changed, BegunEpoch):
            self._apply(changed.page, lambda model: model.begin_epoch(changed.epoch, changed.began))
        elif isinstance(changed, ChangedPage):
            page = changed.page
            model = self._by_number.get(page.number)
            if model is None or page.archived or not redefine(changed, model):
                self.evict(page.name)
            for load in self._loads.values():
                load.is_stale = load.is_stale or load.number == page.number
            self._templates.pages_changed(_changed_template_names(changed))
        elif isinstance(changed, ReplacedCounts | PurgedPage):
            model = self._by_number.get(changed.page)
            if model is not None:
                self.evict(model.page.name)
                if model.template is not None:
                    self._templates.pages_changed({model.template.name})
            for load in self._loads.values():
                load.is_stale = load.is_stale or load.number == changed.page
            if isinstance(changed, PurgedPage):
                forget(changed.page)

    # changes

    async def save_page(
        self,
        name: str,
        change: Callable[[StoredPage | None], PageBody],
        expected: Precondition | None,
        archived: bool = False,
        author: Author = DEV,
    ) -> tuple[StoredPage, bool]:
        """Replace a page by the result of `change`. Returns the page, and whether it is new or was archived before."""
        if name in self._by_name:
            return await self._save_page(name, change, expected, archived, author)
        try:
            return await self._save_page(name, change, expected, archived, author)
        except DoesNotFit:  # the limits do not apply to what is folded, and a page in memory knows what that is
            if await self._load(name) is None:
                raise
            return await self._save_page(name, change, expected, archived, author)

    async def _save_page(
        self,
        name: str,
        change: Callable[[StoredPage | None], PageBody],
        expected: Precondition | None,
        archived: bool,
        author: Author,
    ) -> tuple[StoredPage, bool]:
        now, templates = self._clock(), set[str]()
        folded = self._by_name[name].folded if name in self._by_name else NOTHING_FOLDED

        def operation(ledger: Ledger) -> tuple[StoredPage, bool]:
            before = ledger.page(name)
            exists = before is not None and not before.archived
            if expected is not None:
                expected.check(before.version if before is not None and exists else None)
            body = change(before)
            if before is not None and exists and body is before.body and not archived:
                return before, False  # nothing changed, so the version stays
            if before is None or (body.columns, body.segments) != (before.body.columns, before.body.segments):
                items = [] if before is None else [spec for _, spec in ledger.items(before.number)]
                line = check_limits(body, len(items), folded.still_unused(body, items))
                if line is not None:
                    raise DoesNotFit.at("", line)
            if not archived:
                _check_template(ledger, name, body.spec)
            templates.update(_changed_templates(before, None if archived else body))
            saved = ledger.save_page(name, body, before and before.version, now, archived)
            sides = differing(_described(before.body) if before is not None and exists else None, _described(body))
            ledger.record_change(saved.number, author, now, "archive" if archived else "page", name, sides)
            return saved, not exists

        def apply(result: tuple[StoredPage, bool]) -> None:
            model = self._by_name.get(name)
            if model is None or archived or not model.redefine(result[0]):
                self.evict(name)
            self._templates.pages_changed(templates)

        return await self.commit(operation, apply)

    async def purge_page(
        self, name: str, expected: Precondition | None, author: Author, forget: Callable[[int], None]
    ) -> None:
        """Delete a page for good, even if it is archived; see `Ledger.begin_purge`. Raises NotFound if there is none.

        `forget` is called with the number of the page when it is deleted.
        """
        now = self._clock()

        def operation(ledger: Ledger) -> StoredPage:
            page = ledger.page(name)
            if page is None:
                raise NotFound(f"there is no page {name!r}")
            if expected is not None:
                expected.check(page.version)
            ledger.begin_purge(page.number, author, now)
            return page

        def apply(page: StoredPage) -> None:
            self.evict(name)
            self._templates.pages_changed(_changed_templates(page, None))
            forget(page.number)

        await commit_and_apply(self._store, operation, apply)

    async def item(self, model: PageModel, item: str) -> StoredItem:
        """An item as it is in the store, with its version."""
        number = model.page.number
        stored = await self._store.read(lambda ledger: ledger.item(number, item))
        if stored is None:
            raise _unknown_item(item)
        return stored

    async def save_items(
        self, model: PageModel, items: list[tuple[str, ItemSpec]], author: Author = DEV
    ) -> list[bool | str]:
        """Add or change items. For each item, returns whether it is new, or the reason why the page cannot take it."""
        name, number, now, folded = model.page.name, model.page.number, self._clock(), model.folded

        def operation(ledger: Ledger) -> tuple[list[tuple[int, bool] | None], str]:
            body = _served_page(ledger, name, number).body
            names = [item for item, _ in items]
            before = ledger.specs(number, names)
            saved = ledger.save_items(number, items, most_items(body, folded)), _why_full(body, folded)
            sides = differing(before, ledger.specs(number, names))
            if sides[0] != sides[1]:
                ledger.record_change(number, author, now, "items", f"{len(sides[1]):,} items", sides)
            return saved

        def apply(result: tuple[list[tuple[int, bool] | None], str]) -> None:
            saved = [(row[0], *item) for row, item in zip(result[0], items, strict=True) if row is not None]
            self._apply(number, lambda model: model.set_items(saved))

        rows, full = await self.commit(operation, apply)
        return [full if row is None else row[1] for row in rows]

    async def change_item(
        self,
        model: PageModel,
        item: str,
        change: Callable[[ItemSpec], ItemSpec],
        expected: Precondition | None,
        create: bool = False,
        author: Author = DEV,
    ) -> tuple[StoredItem, bool]:
        """Replace the definition of an item by the result of `change`. Returns the item, and whether it is new.

        `change` runs inside the transaction, because the definition in memory may be older than the one in the store.
        If the item does not exist and `create` is set, `change` gets a default definition. If `create` is not set,
        NotFound is raised.
        """
        name, number, now, folded = model.page.name, model.page.number, self._clock(), model.folded

        def operation(ledger: Ledger) -> tuple[StoredItem, bool]:
            body = _served_page(ledger, name, number).body
            before = ledger.item(number, item)
            if before is None and not create:
                raise _unknown_item(item)
            if expected is not None:
                expected.check(before and before.version)
            spec = change(ItemSpec() if before is None else before.spec)
            (row,) = ledger.save_items(number, [(item, spec)], most_items(body, folded))
            if row is None:
                raise DoesNotFit.at("", _why_full(body, folded))
            saved = ledger.item(number, item)
            assert saved is not None
            if before is None or before.version != saved.version:
                sides = differing(before and before.spec, saved.spec)
                ledger.record_change(number, author, now, "item", item, sides)
            return saved, before is None

        def apply(result: tuple[StoredItem, bool]) -> None:
            saved, _ = result
            self._apply(number, lambda model: model.set_items([(saved.number, saved.name, saved.spec)]))

        return await self.commit(operation, apply)

    def apply_changes(self, page: int, changes: list[DisplayChange]) -> None:
        """Apply changes of counts that the store has committed."""
        self._apply(page, lambda model: model.apply_changes(changes))

    async def import_counts(
        self,
        model: PageModel,
        cells: Floats,
        displays: float,
        expected: Precondition | None,
        author: Author = DEV,
    ) -> int:
        """Replace everything that a page has learnt. Returns the new revision.

        `cells` has rows of (item, segment, column, clicks, skips). Many rows are written in many small transactions
        first, so that other transactions need not wait for long. The counts change in one transaction.
        """
        async with self._one_import:  # so that imports together take no more memory and time than one
            snapshot = await self._store.do(lambda ledger: ledger.begin_import())
            try:
                for first in range(0, len(cells), STAGED_AT_ONCE):
                    began = time.monotonic()
                    await self._stage(snapshot, cells[first : first + STAGED_AT_ONCE])
                    if first + STAGED_AT_ONCE < len(cells):
                        await asyncio.sleep(time.monotonic() - began)  # leaves half of the time to other transactions
                return await self._replace_counts(model, snapshot, len(cells), displays, expected, author)
            except BaseException:
                abandoned = self._store.do(lambda ledger: ledger.abandon_imports())
                abandoned.add_done_callback(asyncio.Future.exception)  # if this fails, the next start does it
                raise

    def _stage(self, snapshot: int, cells: Floats) -> "asyncio.Future[None]":
        return self._store.do(lambda ledger: ledger.stage_counts(snapshot, cells))

    async def _replace_counts(
        self,
        model: PageModel,
        snapshot: int,
        n_cells: int,
        displays: float,
        expected: Precondition | None,
        author: Author,
    ) -> int:
        name, number, now = model.page.name, model.page.number, self._clock()

        def operation(ledger: Ledger) -> int:
            _served_page(ledger, name, number)
            revision = ledger.import_counts(number, snapshot, displays, expected)
            after = {"revision": revision, "displays": displays, "counts": n_cells}
            ledger.record_change(number, author, now, "state", name, ({"revision": revision - 1}, after))
            return revision

        def apply(_: int) -> None:
            self.evict(name)
            if model.template is not None:
                self._templates.pages_changed({model.template.name})

        return await self.commit(operation, apply)

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
            self._apply(number, lambda current: current.begin_epoch(epoch, began))

        await self.commit(lambda ledger: ledger.begin_epoch(number, epoch, began), apply)


def _unless_seen(group: GroupElsewhere, change: PageChange) -> PageChange:
    """The change, unless the page was loaded after the group."""
    return lambda model: None if group.number <= model.seen.get(group.node, 0) else change(model)


def _changed_template_names(changed: ChangedPage) -> set[str]:
    joined = None if changed.page.archived else changed.page.body.spec.template
    return {name for name in (changed.left, joined) if name is not None} if changed.left != joined else set()


def _served_page(ledger: Ledger, name: str, number: int) -> StoredPage:
    """A page whose model was loaded. Raises NotFound if the page has been archived or deleted since."""
    page = ledger.page(name)
    if page is None or page.archived or page.number != number:  # another page may have the name now
        raise NotFound(PAGE_ARCHIVED)
    return page


def _described(body: PageBody) -> dict[str, object]:
    """What the history keeps of a page: its settings and its pins."""
    return {**msgspec.to_builtins(body.spec), "pins": msgspec.to_builtins(body.pins)}


def _check_template(ledger: Ledger, name: str, spec: PageSpec) -> None:
    """Raise DoesNotFit if another page of the template has other layouts. The order of positions does not matter."""
    other = None if spec.template is None else ledger.template_page(spec.template, other_than=name)
    if other is None:
        return
    ours, theirs = spec.all_layouts(), other.body.spec.all_layouts()
    if {layout: set(ours[layout]) for layout in ours} != {layout: set(theirs[layout]) for layout in theirs}:
        line = (
            f"the page {other.name!r} of this template has other layouts, {theirs}; pages of a template have the same "
            "layouts with the same positions: use these, or another template"
        )
        raise DoesNotFit.at("/template", line)


def _changed_templates(before: StoredPage | None, after: PageBody | None) -> set[str]:
    """The templates that a page joins or leaves."""
    left = None if before is None or before.archived else before.body.spec.template
    joined = None if after is None else after.spec.template
    return {name for name in (left, joined) if name is not None} if left != joined else set()


def _unknown_item(name: str) -> NotFound:
    return NotFound(f"there is no item {name!r} on this page")


def _why_full(body: PageBody, folded: Folded) -> str:
    """The reason why a page cannot have more than its `most_items`."""
    return check_limits(body, most_items(body, folded) + 1, folded) or ""


def _begin_load(ledger: Ledger, name: str, now: float) -> tuple[StoredPage, _PageContent | None] | None:
    """Begin the epoch of a page that is due, and find the page. A small page is read at once.

    To read a large page takes long. On the thread that commits, everything else would have to wait.
    """
    page = ledger.page(name)
    if page is None or page.archived:
        return None
    passed, began = page.body.spec.epochs_since(page.epoch_began, now)
    if passed > 0:
        page = page._replace(epoch=page.epoch + passed, epoch_began=began)
        ledger.begin_epoch(page.number, page.epoch, began)
    size = ledger.n_items(page.number) * len(page.body.segments) * page.body.n_columns
    return page, _read_content(ledger, name) if size <= BUILT_AT_ONCE else None


def _read_content(ledger: Ledger, name: str) -> _PageContent | None:
    page = ledger.page(name)
    if page is None or page.archived:
        return None
    items, counts = ledger.items(page.number), ledger.count_rows(page.number)
    counted = np.unique(counts.cells[:, 0].astype(np.int64)).tolist()
    unused = find_unused(page.body, [spec for _, spec in items], counted)
    folded = unused if unused == NOTHING_FOLDED else unused - ledger.logged(page.number)
    return _PageContent(page, items, counts, folded)
