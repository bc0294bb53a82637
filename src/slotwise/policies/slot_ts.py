"""Slot TS: Thompson sampling for the PBM, with a sampler that mixes, told neither kappa nor the most visible position.

The displays are those of PB-MHB, Algorithm 1 of Gauthier, Gaudel and Fromont,
"Position-Based Multiple-Play Bandits with Thompson Sampling"; `inference.mixing` takes the place of its Algorithm 2.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, add, empty, grown
from slotwise.inference.sampling.beta_prior import Learnt
from slotwise.inference.sampling.mixing import RARELY, sample
from slotwise.inference.sampling.ridges import Ridges, one_part
from slotwise.jit import kernel


class Prior(IntEnum):
    """Theta a priori: uniform, or a Beta(a, b) law with a and b learnt from all items together, or with a = 1."""

    UNIFORM = Learnt.NOTHING.value
    LEARNT = Learnt.BOTH.value
    FALLING = Learnt.FALLING.value


class Params(NamedTuple):
    """Settings."""

    sweeps: int = 1  # of the sampler per round
    stride: int = 2  # a sweep takes every stride-th item and position, from a random one on
    prior: Prior = Prior.FALLING


class State(NamedTuple):
    """Counts, and the last sample as a warm start: losing that costs a short burn-in, never knowledge."""

    counts: CountArrays
    theta: Floats
    kappa: Floats
    beta: Floats  # the prior's a and b
    ridges: Ridges  # scratch


def check(params: Params) -> str | None:
    """What is wrong with the settings, if anything."""
    if params.sweeps < 1:
        return f"sweeps = {params.sweeps!r} is not a whole number of at least 1"
    if params.stride < 1:
        return f"stride = {params.stride!r} is not a whole number of at least 1"
    return None


def check_state(state: State) -> str | None:
    """What is wrong with a state that was read from a file, if anything; counts are checked elsewhere."""
    for name, values in (("theta", state.theta), ("kappa", state.kappa)):
        if not ((values >= 0.0) & (values <= 1.0)).all():
            return f"{name} is not in [0, 1]"
    return None if (state.beta >= 1.0).all() else "beta is not at least 1"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Nothing known: a sample from the uniform prior."""
    counts, ridges = empty(n_items, n_positions), one_part(n_items, n_positions)
    return State(counts, rng.random(n_items), rng.random(n_positions), np.ones(2), ridges)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Room for more items and positions; the new ones start anywhere, until a sweep draws them."""
    theta, kappa = rng.random(n_items), rng.random(n_positions)
    theta[: state.theta.size] = state.theta
    kappa[: state.kappa.size] = state.kappa
    return State(grown(state.counts, n_items, n_positions), theta, kappa, state.beta, one_part(n_items, n_positions))


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw (theta, kappa) from the posterior."""
    last_theta, last_kappa = state.theta, state.kappa
    learnt, stride, sweeps = params.prior, params.stride, params.sweeps
    sample(state.counts, last_theta, last_kappa, state.beta, learnt, 0, state.ridges, stride, RARELY, sweeps, rng)
    for item in range(theta.size):
        theta[item] = last_theta[item]
    for position in range(kappa.size):
        kappa[position] = last_kappa[position]


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show what is best under a posterior draw."""
    score(params, state, rng, state.theta, state.kappa)
    arrange(state.theta, state.kappa, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count one display and its clicks."""
    add(state.counts, display, clicks)
