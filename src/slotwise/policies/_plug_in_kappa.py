"""Common parts of the policies that take kappa from an oracle, or plug in an estimate of it."""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, add, empty, grown
from slotwise.inference.estimation.running_estimate import (
    KappaSource,
    RunningEstimate,
    grown_estimate,
    initial_estimate_from,
    kappa_source_error,
)
from slotwise.inference.estimation.svd import Fill
from slotwise.jit import kernel


class Params(NamedTuple):
    """Settings."""

    model: Model  # the true model; the policy reads its kappa, and only with kappa = oracle
    kappa: KappaSource = KappaSource.ORACLE
    fill: Fill = Fill.ONE


class State(NamedTuple):
    """Counts, the estimate of kappa, and the last scores of the items."""

    counts: CountArrays
    estimate: RunningEstimate
    theta: Floats


def check(params: Params) -> str | None:
    """An error message when the settings are invalid."""
    return kappa_source_error(params.kappa, params.model)


@kernel
def initial_state(source: int, model: Model, n_items: int, n_positions: int) -> State:
    """The state before the first round."""
    estimate = initial_estimate_from(source, model, n_items, n_positions)
    return State(empty(n_items, n_positions), estimate, np.zeros(n_items))


@kernel
def grown_state(state: State, n_items: int, n_positions: int) -> State:
    """The same knowledge with room for more items and positions."""
    counts = grown(state.counts, n_items, n_positions)
    return State(counts, grown_estimate(state.estimate, n_items, n_positions), np.zeros(n_items))


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return initial_state(params.kappa, params.model, n_items, n_positions)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same knowledge with room for more items and positions."""
    return grown_state(state, n_items, n_positions)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count one display and its clicks."""
    add(state.counts, display, clicks)
