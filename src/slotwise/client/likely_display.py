"""Choose one display from the probabilities of each item at each position."""

from collections.abc import Mapping

import numpy as np


def likely_display(probabilities: Mapping[tuple[str, str], float]) -> dict[str, str]:
    """The display {position: item} with the largest sum of probabilities. Its items are all different.

    The most probable item of each position would not always give a valid display. While little is known, one item is
    often the most probable one at several positions, but a display has no item twice.

    >>> likely_display({("top", "hat"): 0.5, ("top", "tie"): 0.4, ("left", "hat"): 0.4, ("left", "tie"): 0.1})
    {'top': 'tie', 'left': 'hat'}
    """
    from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped] # slow to load

    positions = list(dict.fromkeys(position for position, _ in probabilities))
    items = list(dict.fromkeys(item for _, item in probabilities))
    matrix = np.array([[probabilities.get((position, item), 0.0) for item in items] for position in positions])
    if not matrix.size:
        return {}
    rows, columns = linear_sum_assignment(matrix, maximize=True)
    return {positions[row]: items[column] for row, column in zip(rows, columns, strict=True) if matrix[row, column]}
