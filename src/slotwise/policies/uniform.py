"""Uniform: it shows a random display in every round and learns nothing. Policies that learn should lose less.

Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling", section 5.3.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels._click_model import Feedback
from slotwise.counts import CountArrays, empty, grown
from slotwise.jit import kernel
from slotwise.policies._common import choose_by_score, count_display

LEARNS = False  # displays do not depend on the counts
FEEDBACK = (Feedback.CLICKS, Feedback.PREFIX, Feedback.RATING)


class Params(NamedTuple):
    """No settings. Numba needs at least one field to infer a type."""

    unused: bool = False


class State(NamedTuple):
    """Counts, which the policy does not use, and the random scores."""

    counts: CountArrays
    theta: Floats
    kappa: Floats


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(empty(n_items, n_positions), np.zeros(n_items), np.zeros(n_positions))


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state for more items and positions."""
    return State(grown(state.counts, n_items, n_positions), np.zeros(n_items), np.zeros(n_positions))


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Random scores. All displays are equally likely."""
    for item in range(theta.size):
        theta[item] = rng.random()
    for position in range(kappa.size):
        kappa[position] = rng.random()


choose = choose_by_score(__name__)  # a random display; all are equally likely
update = count_display(__name__)
