"""Where positions are drawn, by their names."""

import pytest

from slotwise.service.web.dashboard.position_grid import GridCell, position_grid


def test_names_of_rows_and_columns_place_positions() -> None:
    grid = position_grid(["top-right", "top-left", "bottom-middle"])
    assert grid.is_named
    assert grid.columns == 3
    assert grid.cells == {"top-left": GridCell(1, 1), "top-right": GridCell(1, 3), "bottom-middle": GridCell(2, 2)}


def test_other_columns_keep_the_order_of_the_layout() -> None:
    grid = position_grid(["1-b", "1-a", "2-a"])
    assert grid.cells == {"1-b": GridCell(1, 1), "1-a": GridCell(1, 2), "2-a": GridCell(2, 2)}


@pytest.mark.parametrize(
    "positions",
    [["hero", "left", "right"], ["hero", "top-left", "top-right"], [f"place-{k}" for k in range(20)], ["only"]],
)
def test_other_names_follow_each_other(positions: list[str]) -> None:
    grid = position_grid(positions)
    assert not grid.is_named
    cells = list(grid.cells.values())
    assert len(set(cells)) == len(positions)
    assert cells == sorted(cells)
    assert max(cell.column for cell in cells) == grid.columns
