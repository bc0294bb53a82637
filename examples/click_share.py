"""Click share: shows the items with the largest share of clicks, with a bonus for those shown rarely.

An example of a policy that lives outside slotwise: `slotwise simulate --policies examples/click_share.py,pb_mhb`.
The index is UCB1's (Auer, Cesa-Bianchi and Fischer 2002) on clicks per display; it takes positions to be given
in order of visibility, and knows nothing of how visible they are.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.counts import CountArrays, add, empty
from slotwise.jit import kernel


class Params(NamedTuple):
    """Settings, each with its type and default."""

    bonus: float = 0.3  # how much rarely shown items are favoured


class State(NamedTuple):
    """All that is remembered between rounds; `counts` lets clicks arrive late."""

    counts: CountArrays
    index: np.ndarray
    order: np.ndarray


@kernel
def init(params, n_items, n_positions, rng):
    """The state before the first round."""
    return State(empty(n_items, n_positions), np.empty(n_items), -np.arange(1.0, n_positions + 1.0))


@kernel
def choose(params, state, rng, display):
    """Fill `display`: display[l] is the item to show at position l."""
    for item in range(state.index.size):
        shown = state.counts.item_clicks[item] + state.counts.skips[item].sum()
        if shown == 0.0:
            state.index[item] = 1e9 + rng.random()  # every item once, in random order
        else:
            optimism = params.bonus * math.sqrt(math.log(1.0 + state.counts.displays[0]) / shown)
            state.index[item] = state.counts.item_clicks[item] / shown + optimism
    arrange(state.index, state.order, display)


@kernel
def update(params, state, display, clicks):
    """Learn from one display: clicks[l] is 1 where position l was clicked."""
    add(state.counts, display, clicks)
