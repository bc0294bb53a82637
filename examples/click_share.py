"""Click share: shows the items with the largest click rate, with a bonus for rarely displayed ones.

An example of a policy that lives outside slotwise: `slotwise simulate --policies examples/click_share.py,pb_mhb`.
The index is that of UCB1 (Auer, Cesa-Bianchi and Fischer 2002) on clicks per display. The policy assumes that positions
are in order of visibility; it does not know how visible they are.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.counts import CountArrays, add, empty
from slotwise.jit import kernel


class Params(NamedTuple):
    """Settings, each with its type and default."""

    bonus: float = 0.3  # the weight of the bonus for rarely displayed items


class State(NamedTuple):
    """Everything that is kept between rounds; with `counts`, clicks may arrive late."""

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
        displays = state.counts.item_clicks[item] + state.counts.skips[item].sum()
        if displays == 0.0:
            state.index[item] = 1e9 + rng.random()  # first every item once, in random order
        else:
            optimism = params.bonus * math.sqrt(math.log(1.0 + state.counts.displays[0]) / displays)
            state.index[item] = state.counts.item_clicks[item] / displays + optimism
    arrange(state.index, state.order, display)


@kernel
def update(params, state, display, clicks):
    """Learn from one display: clicks[l] is 1 where position l was clicked."""
    add(state.counts, display, clicks)
