"""The rounds of Rank1Elim: it compares rows and columns in stages, and eliminates those that are worse than another.

Rows are items, and columns are positions. In a sweep, every remaining row is shown at one random position, and then one
random item is shown at every remaining position.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.jit import kernel


class Side(NamedTuple):
    """The rows, or the columns."""

    stands_for: Ints  # itself, or the one that replaced it when it was eliminated
    clicks: Floats
    upper: Floats
    lower: Floats


class Elimination(NamedTuple):
    """Where the algorithm is."""

    rows: Side
    columns: Side
    at: Ints  # see the constants


STAGE, SWEEPS, CURSOR, PARTNER = range(4)  # stage; sweeps so far; the cell in this sweep; its random column or row


@kernel
def start(n_items: int, n_positions: int) -> Elimination:
    """The first round."""
    at = np.zeros(4, np.int64)
    at[PARTNER] = EMPTY
    return Elimination(
        Side(np.arange(n_items), np.zeros(n_items), np.zeros(n_items), np.zeros(n_items)),
        Side(np.arange(n_positions), np.zeros(n_positions), np.zeros(n_positions), np.zeros(n_positions)),
        at,
    )


@kernel
def show_cell(elimination: Elimination, rng: np.random.Generator, display: Ints) -> None:
    """Fill the display with the next cell of the sweep."""
    rows, columns, at = elimination.rows.stands_for, elimination.columns.stands_for, elimination.at
    cursor, is_row = at[CURSOR], at[CURSOR] < rows.size
    if at[PARTNER] == EMPTY:  # all rows of a sweep meet the same column, and all columns the same row
        at[PARTNER] = columns[int(rng.random() * columns.size)] if is_row else rows[int(rng.random() * rows.size)]
    for position in range(display.size):
        display[position] = EMPTY
    if is_row:
        display[at[PARTNER]] = cursor
    else:
        display[cursor - rows.size] = at[PARTNER]


@kernel
def learn_cell(elimination: Elimination, display: Ints, clicks: Ints) -> None:
    """Count the click, and move to the next remaining cell. After the last one, a new sweep begins."""
    rows, columns, at = elimination.rows, elimination.columns, elimination.at
    n_items, n_positions = rows.clicks.size, columns.clicks.size
    clicked = 0.0
    for position in range(n_positions):
        if display[position] != EMPTY and clicks[position] > 0:
            clicked = 1.0
    cursor = at[CURSOR]
    was_row = cursor < n_items
    if was_row:
        rows.clicks[cursor] += clicked
    else:
        columns.clicks[cursor - n_items] += clicked
    cursor = _next_remaining(rows.stands_for, columns.stands_for, cursor + 1)
    if was_row and cursor >= n_items:
        at[PARTNER] = EMPTY
    if cursor == n_items + n_positions:
        at[SWEEPS] += 1
        at[PARTNER] = EMPTY
        cursor = _next_remaining(rows.stands_for, columns.stands_for, 0)
    at[CURSOR] = cursor


@kernel
def _next_remaining(rows: Ints, columns: Ints, cursor: int) -> int:
    """The first row or column from `cursor` on that is not eliminated. Columns have numbers after those of rows."""
    while cursor < rows.size and rows[cursor] != cursor:
        cursor += 1
    while rows.size <= cursor < rows.size + columns.size and columns[cursor - rows.size] != cursor - rows.size:
        cursor += 1
    return cursor


@kernel
def begins_sweep(elimination: Elimination) -> bool:
    """Whether the next cell is the first one of a sweep."""
    return elimination.at[CURSOR] == _next_remaining(elimination.rows.stands_for, elimination.columns.stands_for, 0)  # type: ignore[no-any-return]


@kernel
def eliminate(side: Side) -> None:
    """Replace each row whose upper bound is at most the largest lower bound by the row that has this bound."""
    best = side.stands_for[0]
    for k in range(side.stands_for.size):
        if side.stands_for[k] == k and side.lower[k] > side.lower[best]:
            best = k
    for k in range(side.stands_for.size):
        if side.upper[side.stands_for[k]] <= side.lower[best]:
            side.stands_for[k] = best


@kernel
def observations_needed(factor: float, stage: int, horizon: float) -> float:
    """n_l = ceil(factor 4^l log n)."""
    return math.ceil(factor * 4.0**stage * math.log(horizon))


@kernel
def next_stage(elimination: Elimination) -> None:
    """Eliminate rows and columns by their bounds, and begin the next stage."""
    eliminate(elimination.rows)
    eliminate(elimination.columns)
    elimination.at[STAGE] += 1
    elimination.at[CURSOR] = _next_remaining(elimination.rows.stands_for, elimination.columns.stands_for, 0)
