"""What policies have in common that are told kappa, or take an estimate of it for the truth."""

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

    model: Model  # the truth, of which only kappa is read, and only with kappa = oracle
    kappa: KappaSource = KappaSource.ORACLE
    fill: Fill = Fill.ONE


class State(NamedTuple):
    """Counts, the estimate of kappa, and the last scores of the items."""

    counts: CountArrays
    estimate: RunningEstimate
    theta: Floats


def check(params: Params) -> str | None:
    """What is wrong with the settings, if anything."""
    return kappa_source_error(params.kappa, params.model)


@kernel
def begin(source: int, model: Model, n_items: int, n_positions: int) -> State:
    """Nothing known but what the oracle tells."""
    estimate = initial_estimate_from(source, model, n_items, n_positions)
    return State(empty(n_items, n_positions), estimate, np.zeros(n_items))


@kernel
def enlarged(state: State, n_items: int, n_positions: int) -> State:
    """The same knowledge with room for more."""
    counts = grown(state.counts, n_items, n_positions)
    return State(counts, grown_estimate(state.estimate, n_items, n_positions), np.zeros(n_items))


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Nothing known."""
    return begin(params.kappa, params.model, n_items, n_positions)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Room for more items and positions."""
    return enlarged(state, n_items, n_positions)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count one display and its clicks."""
    add(state.counts, display, clicks)
