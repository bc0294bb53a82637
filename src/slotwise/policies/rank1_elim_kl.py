"""Rank1ElimKL: like Rank1Elim, with bounds from the Kullback-Leibler divergence.

Katariya, Kveton, Szepesvari, Vernade and Wen 2017, "Bernoulli Rank-1 Bandits for Click Feedback".
"""

import math

from slotwise.checks import Ints
from slotwise.jit import kernel
from slotwise.policies._observations import kl_index
from slotwise.policies._rank1_elimination import (
    STAGE,
    SWEEPS,
    Side,
    begins_sweep,
    learn_cell,
    next_stage,
    observations_needed,
)
from slotwise.policies.rank1_elim import FEEDBACK, Params, State, check, choose, init

__all__ = ["FEEDBACK", "Params", "State", "check", "choose", "init", "update"]

_FACTOR = 16.0  # in stage l, every row and column has 16 * 4^l log n observations


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count the click. At the end of a stage, eliminate rows and columns."""
    elimination = state.elimination
    learn_cell(elimination, display, clicks)
    number = observations_needed(_FACTOR, elimination.at[STAGE], params.horizon)
    if begins_sweep(elimination) and elimination.at[SWEEPS] >= number:
        _set_bounds(elimination.rows, number, params.horizon)
        _set_bounds(elimination.columns, number, params.horizon)
        next_stage(elimination)


@kernel
def _set_bounds(side: Side, number: float, horizon: float) -> None:
    threshold = math.log(horizon) + 3.0 * math.log(max(math.log(horizon), 1.0))
    for k in range(side.clicks.size):
        mean = side.clicks[k] / number
        side.upper[k] = kl_index(mean, number, threshold, 0.0)
        side.lower[k] = 1.0 - kl_index(1.0 - mean, number, threshold, 0.0)
