"""CUCB: an upper confidence bound for every item at every position, and the display with the largest sum of bounds.

Chen, Wang and Yuan 2013, "Combinatorial Multi-Armed Bandit: General Framework and Applications".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies._assignment import AssignmentSpace, assign, assignment_space
from slotwise.policies._common import count_display

_UNOBSERVED = 2.0  # above every bound


class Params(NamedTuple):
    """Settings."""

    c: float = 1.5  # the width of the bounds: sqrt(c log t / V)


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


class State(NamedTuple):
    """Counts, the bounds of the last round, and work space."""

    counts: CountArrays
    bounds: Floats  # N x L
    space: AssignmentSpace


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(empty(n_items, n_positions), np.zeros((n_items, n_positions)), assignment_space(n_items, n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the assignment with the largest sum of U_il = min(1, S_il / V_il + sqrt(c log t / V_il))."""
    clicks, skips, bounds = state.counts.clicks, state.counts.skips, state.bounds
    n_items, n_positions = bounds.shape
    width = params.c * math.log(1.0 + state.counts.displays[0])
    for item in range(n_items):
        for position in range(n_positions):
            views = clicks[item, position] + skips[item, position]
            if views > 0.0:
                bounds[item, position] = min(1.0, clicks[item, position] / views + math.sqrt(width / views))
            else:
                bounds[item, position] = _UNOBSERVED + rng.random()  # in random order
    assign(bounds, state.space, display)


update = count_display(__name__)
