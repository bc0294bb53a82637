"""BC-MPTS: Thompson sampling with a Beta posterior corrected for how often an item can have been looked at.

Komiyama, Honda and Nakagawa 2015, "Optimal Regret Analysis of Thompson Sampling in Stochastic Multi-armed Bandit
Problem with Multiple Plays", as the PB-MHB paper uses it: its Eq. 7.
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import Tally, add, empty, grown
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
    """Draw theta from its corrected Beta posterior, with kappa as it is known (Eq. 7)."""
    if params.kappa != Source.ORACLE:
        refresh(params.kappa, params.fill, state)
    counts, estimate = state.counts, state.estimate
    visible, item_clicks, clicks, skips = estimate.kappa, counts.item_clicks, counts.clicks, counts.skips
    for item in range(theta.size):
        looks = 0.0  # N^pseudo: the looks to be expected at where the item was shown
        for position in range(visible.size):
            looks += visible[position] * (clicks[item, position] + skips[item, position])
        # clicks can exceed the expected looks; clamped after summing, never per position
        theta[item] = rng.beta(item_clicks[item] + 1.0, max(looks - item_clicks[item], 0.0) + 1.0)
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
