"""The count matrix of a page.

Rows of the matrix are (item, segment), and columns are (layout, position). So one sampler serves the whole page:
layouts share thetas, and segments share kappas. Column 0 holds the priors of items. It acts as an extra position of
unknown visibility. It exists only in memory, not in the store.

The event loop only appends changes to a queue. Background threads apply them, in the order in which they were appended,
before they read the counts. So a large matrix is never copied, faded or grown on the event loop.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, Counts, empty, grown, restore, shift_many
from slotwise.service.fading import weight
from slotwise.service.pages.page_definition import ItemPrior, ItemSpec
from slotwise.service.store.interface import CellCounts, CountRows, Display, DisplayChange, PageCounts

PRIOR = 0  # the column of the priors


class _Changes(NamedTuple):
    """Changes of displays that the store has committed, and the epoch whose weights they have."""

    changes: Sequence[DisplayChange]
    epoch: int


class _Cells:
    """Amounts to be added to the matrix, as columns of a table."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.clicks: list[float] = []
        self.skips: list[float] = []
        self.displays = 0.0

    def add_skips(self, display: Display, number: int, n_segments: int) -> None:
        """Add the skips of this many equal displays."""
        entries, segment = display.entries, display.segment
        self.rows += [entry.item * n_segments + segment for entry in entries]
        self.columns += [entry.column + 1 for entry in entries]
        self.clicks += [0.0] * len(entries)
        self.skips += [float(number)] * len(entries)
        self.displays += number

    def add_changes(self, batch: _Changes, n_segments: int) -> None:
        for display, changes, counted in batch.changes:
            faded = weight(batch.epoch - display.epoch)
            self.displays += faded * counted
            for index, clicks, skips in changes:
                entry = display.entries[index]
                self.rows.append(entry.item * n_segments + display.segment)
                self.columns.append(entry.column + 1)
                self.clicks.append(faded * clicks)
                self.skips.append(faded * skips)


class _EqualDisplays:
    """Counts displays with the same entries, because many displays share one list of entries."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, int], Display] = {}  # holds the lists of entries, so their ids stay unique
        self._numbers: dict[tuple[int, int], int] = {}

    def add(self, display: Display) -> None:
        key = id(display.entries), display.segment
        self._first.setdefault(key, display)
        self._numbers[key] = self._numbers.get(key, 0) + 1

    def cells(self, n_segments: int) -> _Cells:
        cells = _Cells()
        for key, number in self._numbers.items():
            cells.add_skips(self._first[key], number, n_segments)
        return cells


class CountMatrix:
    """The counts of a page. Methods that begin with `append` are for the event loop, all others for any thread."""

    def __init__(
        self, n_segments: int, n_columns: int, specs: Sequence[ItemSpec], counts: PageCounts | CountRows
    ) -> None:
        self._n_segments, self._n_columns = n_segments, n_columns
        self._lock = threading.Lock()
        self._pending: deque[Display | _Changes | Callable[[], None]] = deque()
        self._arrays = self._initial(specs, counts)

    # changes

    @property
    def n_pending(self) -> int:
        """The number of changes that wait to be applied."""
        return len(self._pending)

    def append_skips(self, display: Display) -> None:
        """Count the skips of a display of the current epoch."""
        self._pending.append(display)

    def append_changes(self, changes: Sequence[DisplayChange], epoch: int) -> None:
        """Apply changes that the store has committed. Their weights are those of this epoch."""
        self._pending.append(_Changes(changes, epoch))

    def append_fading(self, epochs: int) -> None:
        """Lower the weight of all counts as if this many epochs passed. Priors do not fade."""
        self._pending.append(lambda: self._fade(weight(epochs)))

    def append_items(self, n_items: int) -> None:
        """Add rows, so that there are this many items."""
        self._pending.append(lambda: self._grow(n_items))

    def append_prior(self, item: int, before: ItemPrior | None, after: ItemPrior | None) -> None:
        """Replace the prior of an item."""
        (old_clicks, old_views), (new_clicks, new_views) = _prior_counts(before), _prior_counts(after)
        clicks, views = new_clicks - old_clicks, new_views - old_views
        if clicks or views:
            self._pending.append(lambda: self._shift_prior(item, clicks, views - clicks))

    # counts

    @contextmanager
    def locked(self) -> Iterator[CountArrays]:
        """The counts after all changes appended so far. Until the block ends, they do not change."""
        with self._lock:
            self._apply_pending()
            yield self._arrays

    def apply_pending(self) -> None:
        """Apply all changes appended so far, unless another thread uses the counts now."""
        if self._lock.acquire(blocking=False):
            try:
                self._apply_pending()
            finally:
                self._lock.release()

    def counts(self, n_items: int | None = None) -> Counts:
        """A copy of the counts, with the priors in column 0. `n_items` leaves out items that were added later."""
        rows = None if n_items is None else n_items * self._n_segments
        with self.locked() as arrays:
            return Counts(arrays.clicks[:rows].copy(), arrays.skips[:rows].copy(), float(arrays.displays[0]))

    def cells(self) -> list[CellCounts]:
        """The counts above zero in the store's form, that is, without priors and with the store's column numbers."""
        with self.locked() as arrays:
            clicks, skips = arrays.clicks, arrays.skips
            return [
                CellCounts(*divmod(row, self._n_segments), column - 1, clicks[row, column], skips[row, column])
                for row, column in np.argwhere((clicks > 0.0) | (skips > 0.0)).tolist()
                if column != PRIOR
            ]

    def _initial(self, specs: Sequence[ItemSpec], counts: PageCounts | CountRows) -> CountArrays:
        arrays = empty(len(specs) * self._n_segments, self._n_columns)
        clicks, skips = np.zeros_like(arrays.clicks), np.zeros_like(arrays.skips)
        items, segments, columns, clicked, skipped = cell_array(counts).T
        where = (items * self._n_segments + segments).astype(np.int64), columns.astype(np.int64) + 1
        np.add.at(clicks, where, clicked)
        np.add.at(skips, where, skipped)
        for item, spec in enumerate(specs):
            if spec.prior is not None:
                rows = slice(item * self._n_segments, (item + 1) * self._n_segments)
                clicks[rows, PRIOR], skips[rows, PRIOR] = spec.prior.clicks, spec.prior.views - spec.prior.clicks
        restore(arrays, clicks, skips, counts.displays)
        return arrays

    def _apply_pending(self) -> None:
        skipped, changed = _EqualDisplays(), _Cells()
        while self._pending:
            change = self._pending.popleft()
            if isinstance(change, Display):
                skipped.add(change)
            elif isinstance(change, _Changes):
                changed.add_changes(change, self._n_segments)
            else:
                self._shift(skipped, changed)
                skipped, changed = _EqualDisplays(), _Cells()
                try:
                    change()
                except BaseException:  # such as too little memory; all later changes need this one
                    self._pending.appendleft(change)
                    raise
        self._shift(skipped, changed)

    def _shift(self, skipped: _EqualDisplays, changed: _Cells) -> None:
        """Add the skips first: a click takes back a skip of its display, and no count is ever below zero."""
        for cells in (skipped.cells(self._n_segments), changed):
            if cells.rows or cells.displays:
                rows, columns = np.array(cells.rows, np.int64), np.array(cells.columns, np.int64)
                clicks, skips = np.array(cells.clicks, np.float64), np.array(cells.skips, np.float64)
                shift_many(self._arrays, rows, columns, clicks, skips, cells.displays)

    def _fade(self, factor: float) -> None:
        arrays = self._arrays
        clicks, skips = arrays.clicks * factor, arrays.skips * factor
        clicks[:, PRIOR], skips[:, PRIOR] = arrays.clicks[:, PRIOR], arrays.skips[:, PRIOR]
        restore(arrays, clicks, skips, arrays.displays[0] * factor)

    def _grow(self, n_items: int) -> None:
        self._arrays = grown(self._arrays, n_items * self._n_segments, self._n_columns)

    def _shift_prior(self, item: int, clicks: float, skips: float) -> None:
        size = self._n_segments
        rows: Ints = np.arange(size) + item * size
        shift_many(self._arrays, rows, np.full(size, PRIOR), np.full(size, clicks), np.full(size, skips), 0.0)


def cell_array(counts: PageCounts | CountRows) -> Floats:
    """The counts of a page as rows of (item, segment, column, clicks, skips)."""
    return np.array(counts.cells, np.float64, copy=None).reshape(-1, 5)


def _prior_counts(prior: ItemPrior | None) -> tuple[float, float]:
    return (0.0, 0.0) if prior is None else (prior.clicks, prior.views)
