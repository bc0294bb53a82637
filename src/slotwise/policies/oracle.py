"""Oracle: it knows the true model and always shows the best display. Its regret is 0.

Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling", section 5.3.
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies._common import count_display


class Params(NamedTuple):
    """Settings."""

    model: Model  # the true PBM


class State(NamedTuple):
    """Counts, which the policy does not use."""

    counts: CountArrays


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if params.model.theta.size else "oracle needs model, the true PBM"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(empty(n_items, n_positions))


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """The true theta and kappa."""
    copy(params.model.theta, theta)
    copy(params.model.kappa, kappa)


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """The best display (below Eq. 1)."""
    arrange(params.model.theta, params.model.kappa, display)


update = count_display(__name__)
