"""Rank1Elim: it finds the best item and the best position by elimination, one cell per round.

Katariya, Kveton, Szepesvari, Vernade and Wen 2017, "Stochastic Rank-1 Bandits".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Ints
from slotwise.clickmodels._click_model import Feedback
from slotwise.jit import kernel
from slotwise.policies._rank1_elimination import (
    STAGE,
    SWEEPS,
    Elimination,
    Side,
    begins_sweep,
    learn_cell,
    next_stage,
    observations_needed,
    show_cell,
    start,
)

FEEDBACK = (Feedback.CELL,)
_FACTOR = 4.0  # in stage l, every row and column has 4 * 4^l log n observations


class Params(NamedTuple):
    """Settings."""

    horizon: float = 1e5  # n: bounds fail with a probability of the order of 1 / n


class State(NamedTuple):
    """The clicks of rows and columns, and where the algorithm is."""

    elimination: Elimination


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 2.0 <= params.horizon < math.inf else f"horizon = {params.horizon!r} is not a number of at least 2"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(start(n_items, n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the next cell."""
    show_cell(state.elimination, rng, display)


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
    width = math.sqrt(math.log(horizon) / number)
    for k in range(side.clicks.size):
        mean = side.clicks[k] / number
        side.upper[k], side.lower[k] = mean + width, mean - width
