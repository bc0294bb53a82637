"""A linear program that grows by one row at a time: the dual simplex method on a dense dictionary.

Minimise cost . q over q >= 0 subject to rows . q >= needs. Each basic variable is written in the nonbasic ones, which
are all 0: basic = value + body . nonbasic, and the objective likewise, in row 0. While no cost is negative the
dictionary is dual feasible, and a new row leaves it so (Chvátal 1983, "Linear Programming", chapters 2 and 10).
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

PIVOTS_PER_ROW = 20
SMALLEST_PIVOT = 1e-9  # relative to the largest number in the row
SHORTFALL = 1e-9  # how much of a row's need may be missing
BELOW_ZERO = 1e-13  # how far a variable may fall below 0, relative to the largest one


class Dictionary(NamedTuple):
    """Variables are numbered: first the n of the program, then n + r, the surplus of the row that came as r, from 1."""

    body: Floats  # rows x n+1: row 0 is the objective, the last column the values
    need: Floats  # for each row as it came: what it asks for
    basic: Ints  # rows
    nonbasic: Ints  # n


@kernel
def dictionary(n_variables: int, most_rows: int) -> Dictionary:
    """No rows yet, and no costs."""
    nonbasic = np.empty(n_variables, np.int64)
    for k in range(n_variables):
        nonbasic[k] = k
    return Dictionary(
        np.zeros((most_rows + 1, n_variables + 1)),
        np.zeros(most_rows + 1),
        np.zeros(most_rows + 1, np.int64),
        nonbasic,
    )


@kernel
def add_row(table: Dictionary, at: int, row: Floats, need: float) -> None:
    """Ask for row . q >= need, as row `at`, one more than there are; both are divided by the row's largest number."""
    body, basic, nonbasic, n_variables = table.body, table.basic, table.nonbasic, row.size
    largest = 1e-300
    for k in range(n_variables):
        largest = max(largest, abs(row[k]))
    for j in range(n_variables):
        body[at, j] = row[nonbasic[j]] / largest if nonbasic[j] < n_variables else 0.0
    body[at, n_variables] = -need / largest
    for other in range(1, at):
        if basic[other] < n_variables and row[basic[other]] != 0.0:
            share = row[basic[other]] / largest
            for j in range(n_variables + 1):
                body[at, j] += share * body[other, j]
    basic[at] = n_variables + at
    table.need[at] = need / largest


@kernel
def pivot(table: Dictionary, rows: int, row: int, column: int) -> None:
    """Let the variable of `column` enter for the one of `row`."""
    body = table.body
    width = body.shape[1]
    inverse = 1.0 / body[row, column]
    for j in range(width):
        body[row, j] *= -inverse
    body[row, column] = inverse
    for other in range(rows + 1):
        factor = body[other, column]
        if other != row and factor != 0.0:
            body[other, column] = 0.0
            for j in range(width):
                body[other, j] += factor * body[row, j]
    leaving = table.basic[row]
    table.basic[row] = table.nonbasic[column]
    table.nonbasic[column] = leaving


@kernel
def solve(table: Dictionary, rows: int) -> bool:
    """Pivot until no value is negative; False when that was not reached."""
    for _ in range(PIVOTS_PER_ROW * (rows + 1)):
        row = _most_negative(table, rows)
        if row == 0:
            return True
        column = _entering(table.body, row)
        if column < 0:
            return False  # no q >= 0 meets this row
        pivot(table, rows, row, column)
    return False


@kernel
def _most_negative(table: Dictionary, rows: int) -> int:
    """The row that is furthest below what it may be, 0 if none is."""
    body, basic, need, n_variables = table.body, table.basic, table.need, table.nonbasic.size
    largest = 1e-300
    for row in range(1, rows + 1):
        if basic[row] < n_variables:
            largest = max(largest, abs(body[row, n_variables]))
    worst, found = -1.0, 0
    for row in range(1, rows + 1):
        asked = need[basic[row] - n_variables] if basic[row] >= n_variables else 0.0
        unit = SHORTFALL * asked if asked > 0.0 else BELOW_ZERO * largest
        if body[row, n_variables] / unit < worst:
            worst, found = body[row, n_variables] / unit, row
    return found


@kernel
def _entering(body: Floats, row: int) -> int:
    """The column that keeps every cost from turning negative; of equals, the one with the largest pivot."""
    n_variables = body.shape[1] - 1
    largest = 0.0
    for j in range(n_variables):
        largest = max(largest, abs(body[row, j]))
    best, found = np.inf, -1
    for j in range(n_variables):
        if body[row, j] > SMALLEST_PIVOT * largest:
            ratio = max(body[0, j], 0.0) / body[row, j]
            if ratio < best or (ratio == best and body[row, j] > body[row, found]):
                best, found = ratio, j
    return found
