"""CascadeLinTS: Thompson sampling for a cascade in which attraction is a linear function of features.

Zong, Ni, Sung, Ke, Wen and Kveton 2016, "Cascading Bandits for Large-Scale Recommendation Problems".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels._click_model import NO_FEATURES, ItemFeatures
from slotwise.jit import kernel
from slotwise.policies._linear_model import LinearModel, draw_weights, no_data, observe_cascade, scores
from slotwise.policies._position_order import by_position

NEEDS_FEATURES = True


class Params(NamedTuple):
    """Settings."""

    sigma: float = 0.5  # the standard deviation of a click, as the regression assumes it
    features: ItemFeatures = NO_FEATURES  # a simulation takes them from its click model


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 0.0 < params.sigma < math.inf else f"sigma = {params.sigma!r} is not a number above 0"


class State(NamedTuple):
    """The regression, and the draws of the last round."""

    model: LinearModel
    weights: Floats
    draws: Floats
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round. The prior of the weights is standard normal."""
    n_features = params.features.values.shape[1]
    return State(no_data(n_features, 1.0), np.zeros(n_features), np.zeros(n_items), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Draw the weights of the features, and show the items that are the most attractive under this draw."""
    draw_weights(state.model, rng, state.weights)
    scores(params.features.values, state.weights, state.draws)
    arrange(state.draws, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    observe_cascade(state.model, params.features.values, display, clicks, params.sigma)
