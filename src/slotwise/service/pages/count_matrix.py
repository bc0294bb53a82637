"""The count matrix of a page.

Rows of the matrix are (item, segment), and columns are (layout, position). So one sampler serves the whole page:
layouts share thetas, and segments share kappas. Column 0 holds the priors of items. It acts as an extra position of
unknown visibility. It exists only in memory, not in the store. Items and positions that are not needed have no rows and
columns.

The event loop only appends changes to a queue. Background threads apply them, in the order in which they were appended,
before they read the counts. So a large matrix is never copied, faded or grown on the event loop. The sums that the
kernels need are made for them and not kept, because there may be very many pages.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, Counts, empty, restore
from slotwise.jit import kernel
from slotwise.service.pages.fading import weight
from slotwise.service.pages.folded import NOTHING_FOLDED, Folded
from slotwise.service.pages.page_definition import ItemPrior, ItemSpec
from slotwise.service.pages.pending_counts import CellAmounts, CommittedChanges, EqualDisplays
from slotwise.service.store.records import CellCounts, CountRows, Display, DisplayChange, PageCounts

PRIOR = 0  # the column of the priors
NO_ROW, DROPPED = -1, -2  # instead of the number of a row or column
Int32s = NDArray[np.int32]


class CountMatrix:
    """The counts of a page. Methods that begin with `append` are for the event loop, all others for any thread.

    With `all_rows`, every item has a row for every segment. Otherwise an item gets its row for a segment with its first
    count there, or with its prior. `rows`, `columns` and `keys` say where counts are. They are replaced and never
    changed. Rows are in the order of their keys, so it does not matter when changes are applied.
    """

    def __init__(
        self,
        n_segments: int,
        n_columns: int,
        specs: Sequence[ItemSpec],
        counts: PageCounts | CountRows,
        all_rows: bool = True,
        folded: Folded = NOTHING_FOLDED,
    ) -> None:
        self._n_segments, self._all_rows, self.folded = n_segments, all_rows, folded
        self._lock = threading.Lock()
        self._pending: deque[Display | CommittedChanges | Callable[[], None]] = deque()
        self._skipped, self._changed = EqualDisplays(), CellAmounts()  # taken from the queue, but not yet added
        self.rows = np.full((n_segments, len(specs)), NO_ROW, np.int32)  # of each segment and item
        self.columns = _numbered(n_columns, [column + 1 for column in folded.columns])  # of each column of the page
        self.rows[:, list(folded.items)] = DROPPED
        self.rows[list(folded.segments)] = DROPPED
        self.keys = np.empty(0, np.int64)  # of each row, in increasing order: item x segments + segment
        self._clicks: Floats = np.zeros((0, int((self.columns >= 0).sum())))  # rows x columns
        self._skips, self._displays = self._clicks.copy(), 0.0
        self._fill(specs, counts)

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
        self._pending.append(CommittedChanges(changes, epoch))

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
        """The counts after all changes appended so far, for kernels. Until the block ends, they do not change."""
        with self._applied():
            arrays = empty(*self._clicks.shape)
            restore(arrays, self._clicks, self._skips, self._displays)
            yield arrays

    @contextmanager
    def _applied(self) -> Iterator[None]:
        """Apply all changes appended so far. Until the block ends, the counts do not change."""
        with self._lock:
            self._apply_pending()
            yield

    def apply_pending(self) -> None:
        """Apply all changes appended so far, unless another thread uses the counts now."""
        if self._lock.acquire(blocking=False):
            try:
                self._apply_pending()
            finally:
                self._lock.release()

    def counts(self, items: Sequence[int] | None = None) -> Counts:
        """A copy of the counts of these items, or of all: a row for each item and segment, and the priors in column 0.

        What is left out counts as zero.
        """
        with self._applied():
            numbers = range(self.rows.shape[1]) if items is None else items
            rows, known = self.rows[:, numbers].T.reshape(-1), np.flatnonzero(self.columns >= 0)
            shown = np.flatnonzero(rows >= 0)
            clicks, skips = np.zeros((2, rows.size, self.columns.size))
            where = np.ix_(shown, known)
            clicks[where], skips[where] = self._clicks[rows[shown]], self._skips[rows[shown]]
            return Counts(clicks, skips, self._displays)

    def cells(self) -> list[CellCounts]:
        """The counts above zero in the store's form, that is, without priors and with the store's column numbers."""
        with self._applied():
            clicks, skips, keys = self._clicks, self._skips, self.keys.tolist()
            columns = np.flatnonzero(self.columns >= 0).tolist()
            return [
                CellCounts(
                    *divmod(keys[row], self._n_segments), columns[column] - 1, clicks[row, column], skips[row, column]
                )
                for row, column in np.argwhere((clicks > 0.0) | (skips > 0.0)).tolist()
                if column != PRIOR
            ]

    @property
    def n_rows(self) -> int:
        return self.keys.size

    def drop(self, folded: Folded) -> None:
        """Drop counts from memory."""
        with self._applied():
            if folded == self.folded:
                return
            rows, columns = self.rows.copy(), _numbered(self.columns.size, [c + 1 for c in folded.columns])
            rows[:, list(folded.items)] = DROPPED
            rows[list(folded.segments)] = DROPPED
            kept = np.flatnonzero(rows[self.keys % self._n_segments, self.keys // self._n_segments] >= 0)
            kept_columns = self.columns[columns >= 0]
            where = np.ix_(kept, kept_columns)
            self._clicks, self._skips = self._clicks[where], self._skips[where]
            self.columns, self.folded = columns, folded
            self._set_rows(rows, self.keys[kept])
            self._add_first_row()

    def _fill(self, specs: Sequence[ItemSpec], counts: PageCounts | CountRows) -> None:
        """Fill the matrix before its first use."""
        items, segments, columns, clicked, skipped = cell_array(counts).T
        keys = (items * self._n_segments + segments).astype(np.int64)
        self._add_rows(np.arange(self.rows.size) if self._all_rows else keys)
        size = self._n_segments
        priors = [(item, spec.prior) for item, spec in enumerate(specs) if spec.prior is not None]
        if priors:  # at once for all items, because new rows copy all counts
            amounts = np.array([(item, *_prior_counts(prior)) for item, prior in priors]).repeat(size, axis=0)
            with_prior = amounts[:, 0].astype(np.int64) * size + np.tile(np.arange(size), len(priors))
            prior_clicks, prior_skips = amounts[:, 1], amounts[:, 2] - amounts[:, 1]
            self._shift_cells(with_prior, np.full(with_prior.size, PRIOR), prior_clicks, prior_skips, 0.0)
        self._add_first_row()
        self._shift_cells(keys, columns.astype(np.int64) + 1, clicked, skipped, counts.displays)

    def _apply_pending(self) -> None:
        while self._pending:  # a change leaves the queue only when it is applied, as there may be too little memory
            change = self._pending[0]
            if isinstance(change, Display):
                self._skipped.add(change)
            elif isinstance(change, CommittedChanges):
                self._changed.add_changes(change, self._n_segments)
            else:
                self._shift()
                change()
            self._pending.popleft()
        self._shift()

    def _shift(self) -> None:
        """Add the skips first: a click takes back a skip of its display, and no count is ever below zero."""
        self._add(self._skipped.cells(self._n_segments))
        self._skipped = EqualDisplays()
        self._add(self._changed)
        self._changed = CellAmounts()

    def _add(self, cells: CellAmounts) -> None:
        if cells.rows or cells.displays:
            keys, columns = np.array(cells.rows, np.int64), np.array(cells.columns, np.int64)
            clicks, skips = np.array(cells.clicks, np.float64), np.array(cells.skips, np.float64)
            self._shift_cells(keys, columns, clicks, skips, cells.displays)

    def _shift_cells(self, keys: Ints, columns: Ints, clicks: Floats, skips: Floats, displays: float) -> None:
        """Add amounts to cells that are not left out. Rounding errors never make a count negative."""
        self._add_rows(keys)
        rows, columns = self.rows[keys % self._n_segments, keys // self._n_segments], self.columns[columns]
        known = (rows >= 0) & (columns >= 0)
        amounts = clicks[known].astype(np.float64), skips[known].astype(np.float64)
        add_to_cells(self._clicks, self._skips, rows[known].astype(np.int64), columns[known], *amounts)
        self._displays = max(self._displays + displays, 0.0)

    def _add_rows(self, keys: Ints) -> None:
        """Add rows for those items and segments that have none."""
        missing = keys[self.rows[keys % self._n_segments, keys // self._n_segments] == NO_ROW]
        if missing.size:
            all_keys = np.union1d(self.keys, missing)
            numbers, shape = np.searchsorted(all_keys, self.keys), (all_keys.size, self._clicks.shape[1])
            clicks, skips = np.zeros(shape), np.zeros(shape)
            clicks[numbers], skips[numbers] = self._clicks, self._skips
            self._clicks, self._skips = clicks, skips
            self._set_rows(self.rows.copy(), all_keys)

    def _set_rows(self, rows: Int32s, keys: Ints) -> None:
        """Number the rows of these keys in a map, and use it."""
        rows[keys % self._n_segments, keys // self._n_segments] = np.arange(keys.size)
        self.rows, self.keys = rows, keys

    def _add_first_row(self) -> None:
        """Add a row to an empty matrix, because the kernels need one. Without counts, it changes no law."""
        if not self.keys.size:
            segments, items = np.nonzero(self.rows == NO_ROW)
            self._add_rows((items * self._n_segments + segments)[:1])

    def _fade(self, factor: float) -> None:
        for counts in (self._clicks, self._skips):
            counts[:, :PRIOR] *= factor
            counts[:, PRIOR + 1 :] *= factor
        self._displays *= factor

    def _grow(self, n_items: int) -> None:
        before = self.rows
        rows = np.full((self._n_segments, n_items), NO_ROW, np.int32)
        rows[:, : before.shape[1]] = before
        rows[list(self.folded.segments)] = DROPPED
        self.rows = rows
        if self._all_rows:
            self._add_rows(np.arange(rows.size))
        self._add_first_row()

    def _shift_prior(self, item: int, clicks: float, skips: float) -> None:
        size = self._n_segments
        keys: Ints = np.arange(size) + item * size
        self._shift_cells(keys, np.full(size, PRIOR), np.full(size, clicks), np.full(size, skips), 0.0)


@kernel
def add_to_cells(
    all_clicks: Floats, all_skips: Floats, rows: Ints, columns: Ints, clicks: Floats, skips: Floats
) -> None:
    """Add all amounts. This needs no memory, so it cannot fail halfway."""
    for k in range(rows.size):
        row, column = rows[k], columns[k]
        all_clicks[row, column] = max(all_clicks[row, column] + clicks[k], 0.0)
        all_skips[row, column] = max(all_skips[row, column] + skips[k], 0.0)


def _numbered(size: int, folded: Sequence[int]) -> Ints:
    """Number the columns that are not left out."""
    numbers = np.full(size, DROPPED, np.int64)
    kept = np.ones(size, np.bool_)
    kept[list(folded)] = False
    numbers[kept] = np.arange(int(kept.sum()))
    return numbers


def cell_array(counts: PageCounts | CountRows) -> Floats:
    """The counts of a page as rows of (item, segment, column, clicks, skips)."""
    return np.array(counts.cells, np.float64, copy=None).reshape(-1, 5)


def _prior_counts(prior: ItemPrior | None) -> tuple[float, float]:
    return (0.0, 0.0) if prior is None else (prior.clicks, prior.views)
