"""epsilon_n-greedy: the greedy display, with each item replaced by a random one with probability c/t.

Auer, Cesa-Bianchi and Fischer 2002, "Finite-time Analysis of the Multiarmed Bandit Problem", as the PB-MHB paper uses
it in its section 5.2.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Ints
from slotwise.inference.estimation.running_estimate import Estimator
from slotwise.inference.estimation.svd import Fill
from slotwise.jit import kernel
from slotwise.policies import greedy
from slotwise.policies._common import count_display

State = greedy.State


class Params(NamedTuple):
    """Settings. The first two are the settings of greedy."""

    estimator: Estimator = Estimator.SVD
    fill: Fill = Fill.ONE
    c: float = 1000.0  # an item is replaced with probability min(1, c / t)


def check(params: Params) -> str | None:
    """An error message when the settings are invalid."""
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return greedy.init(greedy.Params(params.estimator, params.fill), n_items, n_positions, rng)


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the greedy display with some of its items replaced at random."""
    greedy.choose(greedy.Params(params.estimator, params.fill), state, rng, display)
    counts = state.counts
    n_items, n_positions = counts.clicks.shape
    if n_items == n_positions:
        return  # every item is displayed, so there is no replacement
    chance = min(1.0, params.c / (1.0 + counts.displays[0]))
    for position in range(n_positions):
        if rng.random() < chance:
            display[position] = _undisplayed(display, int(rng.random() * (n_items - n_positions)))


@kernel(inline=True)
def _undisplayed(display: Ints, rank: int) -> int:
    """The item with this rank among those that are not displayed."""
    item = -1
    while rank >= 0:
        item += 1
        displayed = False
        for position in range(display.size):
            displayed = displayed or display[position] == item
        if not displayed:
            rank -= 1
    return item


update = count_display(__name__)
