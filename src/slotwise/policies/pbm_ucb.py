"""PBM-UCB: optimism, with a confidence bound on theta that knows how often an item can have been looked at.

Lagree, Vernade and Cappe 2016, "Multiple-Play Bandits in the Position-Based Model".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import add
from slotwise.inference.estimation.running_estimate import KappaSource, kappa_source_error, refresh
from slotwise.inference.estimation.svd import Fill
from slotwise.jit import kernel
from slotwise.policies._plug_in_kappa import State, begin, enlarged

_NEVER_SHOWN = 1e9  # above every bound


class Params(NamedTuple):
    """Settings."""

    model: Model  # the truth, of which only kappa is read, and only with kappa = oracle
    kappa: KappaSource = KappaSource.ORACLE
    fill: Fill = Fill.ONE
    epsilon: float = 0.0  # delta = (1 + epsilon) log t


def check(params: Params) -> str | None:
    """What is wrong with the settings, if anything."""
    if not 0.0 <= params.epsilon < math.inf:
        return f"epsilon = {params.epsilon!r} is not a number of at least 0"
    return kappa_source_error(params.kappa, params.model)


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Nothing known."""
    return begin(params.kappa, params.model, n_items, n_positions)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Room for more items and positions."""
    return enlarged(state, n_items, n_positions)


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """As good as every item can be, given its counts."""
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, state)
    _bound(params, state, rng, theta, kappa)


@kernel(inline=True)
def _bound(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """U_i = S_i / Vk_i + sqrt(V_i / Vk_i) sqrt(delta / (2 Vk_i)), Vk_i the looks to be expected."""
    counts, visible = state.counts, state.estimate.kappa
    item_clicks, clicks, skips = counts.item_clicks, counts.clicks, counts.skips
    delta = (1.0 + params.epsilon) * math.log(1.0 + counts.displays[0])
    for item in range(theta.size):
        shown, looks = 0.0, 0.0
        for position in range(visible.size):
            here = clicks[item, position] + skips[item, position]
            shown += here
            looks += visible[position] * here
        if looks > 0.0:
            theta[item] = (item_clicks[item] + math.sqrt(0.5 * shown * delta)) / looks
        else:
            theta[item] = _NEVER_SHOWN + rng.random()  # first of all, in random order
    for position in range(kappa.size):
        kappa[position] = visible[position]


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show what is best if every item is as good as it can be: `score`, then `arrange`."""
    # refreshed before any array is taken out of the state: a third of the time of so light a policy hangs on it
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, state)
    _bound(params, state, rng, state.theta, state.estimate.kappa)
    arrange(state.theta, state.estimate.kappa, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count one display and its clicks."""
    add(state.counts, display, clicks)
