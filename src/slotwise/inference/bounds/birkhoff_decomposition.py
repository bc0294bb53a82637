"""Decompose required display counts of item-position pairs into displays (Birkhoff 1946, von Neumann 1953).

A matrix whose rows and columns all have the same sum is a weighted sum of permutation matrices. Here the diagonal (item
l at position l, the best display) is free. It is chosen so large that each permutation differs from the best display
along one cycle only. Then no display mixes pairs that still need displays with pairs that have enough. An item that
takes a position displaces the item of that position to another position, or out of the display. So the required counts
are a flow from position to position, and the cycles are the cycles of this flow.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

ROUNDING = 1e-12  # relative to the largest required count; smaller counts are treated as 0


class Flow(NamedTuple):
    """The required counts that no display accounts for yet, and the path along which a cycle is searched."""

    required: Floats  # N x L
    leaving: Floats  # L: how often the item of the position leaves the display
    items: Ints  # L: the items along the path
    positions: Ints  # L: the positions that these items take


@kernel
def max_displays(n_items: int, n_positions: int) -> int:
    """The largest number of displays that `decompose` can return. Each display sets a required count to 0."""
    return (n_items + 1) * n_positions


@kernel
def decompose(required: Floats, displays: Ints, weights: Floats) -> int:
    """Decompose `required` (N x L) into displays. Returns the number of displays.

    `displays` and `weights` are filled so that the weighted displays sum to `required` off the diagonal. An item of the
    best display may not be required elsewhere more often than other items are required at its position. `required` is
    overwritten.
    """
    n_items, n_positions = required.shape
    leaving, least = np.zeros(n_positions), 0.0
    for item in range(n_items):
        for position in range(n_positions):
            least = max(least, ROUNDING * required[item, position])
            if item != position:
                leaving[position] += required[item, position]
                if item < n_positions:
                    leaving[item] -= required[item, position]
    items, positions = np.empty(n_positions, np.int64), np.empty(n_positions, np.int64)
    flow = Flow(required, leaving, items, positions)
    count = 0
    for k in range(n_items):
        # Items from outside the best display come first. Their flow ends outside, and the remaining flow is closed.
        item = (n_positions + k) % n_items
        for position in range(n_positions):
            while item != position and required[item, position] > least and count < weights.size:
                items[0], positions[0] = item, position
                first, end = _find_cycle(flow, least)
                if first < end:
                    weights[count] = _subtract_cycle(flow, first, end, displays[count])
                    count += 1
    return count


@kernel
def _find_cycle(flow: Flow, least: float) -> tuple[int, int]:
    """Follow the flow from items[0] at positions[0] until a cycle closes. Returns the cycle as path[first:end].

    If rounding left nothing to follow, the last count is a rounding error too. It is set to 0, and the cycle is empty.
    """
    required, leaving, items, positions = flow.required, flow.leaving, flow.items, flow.positions
    n_positions = leaving.size
    for steps in range(1, n_positions + 1):
        displaced = positions[steps - 1]
        for k in range(steps):
            if items[k] == displaced:
                return k, steps
        if items[0] >= n_positions and leaving[displaced] > least:
            return 0, steps
        onward = -1
        for position in range(n_positions):
            if position != displaced and required[displaced, position] > least:
                onward = position
        if onward < 0 or steps == n_positions:
            required[items[steps - 1], displaced] = 0.0
            break
        items[steps], positions[steps] = displaced, onward
    return 0, 0


@kernel
def _subtract_cycle(flow: Flow, first: int, end: int, display: Ints) -> float:
    """Fill `display` with the best display, changed along the cycle.

    Subtract the display from the flow with the largest possible weight, and return the weight.
    """
    required, leaving, items, positions = flow.required, flow.leaving, flow.items, flow.positions
    n_positions = leaving.size
    from_outside = items[first] >= n_positions
    weight = leaving[positions[end - 1]] if from_outside else np.inf
    for position in range(n_positions):
        display[position] = position
    for k in range(first, end):
        weight = min(weight, required[items[k], positions[k]])
        display[positions[k]] = items[k]
    for k in range(first, end):
        required[items[k], positions[k]] -= weight
    if from_outside:
        leaving[positions[end - 1]] -= weight
    return weight
