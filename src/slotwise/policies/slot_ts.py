"""Slot TS: Thompson sampling for the PBM with a well-mixing sampler. It knows neither kappa nor its order.

It chooses displays as PB-MHB does: Algorithm 1 of Gauthier, Gaudel and Fromont,
"Position-Based Multiple-Play Bandits with Thompson Sampling". `inference.sampling.mixing_sampler` replaces Algorithm 2
of this paper.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule, sample
from slotwise.inference.sampling.ridges import Ridges, single_component
from slotwise.jit import kernel
from slotwise.policies._common import choose_by_score, count_display


class ThetaPrior(IntEnum):
    """The prior of theta: uniform, Beta(a, b) with a and b learnt from all items, or Beta(1, b) with b learnt."""

    UNIFORM = Learnt.NOTHING.value
    LEARNT = Learnt.BOTH.value
    FALLING = Learnt.FALLING.value


class Params(NamedTuple):
    """Settings."""

    sweeps: int = 1  # sweeps of the sampler per round
    stride: int = 2  # a sweep updates every stride-th item and position, and begins with a random one
    prior: ThetaPrior = ThetaPrior.FALLING


class State(NamedTuple):
    """Counts, and the last sample as a warm start. Without the sample, a short burn-in would be needed again."""

    counts: CountArrays
    theta: Floats
    kappa: Floats
    beta: Floats  # the prior's a and b
    ridges: Ridges  # work space of the sampler


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if params.sweeps < 1:
        return f"sweeps = {params.sweeps!r} is not a whole number of at least 1"
    if params.stride < 1:
        return f"stride = {params.stride!r} is not a whole number of at least 1"
    return None


def check_state(state: State) -> str | None:
    """An error message if a state loaded from a file is invalid, else None. The loader checks the counts."""
    for name, values in (("theta", state.theta), ("kappa", state.kappa)):
        if not ((values >= 0.0) & (values <= 1.0)).all():
            return f"{name} is not in [0, 1]"
    return None if (state.beta >= 1.0).all() else "beta is not at least 1"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round: a sample from the uniform prior."""
    counts, ridges = empty(n_items, n_positions), single_component(n_items, n_positions)
    return State(counts, rng.random(n_items), rng.random(n_positions), np.ones(2), ridges)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same state with more items and positions. The values of the new ones are random until a sweep draws them."""
    theta, kappa = rng.random(n_items), rng.random(n_positions)
    copy(state.theta, theta[: state.theta.size])
    copy(state.kappa, kappa[: state.kappa.size])
    counts, ridges = grown(state.counts, n_items, n_positions), single_component(n_items, n_positions)
    return State(counts, theta, kappa, state.beta, ridges)


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw (theta, kappa) from the posterior."""
    last_theta, last_kappa = state.theta, state.kappa
    schedule = Schedule(params.sweeps, params.stride, SLICE_EVERY, 0, params.prior)
    sample(state.counts, state.ridges, ChainState(last_theta, last_kappa, state.beta), schedule, rng)
    copy(last_theta, theta)
    copy(last_kappa, kappa)


choose = choose_by_score(__name__)  # the best display under a posterior draw (Alg. 1)
update = count_display(__name__)
