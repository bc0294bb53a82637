"""A small plot for terminals."""

from collections.abc import Sequence

BLOCKS, ASCII = " ▁▂▃▄▅▆▇█", " .:-=+*##"  # nine heights of a cell, for terminals with and without Unicode


def plot(values: Sequence[float], level: float, width: int, height: int, unicode: bool = True) -> list[str]:
    """Rows of a bar chart with a dashed line at `level`. The top row is first. `values` are resampled to the width."""
    marks, dash = (BLOCKS, "╌") if unicode else (ASCII, "-")
    top = max([level, *values, 1e-12])
    columns = [value / top * height for value in _resample(values, width)]
    rows = []
    for row in range(height - 1, -1, -1):
        empty = dash if min(int(level / top * height), height - 1) == row else " "
        cells = [marks[min(max(round(8 * (column - row)), 0), 8)] for column in columns]
        rows.append("".join(empty if cell == " " else cell for cell in cells) or empty * width)
    return rows


def _resample(values: Sequence[float], width: int) -> list[float]:
    """One value for each column. If necessary, values are repeated or neighbours are averaged."""
    n = len(values)
    bins = [values[k * n // width : max((k + 1) * n // width, k * n // width + 1)] for k in range(width)]
    return [sum(neighbours) / len(neighbours) for neighbours in bins] if n else []
