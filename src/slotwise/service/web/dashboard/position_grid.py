"""Where positions are drawn. A page does not say how it looks, so the names of its positions decide.

If all names have the form ROW-COLUMN, as in `top-left` or `2-3`, those with the same row stand side by side, and equal
columns stand below each other. Otherwise positions follow each other in the order of the layout, several in a row.
"""

from collections.abc import Sequence
from typing import NamedTuple

_COLUMNS = ("far-left", "left", "middle", "center", "centre", "right", "far-right")
MOST_COLUMNS = 6


class GridCell(NamedTuple):
    """The row and column of a position, from 1 on."""

    row: int
    column: int


class PositionGrid(NamedTuple):
    """The cells of the positions of a layout. `is_named` says whether the names gave them."""

    columns: int
    cells: dict[str, GridCell]
    is_named: bool


def position_grid(positions: Sequence[str]) -> PositionGrid:
    """Where each position of a layout is drawn."""
    parts = [name.rpartition("-") for name in positions]
    rows = list(dict.fromkeys(row for row, _, _ in parts))
    columns = _column_order([column for _, _, column in parts])
    is_named = all(row and column for row, _, column in parts) and 1 < len(rows) < len(positions)
    if is_named and len(columns) <= MOST_COLUMNS:
        cells = {
            name: GridCell(rows.index(row) + 1, columns.index(column) + 1)
            for name, (row, _, column) in zip(positions, parts, strict=True)
        }
        return PositionGrid(len(columns), cells, True)
    width = _width(len(positions))
    cells = {name: GridCell(k // width + 1, k % width + 1) for k, name in enumerate(positions)}
    return PositionGrid(width, cells, False)


def _column_order(names: list[str]) -> list[str]:
    """The different columns: from left to right if the names say so, or else in the order in which they come."""
    different = list(dict.fromkeys(names))
    if all(name in _COLUMNS for name in different):
        return sorted(different, key=_COLUMNS.index)
    return different


def _width(n_positions: int) -> int:
    """The number of columns for which the rows are nearly full."""
    if n_positions <= 4:
        return max(n_positions, 1)
    return min((5, 4, 3), key=lambda width: (-n_positions % width, -width))
