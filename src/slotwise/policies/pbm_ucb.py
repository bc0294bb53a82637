"""PBM-UCB: optimism, with an upper confidence bound of theta that accounts for the visibility of an item's displays.

Lagree, Vernade and Cappe 2016, "Multiple-Play Bandits in the Position-Based Model".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.copying import copy
from slotwise.inference.estimation.running_estimate import KappaSource, kappa_source_error, refresh
from slotwise.inference.estimation.svd import PLUG_IN_PSEUDO_COUNT, Fill
from slotwise.jit import kernel
from slotwise.policies._common import count_display
from slotwise.policies._ensemble_source import ScoreEnsemble
from slotwise.policies._plug_in_kappa import State, grow_with_kappa, init_with_kappa

_UNOBSERVED = 1e9  # above every bound


class Params(NamedTuple):
    """Settings."""

    model: Model  # the true model; only with kappa = oracle, the policy reads its kappa
    kappa: KappaSource = KappaSource.ORACLE
    fill: Fill = Fill.ONE
    epsilon: float = 0.0  # the confidence level: delta = (1 + epsilon) log t


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if not 0.0 <= params.epsilon < math.inf:
        return f"epsilon = {params.epsilon!r} is not a number of at least 0"
    return kappa_source_error(params.kappa, params.model)


init = init_with_kappa(__name__)
grow = grow_with_kappa(__name__)


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """An upper confidence bound for every item."""
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, PLUG_IN_PSEUDO_COUNT, state)
    _upper_bounds(params, state, rng, theta, kappa)


@kernel(inline=True)
def _upper_bounds(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """U_i = S_i / Vk_i + sqrt(V_i / Vk_i) sqrt(delta / (2 Vk_i)), where Vk_i is the expected number of views."""
    counts, visibility = state.counts, state.estimate.kappa
    item_clicks, clicks, skips = counts.item_clicks, counts.clicks, counts.skips
    delta = (1.0 + params.epsilon) * math.log(1.0 + counts.displays[0])
    for item in range(theta.size):
        displays, views = 0.0, 0.0
        for position in range(visibility.size):
            here = clicks[item, position] + skips[item, position]
            displays += here
            views += visibility[position] * here
        if views > 0.0:
            theta[item] = (item_clicks[item] + math.sqrt(0.5 * displays * delta)) / views
        else:
            theta[item] = _UNOBSERVED + rng.random()  # shown first, in random order
    copy(visibility, kappa)


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the best display under the upper bounds."""
    # refresh before taking any array out of the state; in so light a policy this saves a third of the time
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, PLUG_IN_PSEUDO_COUNT, state)
    _upper_bounds(params, state, rng, state.theta, state.estimate.kappa)
    arrange(state.theta, state.estimate.kappa, display)


update = count_display(__name__)
ENSEMBLE = ScoreEnsemble(__name__, draws=8)  # draws differ only in the order of items that were never shown
