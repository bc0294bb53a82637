"""PB-MHB: Thompson sampling for the PBM with a Metropolis-Hastings sampler of the posterior.

Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling": Algorithms 1 and 2.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.sampling.random_walk_sweeps import RandomWalk
from slotwise.inference.sampling.truncated_random_walk import sample
from slotwise.jit import kernel
from slotwise.policies._common import choose_by_score, count_display


class Start(IntEnum):
    """Where the sampler starts in each round: at the last sample or, as in the paper's ablation, at a random point."""

    WARM = 0
    RANDOM = 1


class Reference(IntEnum):
    """What fixes the scale: kappa_1 = 1, or nothing. The best display depends only on the order of the kappas."""

    FIRST = 0
    NONE = 1


class Params(NamedTuple):
    """Settings. The names in brackets are the paper's."""

    width: float = 100.0  # (c) the width of a random-walk step is width / sqrt(t)
    sweeps: int = 1  # (m) Metropolis-Hastings sweeps per round
    start: Start = Start.WARM
    reference: Reference = Reference.FIRST


class State(NamedTuple):
    """Counts, and the last sample as a warm start. Without the sample, a short burn-in would be needed again."""

    counts: CountArrays
    theta: Floats
    kappa: Floats


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if not 0.0 < params.width < math.inf:
        return f"width = {params.width!r} is not a positive number"
    if params.sweeps < 1:
        return f"sweeps = {params.sweeps!r} is not a whole number of at least 1"
    return None


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round: a sample from the uniform prior (Alg. 2 lines 1-2)."""
    state = State(empty(n_items, n_positions), np.empty(n_items), np.empty(n_positions))
    _draw_prior(params, state.theta, state.kappa, rng)
    return state


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same state with more items and positions. The values of the new ones are drawn from the prior."""
    theta, kappa = np.empty(n_items), np.empty(n_positions)
    _draw_prior(params, theta, kappa, rng)
    copy(state.theta, theta[: state.theta.size])
    copy(state.kappa, kappa[: state.kappa.size])
    return State(grown(state.counts, n_items, n_positions), theta, kappa)


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw (theta, kappa) from the posterior (Alg. 2)."""
    if params.start == Start.RANDOM:
        _draw_prior(params, state.theta, state.kappa, rng)
    free_from = 1 if params.reference == Reference.FIRST else 0
    sigma = params.width / math.sqrt(1.0 + state.counts.displays[0])
    last_theta, last_kappa = state.theta, state.kappa
    sample(state.counts, last_theta, last_kappa, RandomWalk(sigma, params.sweeps, free_from), rng)
    copy(last_theta, theta)
    copy(last_kappa, kappa)


choose = choose_by_score(__name__)  # the best display under a posterior draw (Alg. 1)
update = count_display(__name__)


@kernel(inline=True)
def _draw_prior(params: Params, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    for item in range(theta.size):
        theta[item] = rng.random()
    for position in range(kappa.size):
        kappa[position] = rng.random()
    if params.reference == Reference.FIRST:
        kappa[0] = 1.0
