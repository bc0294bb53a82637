"""QuerySessions: the displays of one query with their clicks, ready to be compared with click models."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput, Floats, Ints
from slotwise.counts import Counts
from slotwise.logs.query import Query

_MOST = 2**62  # keys are smaller
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

    def rows(self, chosen: NDArray[np.bool_] | Ints) -> "QuerySessions":
        """Some of the rows, by a mask or by their numbers."""
        return self._replace(
            displays=self.displays[chosen],
            clicks=self.clicks[chosen],
            fold=self.fold[chosen],
            number=self.number[chosen],
        )

    def sorted(self) -> "QuerySessions":
        """Equal rows merged, and sorted. Sums over rows are then the same, whatever the order of the lines was."""
        keys = _packed([*self.displays.T, *self.clicks.T, self.fold])
        order = np.lexsort(keys[::-1])
        ordered = [key[order] for key in keys]
        first = np.ones(len(order), np.bool_)
        first[1:] = np.any([key[1:] != key[:-1] for key in ordered], axis=0)
        number = np.bincount(np.cumsum(first) - 1, self.number[order], int(first.sum())).astype(np.float64)
        return self.rows(order[first])._replace(number=number)

    def split(self, seed: int = 0) -> "QuerySessions":
        """The same sessions in two random halves. Equal sorted sessions have equal halves."""
        rng = np.random.default_rng(seed)
        second = rng.binomial(self.number.astype(np.int64), 1.0 / FOLDS).astype(np.float64)
        twice = np.repeat(np.arange(len(self.number)), FOLDS)  # rows stay sorted, because the fold comes last
        number = np.stack([self.number - second, second], axis=1).ravel()
        fold = np.tile(np.arange(FOLDS), len(self.number))
        return self.rows(twice)._replace(fold=fold, number=number).rows(number > 0.0)


def _packed(columns: Sequence[NDArray[np.generic]]) -> list[Ints]:
    """Few columns of whole numbers in the same order as many columns of whole numbers from -1 on."""
    packed: list[Ints] = []
    room = 0
    for column in columns:
        size = int(column.max(initial=0)) + 2
        if not packed or size > room:
            packed, room = [*packed, np.zeros(column.size, np.int64)], _MOST
        packed[-1] = packed[-1] * size + column.astype(np.int64) + 1
        room //= size
    return packed


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
