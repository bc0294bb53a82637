"""CascadeUCB1: it shows the items with the largest upper confidence bounds, which are those of UCB1.

Kveton, Szepesvari, Wen and Ashkan 2015, "Cascading Bandits: Learning to Rank in the Cascade Model".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.jit import kernel
from slotwise.policies._observations import Observations, first_click, hoeffding_indices, no_observations, observe
from slotwise.policies._position_order import by_position


class Params(NamedTuple):
    """Settings."""

    c: float = 1.5  # the width of the bounds: sqrt(c log t / T)


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


class State(NamedTuple):
    """What visitors revealed of each item, and the upper bounds of the last round."""

    seen: Observations
    bounds: Floats
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(no_observations(n_items), np.zeros(n_items), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the items with the largest bounds, in decreasing order."""
    hoeffding_indices(state.seen, params.c, rng, state.bounds)
    arrange(state.bounds, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    observe(state.seen, display, clicks, first_click(clicks))
