"""CascadeLinUCB: upper confidence bounds for a cascade in which attraction is a linear function of features.

Zong, Ni, Sung, Ke, Wen and Kveton 2016, "Cascading Bandits for Large-Scale Recommendation Problems".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels._click_model import NO_FEATURES, ItemFeatures
from slotwise.jit import kernel
from slotwise.policies._linear_model import LinearModel, no_data, observe_cascade, upper_bounds
from slotwise.policies._position_order import by_position

NEEDS_FEATURES = True


class Params(NamedTuple):
    """Settings."""

    sigma: float = 0.5  # the standard deviation of a click, as the regression assumes it
    c: float = 1.0  # the width of the bounds, in standard deviations
    features: ItemFeatures = NO_FEATURES  # a simulation takes them from its click model


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if not 0.0 < params.sigma < math.inf:
        return f"sigma = {params.sigma!r} is not a number above 0"
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


class State(NamedTuple):
    """The regression, and the upper bounds of the last round."""

    model: LinearModel
    bounds: Floats
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(no_data(params.features.values.shape[1], 1.0), np.zeros(n_items), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the items with the largest bounds, in decreasing order."""
    upper_bounds(state.model, params.features.values, params.c, state.bounds)
    arrange(state.bounds, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    observe_cascade(state.model, params.features.values, display, clicks, params.sigma)
