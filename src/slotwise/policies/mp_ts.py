"""MP-TS: Thompson sampling for several positions, which all count as equally visible. BC-MPTS corrects this.

Komiyama, Honda and Nakagawa 2015, "Optimal Regret Analysis of Thompson Sampling in Stochastic Multi-armed Bandit
Problem with Multiple Plays".
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies._common import count_display
from slotwise.policies._position_order import by_visibility


class Params(NamedTuple):
    """Settings."""

    model: Model  # the true PBM, from which the policy reads only the order of the kappas


class State(NamedTuple):
    """Counts, and the draws of the last round."""

    counts: CountArrays
    draws: Floats
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(empty(n_items, n_positions), np.zeros(n_items), by_visibility(params.model, n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Draw the click rate of each item from its posterior, and show the items with the largest draws."""
    counts, draws = state.counts, state.draws
    item_clicks, skips = counts.item_clicks, counts.skips
    for item in range(draws.size):
        skipped = 0.0
        for position in range(display.size):
            skipped += skips[item, position]
        draws[item] = rng.beta(1.0 + item_clicks[item], 1.0 + skipped)
    arrange(draws, state.order, display)


update = count_display(__name__)
