"""Displays that together show each item at each position as often as asked (Birkhoff 1946, von Neumann 1953).

A matrix whose rows and columns all have the same sum is a sum of permutation matrices, each with a weight. Here the
diagonal, item l at position l of the best display, may be as large as it likes. So it is taken large enough for each
permutation to differ from the best display along one cycle only: no display then mixes what is still to be learnt with
what has been. An item that takes a position pushes the item of that position on, to another position or out: the
numbers asked for are a flow from position to position, and the cycles are those of the flow.
"""

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

ROUNDING = 1e-12  # of the largest number asked for


@kernel
def most_displays(n_items: int, n_positions: int) -> int:
    """How many displays `split` can return: each takes out at least one number, and there are not more of them."""
    return (n_items + 1) * n_positions


@kernel
def split(asked: Floats, displays: Ints, weights: Floats) -> int:
    """Fill `displays` and `weights` so that they sum to `asked` (N x L) off the diagonal; the number of displays.

    No item of the best display may be asked for elsewhere more often than others are at its position. `asked` is
    used up.
    """
    n_items, n_positions = asked.shape
    leaving, least = np.zeros(n_positions), 0.0
    for item in range(n_items):
        for position in range(n_positions):
            least = max(least, ROUNDING * asked[item, position])
            if item != position:
                leaving[position] += asked[item, position]
                if item < n_positions:
                    leaving[item] -= asked[item, position]
    items, positions = np.empty(n_positions, np.int64), np.empty(n_positions, np.int64)
    found = 0
    for k in range(n_items):
        item = (n_positions + k) % n_items  # those from outside first: their flow ends outside, the rest is closed
        for position in range(n_positions):
            while item != position and asked[item, position] > least and found < weights.size:
                items[0], positions[0] = item, position
                first, end = _walk(asked, leaving, least, items, positions)
                if first < end:
                    weights[found] = _take_out(asked, leaving, items, positions, first, end, displays[found])
                    found += 1
    return found


@kernel
def _walk(asked: Floats, leaving: Floats, least: float, items: Ints, positions: Ints) -> tuple[int, int]:
    """Follow the flow from items[0] at positions[0] until it closes; the cycle's first step and the one after its last.

    Where rounding has left nothing to follow, the last step is rounding too: it is set to 0, and there is no cycle.
    """
    n_positions = leaving.size
    for steps in range(1, n_positions + 1):
        pushed = positions[steps - 1]
        for k in range(steps):
            if items[k] == pushed:
                return k, steps
        if items[0] >= n_positions and leaving[pushed] > least:
            return 0, steps
        onward = -1
        for position in range(n_positions):
            if position != pushed and asked[pushed, position] > least:
                onward = position
        if onward < 0 or steps == n_positions:
            asked[items[steps - 1], pushed] = 0.0
            break
        items[steps], positions[steps] = pushed, onward
    return 0, 0


@kernel
def _take_out(
    asked: Floats, leaving: Floats, items: Ints, positions: Ints, first: int, end: int, display: Ints
) -> float:
    """Fill `display` with the best one changed along the cycle, and take as much of it as there is; how much."""
    n_positions = leaving.size
    from_outside = items[first] >= n_positions
    weight = leaving[positions[end - 1]] if from_outside else np.inf
    for position in range(n_positions):
        display[position] = position
    for k in range(first, end):
        weight = min(weight, asked[items[k], positions[k]])
        display[positions[k]] = items[k]
    for k in range(first, end):
        asked[items[k], positions[k]] -= weight
    if from_outside:
        leaving[positions[end - 1]] -= weight
    return weight
