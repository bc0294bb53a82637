"""Greedy: always the best display under an estimate of theta and kappa, without deliberate exploration.

A competitor in Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling", its
section 5.2.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.estimation.running_estimate import (
    Estimator,
    RunningEstimate,
    grown_estimate,
    initial_estimate,
    refresh,
)
from slotwise.inference.estimation.svd import PSEUDO_COUNT, Fill
from slotwise.jit import kernel
from slotwise.policies._common import choose_by_score, count_display


class Params(NamedTuple):
    """Settings."""

    estimator: Estimator = Estimator.SVD
    fill: Fill = Fill.ONE


class State(NamedTuple):
    """Counts, the estimate, and the scores of the last round."""

    counts: CountArrays
    estimate: RunningEstimate
    theta: Floats
    kappa: Floats


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    estimate = initial_estimate(n_items, n_positions)
    return State(empty(n_items, n_positions), estimate, np.zeros(n_items), np.zeros(n_positions))


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same state with room for more items and positions."""
    estimate = grown_estimate(state.estimate, n_items, n_positions)
    return State(grown(state.counts, n_items, n_positions), estimate, np.zeros(n_items), np.zeros(n_positions))


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """The current estimate. `arrange` shows equally good items in the order of their indices."""
    refresh(params.estimator, params.fill, PSEUDO_COUNT, state)
    estimate = state.estimate
    copy(estimate.theta, theta)
    copy(estimate.kappa, kappa)


choose = choose_by_score(__name__)  # the best display under the estimate
update = count_display(__name__)
