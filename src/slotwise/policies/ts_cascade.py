"""TS-Cascade: Thompson sampling for a cascade with one normal number for all items.

Cheung, Tan and Zhong 2019, "A Thompson Sampling Algorithm for Cascading Bandits", Algorithm 1.
"""

import math
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
    """What visitors revealed of each item, and the scores of the last round."""

    seen: Observations
    scores: Floats
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(no_observations(n_items), np.zeros(n_items), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the items with the largest scores w_i + z sigma_i."""
    attracted, looks, scores = state.seen.attracted, state.seen.looks, state.scores
    z = rng.standard_normal()  # the same for all items
    log_t = math.log(2.0 + state.seen.rounds[0])  # log(t + 1) in round t
    for item in range(scores.size):
        mean = attracted[item] / max(looks[item], 1.0)
        level = log_t / (looks[item] + 1.0)
        scores[item] = mean + z * max(math.sqrt(mean * (1.0 - mean) * level), level)
    arrange(scores, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    observe(state.seen, display, clicks, first_click(clicks))
