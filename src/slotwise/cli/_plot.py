"""A small plot for terminals."""

from collections.abc import Sequence

BLOCKS, LETTERS = " ▁▂▃▄▅▆▇█", " .:-=+*##"  # for terminals that know Unicode, and for others


def plot(values: Sequence[float], level: float, width: int, height: int, unicode: bool = True) -> list[str]:
    """Columns from 0 up, stretched to the width, from the top row down; a dashed line at `level`."""
    marks, dash = (BLOCKS, "╌") if unicode else (LETTERS, "-")
    top = max([level, *values, 1e-12])
    columns = [value / top * height for value in _stretched(values, width)]
    rows = []
    for row in range(height - 1, -1, -1):
        empty = dash if min(int(level / top * height), height - 1) == row else " "
        cells = [marks[min(max(round(8 * (column - row)), 0), 8)] for column in columns]
        rows.append("".join(empty if cell == " " else cell for cell in cells) or empty * width)
    return rows


def _stretched(values: Sequence[float], width: int) -> list[float]:
    """As many values as there are columns: repeated, or the mean of neighbours."""
    n = len(values)
    parts = [values[k * n // width : max((k + 1) * n // width, k * n // width + 1)] for k in range(width)]
    return [sum(part) / len(part) for part in parts] if n else []
