"""Changes of pages: definitions, items, and imported counts. They are committed first, and then applied to memory."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress

import msgspec

from slotwise.checks import Floats
from slotwise.service.clock import Clock
from slotwise.service.errors import PAGE_ARCHIVED, DoesNotFit, NotFound, raise_field_errors
from slotwise.service.history import DEV, Author, differing
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded
from slotwise.service.pages.page_cache import PageCache
from slotwise.service.pages.page_checks import check_limits, most_items
from slotwise.service.pages.page_definition import ItemSpec, PageBody, PageSpec
from slotwise.service.pages.page_features import feature_problems
from slotwise.service.pages.page_model import PageModel
from slotwise.service.preconditions import Precondition
from slotwise.service.store.interface import Store, commit_and_apply
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import StoredItem, StoredPage

STAGED_AT_ONCE = 1_000  # imported counts that one transaction writes


class PageChanges:
    """Commits changes of pages to the store, and applies them to the pages in memory."""

    def __init__(self, store: Store, clock: Clock, cache: PageCache) -> None:
        self._store, self._clock, self._cache = store, clock, cache
        self._one_import = asyncio.Lock()

    async def save_page(
        self,
        name: str,
        change: Callable[[StoredPage | None], PageBody],
        expected: Precondition | None,
        archived: bool = False,
        author: Author = DEV,
    ) -> tuple[StoredPage, bool]:
        """Replace a page by the result of `change`. Returns the page, and whether it is new or was archived before."""
        if self._cache.peek(name) is not None:
            return await self._save_page(name, change, expected, archived, author)
        try:
            return await self._save_page(name, change, expected, archived, author)
        except DoesNotFit:  # the limits do not apply to what is folded, and a page in memory knows what that is
            if await self._cache.load(name) is None:
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
        now, templates, known = self._clock(), set[str](), self._cache.peek(name)
        folded = NOTHING_FOLDED if known is None else known.folded

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
                is_known = before is not None and known is not None and before.number == known.page.number
                # another request may have purged the page and defined it again: then it has other items
                line = check_limits(body, len(items), folded.still_unused(body, items) if is_known else NOTHING_FOLDED)
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
            model = self._cache.peek(name)
            if model is None or archived or not model.redefine(result[0]):
                self._cache.evict(name)
            self._cache.templates_changed(templates)

        return await self._cache.commit(operation, apply)

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
            self._cache.evict(name)
            self._cache.templates_changed(_changed_templates(page, None))
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

        def operation(ledger: Ledger) -> list[tuple[int, bool] | str]:
            body = _served_page(ledger, name, number).body
            names = [item for item, _ in items]
            before = ledger.specs(number, names)
            invalid = _invalid_features(body, before, items)
            valid = [pair for k, pair in enumerate(items) if k not in invalid]
            saved = iter(ledger.save_items(number, valid, most_items(body, folded)) if valid else [])
            sides = differing(before, ledger.specs(number, names))
            if sides[0] != sides[1]:
                ledger.record_change(number, author, now, "items", f"{len(sides[1]):,} items", sides)
            full = _why_full(body, folded)
            return [invalid[k] if k in invalid else next(saved) or full for k in range(len(items))]

        def apply(rows: list[tuple[int, bool] | str]) -> None:
            saved = [(row[0], *item) for row, item in zip(rows, items, strict=True) if not isinstance(row, str)]
            self._cache.apply(number, lambda model: model.set_items(saved))

        rows = await self._cache.commit(operation, apply)
        return [row if isinstance(row, str) else row[1] for row in rows]

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
            known = ItemSpec() if before is None else before.spec
            spec = change(known)
            if spec.features != known.features:  # features that are kept may be those of an earlier declaration
                raise_field_errors(feature_problems(body.spec.features, spec.features))
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
            self._cache.apply(number, lambda model: model.set_items([(saved.number, saved.name, saved.spec)]))

        return await self._cache.commit(operation, apply)

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
                with suppress(Exception, asyncio.CancelledError):  # if this fails, the next start does it
                    await asyncio.shield(abandoned)  # the caller then removes the rows; earlier they are still in use
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
            self._cache.evict(name)
            if model.template is not None:
                self._cache.templates_changed({model.template.name})

        return await self._cache.commit(operation, apply)


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


def _invalid_features(body: PageBody, before: dict[str, ItemSpec], items: list[tuple[str, ItemSpec]]) -> dict[int, str]:
    """The items whose features do not fit the page, by their index. Those that do not change are not checked."""
    declared, invalid = body.spec.features, dict[int, str]()
    for k, (name, spec) in enumerate(items):
        if spec.features and not (name in before and before[name].features == spec.features):
            problems = feature_problems(declared, spec.features)
            if problems:
                invalid[k] = problems[0].detail
    return invalid


def _unknown_item(name: str) -> NotFound:
    return NotFound(f"there is no item {name!r} on this page")


def _why_full(body: PageBody, folded: Folded) -> str:
    """The reason why a page cannot have more than its `most_items`."""
    return check_limits(body, most_items(body, folded) + 1, folded) or ""


def _changed_templates(before: StoredPage | None, after: PageBody | None) -> set[str]:
    """The templates that a page joins or leaves."""
    left = None if before is None or before.archived else before.body.spec.template
    joined = None if after is None else after.spec.template
    return {name for name in (left, joined) if name is not None} if left != joined else set()
