"""epsilon_n-greedy: the greedy display, but with probability c/t an item, or the whole display, is random instead.

Auer, Cesa-Bianchi and Fischer 2002, "Finite-time Analysis of the Multiarmed Bandit Problem", as the PB-MHB paper uses
it in its section 5.2.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.checks import Ints
from slotwise.inference.estimation.running_estimate import Estimator
from slotwise.inference.estimation.svd import Fill
from slotwise.jit import kernel
from slotwise.policies import greedy
from slotwise.policies._common import count_display

State = greedy.State


class Replace(IntEnum):
    """What is replaced at random: single items (the paper's text), or the whole display (the authors' public code)."""

    ITEM = 0
    DISPLAY = 1


class Params(NamedTuple):
    """Settings. The first two are the settings of greedy."""

    estimator: Estimator = Estimator.SVD
    fill: Fill = Fill.ONE
    c: float = 1000.0  # the probability of a replacement is min(1, c / t)
    replace: Replace = Replace.ITEM


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return greedy.init(greedy.Params(params.estimator, params.fill), n_items, n_positions, rng)


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the greedy display with random replacements."""
    greedy.choose(greedy.Params(params.estimator, params.fill), state, rng, display)
    counts = state.counts
    n_items, n_positions = counts.clicks.shape
    chance = min(1.0, params.c / (1.0 + counts.displays[0]))
    if params.replace == Replace.DISPLAY:
        if rng.random() < chance:
            _draw_display(n_items, rng, display)
    elif n_items > n_positions:  # otherwise every item is displayed, and none is left to replace another
        for position in range(n_positions):
            if rng.random() < chance:
                display[position] = _undisplayed(display, n_positions, int(rng.random() * (n_items - n_positions)))


@kernel(inline=True)
def _draw_display(n_items: int, rng: np.random.Generator, display: Ints) -> None:
    """Draw a uniformly random display. Each position gets an item that no earlier position has."""
    for position in range(display.size):
        display[position] = _undisplayed(display, position, int(rng.random() * (n_items - position)))


@kernel(inline=True)
def _undisplayed(display: Ints, n_filled: int, rank: int) -> int:
    """The item with this rank among those that are not at the first `n_filled` positions."""
    item = -1
    while rank >= 0:
        item += 1
        displayed = False
        for position in range(n_filled):
            displayed = displayed or display[position] == item
        if not displayed:
            rank -= 1
    return item


update = count_display(__name__)
