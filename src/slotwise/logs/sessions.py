"""QuerySessions: the displays of one query with their clicks, ready to be compared with click models."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput, Floats, Ints
from slotwise.counts import Counts
from slotwise.logs.query import Query

FOLDS = 2  # sessions are split into halves: a model is fitted to one and tested on the other


class QuerySessions(NamedTuple):
    """The sessions of one query. A session is one display with its clicks. Equal sessions are one row.

    A row has the index of the item at every position, or -1 if the position is empty. The positions are in the order in
    which visitors look at them. The half to which a session belongs is its `fold`.

    >>> hats = make_sessions("hats", ["felt", "straw"], ["top", "side"], [[0, 1], [1, 0]], [[1, 0], [0, 0]])
    >>> hats.total, hats.query().counts.clicks.tolist()
    (2.0, [[1.0, 0.0], [0.0, 0.0]])
    """

    name: str
    items: list[str]
    positions: list[str]
    displays: Ints  #: rows x positions
    clicks: NDArray[np.bool_]  #: rows x positions
    fold: Ints  #: 0 or 1
    number: Floats  #: how many sessions are equal to this row

    @property
    def total(self) -> float:
        """The number of sessions."""
        return float(self.number.sum())

    @property
    def shown(self) -> NDArray[np.bool_]:
        """Which positions had an item: rows x positions."""
        return np.asarray(self.displays != EMPTY)

    def query(self) -> Query:
        """The counts of each item at each position."""
        n = len(self.positions)
        return Query(self.name, self.items, self.positions, self.counts_by(np.arange(n), n))

    def counts_by(self, column: Ints, n_columns: int) -> Counts:
        """The clicks and skips of each item and column. `column` has the number of the column for every position."""
        n_items = len(self.items)
        cell, shown = self.displays * n_columns + column, self.shown
        number = np.broadcast_to(self.number[:, None], shown.shape)

        def total(chosen: NDArray[np.bool_]) -> Floats:
            sums = np.bincount(cell[chosen], number[chosen], n_items * n_columns)
            return sums.astype(np.float64).reshape(n_items, n_columns)

        return Counts(total(shown & self.clicks), total(shown & ~self.clicks), self.total)

    def rows(self, chosen: NDArray[np.bool_]) -> "QuerySessions":
        """Some of the rows."""
        return self._replace(
            displays=self.displays[chosen],
            clicks=self.clicks[chosen],
            fold=self.fold[chosen],
            number=self.number[chosen],
        )

    def sorted(self) -> "QuerySessions":
        """Equal rows merged, and sorted. Sums over rows are then the same, whatever the order of the lines was."""
        keys = np.column_stack([self.displays, self.clicks, self.fold])
        order = np.lexsort(keys.T[::-1])
        ordered = keys[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        number = np.bincount(np.cumsum(first) - 1, self.number[order], int(first.sum())).astype(np.float64)
        rows, n = ordered[first], len(self.positions)
        return QuerySessions(
            self.name, self.items, self.positions, rows[:, :n], rows[:, n : 2 * n].astype(bool), rows[:, -1], number
        )


def make_sessions(
    name: str,
    items: Sequence[str],
    positions: Sequence[str],
    displays: ArrayLike,
    clicks: ArrayLike,
    fold: ArrayLike | None = None,
) -> QuerySessions:
    """The sessions of a query from arrays of rows x positions. By default, every second row is in the other half.

    >>> make_sessions("hats", ["felt", "straw"], ["top", "side"], [[0, 1], [1, -1]], [[1, 0], [0, 0]]).total
    2.0
    """
    shown, clicked = np.atleast_2d(np.asarray(displays, np.int64)), np.atleast_2d(np.asarray(clicks))
    if shown.shape != clicked.shape or shown.shape[1] != len(positions):
        raise BadInput(
            f"displays is {shown.shape} and clicks is {clicked.shape}; both must be sessions x positions, "
            f"and there are {len(positions)} positions"
        )
    if shown.min(initial=0) < EMPTY or shown.max(initial=0) >= len(items):
        raise BadInput(f"displays has an item that is not from 0 to {len(items) - 1}, or -1 for an empty position")
    if not np.isin(clicked, (0, 1)).all():
        raise BadInput("clicks has a value that is neither 0 nor 1")
    folds = np.arange(len(shown)) % FOLDS if fold is None else np.asarray(fold, np.int64)
    if folds.shape != (len(shown),) or not np.isin(folds, range(FOLDS)).all():
        raise BadInput(f"fold must have one number below {FOLDS} for each of the {len(shown)} sessions")
    made = QuerySessions(
        name, list(items), list(positions), shown, clicked.astype(bool), folds.astype(np.int64), np.ones(len(shown))
    )
    return made.sorted()
