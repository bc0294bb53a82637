"""C3-UCB: upper confidence bounds for a cascade with features, and clicks that are worth less at later positions.

Li, Wang, Zhang and Chen 2016, "Contextual Combinatorial Cascading Bandits".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Ints
from slotwise.clickmodels._click_model import NO_FEATURES, ItemFeatures
from slotwise.jit import kernel
from slotwise.policies._linear_model import fit, log_determinant, no_data, observe_item, upper_bounds
from slotwise.policies._observations import first_click
from slotwise.policies._position_order import by_position
from slotwise.policies.cascade_lin_ucb import State

NEEDS_FEATURES = True


class Params(NamedTuple):
    """Settings."""

    discount: float = 1.0  # a click is worth this factor less at each next position: gamma_k = discount^k
    ridge: float = 1.0  # lambda, the precision of the prior of the weights
    delta: float = 0.05  # the bounds hold at all times with probability 1 - delta
    features: ItemFeatures = NO_FEATURES  # a simulation takes them from its click model


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if not 0.0 < params.discount <= 1.0:
        return f"discount = {params.discount!r} is not above 0 and at most 1"
    if not 0.0 < params.ridge < math.inf:
        return f"ridge = {params.ridge!r} is not a number above 0"
    return None if 0.0 < params.delta < 1.0 else f"delta = {params.delta!r} is not between 0 and 1"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    model = no_data(params.features.values.shape[1], params.ridge)
    return State(model, np.zeros(n_items), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the items with the largest bounds, in decreasing order of beta_t standard deviations."""
    growth = log_determinant(state.model) - state.model.sums.size * math.log(params.ridge)
    beta = math.sqrt(growth - 2.0 * math.log(params.delta)) + math.sqrt(params.ridge)
    upper_bounds(state.model, params.features.values, beta, state.bounds)
    arrange(state.bounds, state.order, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click. Position k has the weight gamma_k^2 in the regression."""
    weight = 1.0
    for position in range(first_click(clicks) + 1):
        clicked = 1.0 if clicks[position] > 0 else 0.0
        observe_item(state.model, params.features.values, display[position], 1.0, weight, clicked)
        weight *= params.discount * params.discount
    fit(state.model)
