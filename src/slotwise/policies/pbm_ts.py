"""PBM-TS: Thompson sampling with theta drawn from its exact posterior given kappa.

Lagree, Vernade and Cappe 2016, "Multiple-Play Bandits in the Position-Based Model"; Eq. 5 and 8 of the PB-MHB paper.
"""

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.inference.estimation.running_estimate import KappaSource, refresh
from slotwise.inference.estimation.svd import PLUG_IN_PSEUDO_COUNT
from slotwise.inference.sampling.theta_given_kappa import draw_thetas
from slotwise.jit import kernel
from slotwise.policies._plug_in_kappa import Params, State, check, choose_with_kappa, grow, init, update

__all__ = ["Params", "State", "check", "choose", "grow", "init", "score", "update"]


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw every theta from its posterior given kappa (Eq. 5)."""
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, PLUG_IN_PSEUDO_COUNT, state)
    counts, estimate = state.counts, state.estimate
    draw_thetas(counts.item_clicks, counts.skips, estimate.capped_kappa, rng, theta)
    copy(estimate.kappa, kappa)


choose = choose_with_kappa(__name__)  # the best display under the draw
