"""Solve a linear program to which rows are added one at a time: the dual simplex method on a dense dictionary.

The program minimises cost . q over q >= 0 subject to rows . q >= limits. Each basic variable is expressed in the
nonbasic variables, which are all 0: basic = value + body . nonbasic. Row 0 expresses the objective in the same way. As
long as no cost is negative, the dictionary is dual feasible. A new row keeps it dual feasible (Chvátal 1983, "Linear
Programming", chapters 2 and 10).
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

PIVOTS_PER_ROW = 20
SMALLEST_PIVOT = 1e-9  # relative to the largest number in the row
ROW_TOLERANCE = 1e-9  # by how much a row may be below its limit, relative to the limit
ZERO_TOLERANCE = 1e-13  # by how much a variable may be below 0, relative to the largest variable


class Dictionary(NamedTuple):
    """A table of rows. Variables 0 to n - 1 belong to the program. Variable n + r is the surplus of row r >= 1."""

    body: Floats  # rows x n+1: row 0 is the objective, the last column the values
    limit: Floats  # of each row, in the order in which rows were added
    basic: Ints  # rows
    nonbasic: Ints  # n


@kernel
def dictionary(n_variables: int, most_rows: int) -> Dictionary:
    """A dictionary without rows or costs."""
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
def add_row(table: Dictionary, at: int, row: Floats, limit: float) -> None:
    """Add row . q >= limit as row `at`, which is the next free index. Both sides are divided by the largest number."""
    body, basic, nonbasic, n_variables = table.body, table.basic, table.nonbasic, row.size
    largest = 1e-300
    for k in range(n_variables):
        largest = max(largest, abs(row[k]))
    for j in range(n_variables):
        body[at, j] = row[nonbasic[j]] / largest if nonbasic[j] < n_variables else 0.0
    body[at, n_variables] = -limit / largest
    for other in range(1, at):
        if basic[other] < n_variables and row[basic[other]] != 0.0:
            share = row[basic[other]] / largest
            for j in range(n_variables + 1):
                body[at, j] += share * body[other, j]
    basic[at] = n_variables + at
    table.limit[at] = limit / largest


@kernel
def pivot(table: Dictionary, rows: int, row: int, column: int) -> None:
    """Let the nonbasic variable of `column` enter the basis, and the basic variable of `row` leave it."""
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
    """Pivot until no value is negative. Returns False if the program is infeasible or needs too many pivots."""
    for _ in range(PIVOTS_PER_ROW * (rows + 1)):
        row = _most_negative(table, rows)
        if row == 0:
            return True
        column = _entering(table.body, row)
        if column < 0:
            return False  # no q >= 0 satisfies this row
        pivot(table, rows, row, column)
    return False


@kernel
def _most_negative(table: Dictionary, rows: int) -> int:
    """The row whose value is furthest below its tolerance, or 0 if no row is below its tolerance."""
    body, basic, limits, n_variables = table.body, table.basic, table.limit, table.nonbasic.size
    largest = 1e-300
    for row in range(1, rows + 1):
        if basic[row] < n_variables:
            largest = max(largest, abs(body[row, n_variables]))
    worst, worst_row = -1.0, 0
    for row in range(1, rows + 1):
        limit = limits[basic[row] - n_variables] if basic[row] >= n_variables else 0.0
        unit = ROW_TOLERANCE * limit if limit > 0.0 else ZERO_TOLERANCE * largest
        if body[row, n_variables] / unit < worst:
            worst, worst_row = body[row, n_variables] / unit, row
    return worst_row


@kernel
def _entering(body: Floats, row: int) -> int:
    """The column that can enter while every cost stays nonnegative. A tie goes to the column with the largest pivot."""
    n_variables = body.shape[1] - 1
    largest = 0.0
    for j in range(n_variables):
        largest = max(largest, abs(body[row, j]))
    least, entering = np.inf, -1
    for j in range(n_variables):
        if body[row, j] > SMALLEST_PIVOT * largest:
            ratio = max(body[0, j], 0.0) / body[row, j]
            if ratio < least or (ratio == least and body[row, j] > body[row, entering]):
                least, entering = ratio, j
    return entering
