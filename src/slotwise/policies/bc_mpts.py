"""BC-MPTS: Thompson sampling with a Beta posterior that is corrected for the visibility of an item's displays.

Komiyama, Honda and Nakagawa 2015, "Optimal Regret Analysis of Thompson Sampling in Stochastic Multi-armed Bandit
Problem with Multiple Plays", as the PB-MHB paper uses it: its Eq. 7.
"""

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.inference.estimation.running_estimate import KappaSource, refresh
from slotwise.inference.estimation.svd import PLUG_IN_PSEUDO_COUNT
from slotwise.jit import kernel
from slotwise.policies._plug_in_kappa import Params, State, check, choose_with_kappa, grow, init, update

__all__ = ["Params", "State", "check", "choose", "grow", "init", "score", "update"]


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw theta from its corrected Beta posterior given kappa (Eq. 7)."""
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, PLUG_IN_PSEUDO_COUNT, state)
    counts, estimate = state.counts, state.estimate
    visibility, item_clicks, clicks, skips = estimate.kappa, counts.item_clicks, counts.clicks, counts.skips
    for item in range(theta.size):
        views = 0.0  # N^pseudo: the expected number of views of the item
        for position in range(visibility.size):
            views += visibility[position] * (clicks[item, position] + skips[item, position])
        # clicks can exceed the expected views, so the difference is clamped, but only after summing over positions
        theta[item] = rng.beta(item_clicks[item] + 1.0, max(views - item_clicks[item], 0.0) + 1.0)
    copy(visibility, kappa)


choose = choose_with_kappa(__name__)  # the best display under the draw
