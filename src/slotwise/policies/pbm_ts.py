"""PBM-TS: Thompson sampling with theta drawn from its exact posterior given kappa.

Lagree, Vernade and Cappe 2016, "Multiple-Play Bandits in the Position-Based Model"; Eq. 5 and 8 of the PB-MHB paper.
"""

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.inference.estimation.running_estimate import KappaSource, refresh
from slotwise.inference.sampling.conditional import draw_thetas
from slotwise.jit import kernel
from slotwise.policies._plug_in_kappa import Params, State, check, grow, init, update

__all__ = ["Params", "State", "check", "choose", "grow", "init", "score", "update"]


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw every theta from its posterior given kappa as it is known (Eq. 5)."""
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, state)
    counts, estimate = state.counts, state.estimate
    visible = estimate.kappa
    draw_thetas(counts.item_clicks, counts.skips, visible, rng, theta)
    for position in range(kappa.size):
        kappa[position] = visible[position]


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show what is best under the draw."""
    estimate = state.estimate
    score(params, state, rng, state.theta, estimate.kappa)
    arrange(state.theta, estimate.kappa, display)
