"""The cells of a state: clicks and skips, with names in requests and responses, and with numbers in the store."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from slotwise.checks import Floats
from slotwise.service.errors import DoesNotFit, FieldError
from slotwise.service.pages.limits import ItemName, Name
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import CountRows, StoredPage

Count = Annotated[float, Meta(ge=0.0, le=1e12)]


class StateCell(Struct, forbid_unknown_fields=True):
    """Clicks and skips of an item at a position. `segment` is null for requests without a segment."""

    item: ItemName
    layout: Name
    position: Name
    clicks: Count
    skips: Count
    segment: Name | None = None


Row = tuple[int, int, int, float, float]  # item, segment, column, clicks, skips


class CellNumbers:
    """Replaces the names in cells by the numbers of one page. It may be used on a background thread."""

    def __init__(self, model: PageModel) -> None:
        body = model.page.body
        self._items = model.items
        self._columns = {column: number for number, column in enumerate(body.columns)}
        self._segments = {segment: number for number, segment in enumerate(body.segments)}

    def row(self, cell: StateCell, pointer: str) -> Row:
        """A cell with numbers. Raises DoesNotFit if the page lacks one of its names; `pointer` says where it is."""
        item = self._items.get(cell.item)
        if item is None:
            detail = f"there is no item {cell.item!r} on this page"
            raise DoesNotFit(detail, [FieldError(f"{pointer}/item", "unknown item")])
        column = self._columns.get((cell.layout, cell.position))
        if column is None:
            detail = f"there is no layout {cell.layout!r} with a position {cell.position!r}"
            raise DoesNotFit.at(f"{pointer}/position", detail)
        segment = self._segments.get(cell.segment or "")
        if segment is None:
            detail = f"there is no segment {cell.segment!r}"
            raise DoesNotFit(detail, [FieldError(f"{pointer}/segment", "unknown segment")])
        return item, segment, column, cell.clicks, cell.skips

    def array(self, rows: Iterable[Row]) -> Floats:
        """The rows in the order of their keys. Raises DoesNotFit if a cell is given twice."""
        cells = np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, 5)
        keys = _keys(cells, len(self._segments), len(self._columns))
        order = np.argsort(keys)
        if (np.diff(keys[order]) == 0).any():
            detail = "an item is counted twice at the same position"
            raise DoesNotFit(detail, [FieldError("/counts", "a cell is given twice")])
        return cells[order]


class StoredState:
    """The counts of a page as the store has them, and the names of the numbers in them."""

    def __init__(self, page: StoredPage, items: list[str], counts: CountRows) -> None:
        self.displays, self.revision = counts.displays, counts.revision
        self._body, self._items = page.body, items
        keys = _keys(counts.cells, len(page.body.segments), len(page.body.columns))
        order = np.argsort(keys, kind="stable")  # not np.unique, which keeps the GIL
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1.0))
        clicks, skips = np.add.reduceat(counts.cells[order, 3:], starts).T if len(starts) else np.empty((2, 0))
        counted = (clicks > 0.0) | (skips > 0.0)
        self._keys = keys[order][starts][counted].astype(np.int64)
        self._clicks, self._skips = clicks[counted], skips[counted]

    def __len__(self) -> int:
        return len(self._keys)

    def cells(self) -> Iterator[StateCell]:
        """All cells that were shown."""
        columns, segments = self._body.columns, self._body.segments
        for first in range(0, len(self), 1_000):  # a list of all numbers would take much more memory than the arrays
            part = slice(first, first + 1_000)
            pairs, column_numbers = np.divmod(self._keys[part], max(1, len(columns)))
            item_numbers, segment_numbers = np.divmod(pairs, len(segments))
            for item, segment, column, clicks, skips in zip(
                item_numbers.tolist(),
                segment_numbers.tolist(),
                column_numbers.tolist(),
                self._clicks[part].tolist(),
                self._skips[part].tolist(),
                strict=True,
            ):
                layout, position = columns[column]
                yield StateCell(self._items[item], layout, position, clicks, skips, segments[segment] or None)


def read_state(ledger: Ledger, name: str) -> StoredState | None:
    """The counts of a page, or None if there is no such page."""
    page = ledger.page(name)
    if page is None:
        return None
    return StoredState(page, [item for item, _ in ledger.items(page.number)], ledger.count_rows(page.number))


def _keys(cells: Floats, n_segments: int, n_columns: int) -> Floats:
    """One number for each (item, segment, column). It is exact, because a page has at most ten million of them."""
    return (cells[:, 0] * n_segments + cells[:, 1]) * max(1, n_columns) + cells[:, 2]
