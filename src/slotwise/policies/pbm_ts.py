"""PBM-TS: Thompson sampling with theta drawn from its exact posterior given kappa.

Lagree, Vernade and Cappe 2016, "Multiple-Play Bandits in the Position-Based Model"; Eq. 5 and 8 of the PB-MHB paper.
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import Tally, add, empty, grown
from slotwise.inference.conditional import draw_thetas
from slotwise.inference.online import Estimate, Source, refresh, regrown, told, told_or_guessed
from slotwise.inference.svd import Fill
from slotwise.jit import kernel


class Params(NamedTuple):
    """Settings."""

    model: Model  # the truth, of which only kappa is read, and only with kappa = oracle
    kappa: Source = Source.ORACLE
    fill: Fill = Fill.ONE


class State(NamedTuple):
    """Counts, the estimate of kappa, and the last draw of theta."""

    counts: Tally
    estimate: Estimate
    theta: Floats


def check(params: Params) -> str | None:
    """What is wrong with the settings, if anything."""
    return told(params.kappa, params.model)


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Nothing known."""
    estimate = told_or_guessed(params.kappa, params.model, n_items, n_positions)
    return State(empty(n_items, n_positions), estimate, np.zeros(n_items))


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Room for more items and positions."""
    counts = grown(state.counts, n_items, n_positions)
    return State(counts, regrown(state.estimate, n_items, n_positions), np.zeros(n_items))


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw every theta from its posterior given kappa as it is known (Eq. 5)."""
    if params.kappa != Source.ORACLE:
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


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count one display and its clicks."""
    add(state.counts, display, clicks)
