"""CascadeTS with Beta posteriors: Thompson sampling for a cascade.

The Beta version of Cheung, Tan and Zhong 2019, "A Thompson Sampling Algorithm for Cascading Bandits".
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.jit import kernel
from slotwise.policies._observations import Observations, first_click, no_observations, observe
from slotwise.policies._position_order import by_position


class Params(NamedTuple):
    """No settings. Numba needs at least one field to infer a type."""

    unused: bool = False


class State(NamedTuple):
    """What visitors revealed of each item, and the draws of the last round."""

    seen: Observations
    draws: Floats
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(no_observations(n_items), np.zeros(n_items), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Draw the attraction of each item from its posterior, and show the items with the largest draws."""
    attracted, looks, draws = state.seen.attracted, state.seen.looks, state.draws
    for item in range(draws.size):
        draws[item] = rng.beta(1.0 + attracted[item], 1.0 + looks[item] - attracted[item])
    arrange(draws, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    observe(state.seen, display, clicks, first_click(clicks))
