"""PIE(l): it shows the empirically best items, and tries others at one position.

Combes, Magureanu, Proutiere and Laroche 2015, "Learning to Rank: Regret Lower Bounds and Efficient Algorithms".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.jit import kernel
from slotwise.policies._observations import Observations, first_click, might_reach, no_observations, observe
from slotwise.policies._position_order import by_position


class Params(NamedTuple):
    """Settings."""

    position: int = 1  # where other items are tried, from 1; 0 stands for the last position
    c: float = 4.0  # the bounds have the level log t + c log log t


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if params.position < 0:
        return f"position = {params.position!r} is not a whole number of at least 0"
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


class State(NamedTuple):
    """What visitors revealed of each item, and work space of a round."""

    seen: Observations
    means: Floats
    is_leader: Ints
    order: Floats  # scores of the positions: the first is the best


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(no_observations(n_items), np.zeros(n_items), np.zeros(n_items, np.int64), by_position(n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the leaders. With probability 1/2, show a random item that might be better instead of the last one."""
    attracted, looks, means, leaders = state.seen.attracted, state.seen.looks, state.means, state.is_leader
    for item in range(means.size):
        means[item] = attracted[item] / looks[item] if looks[item] > 0.0 else 1.0 + rng.random()
        leaders[item] = 0
    arrange(means, state.order, display)
    for position in range(display.size):
        leaders[display[position]] = 1
    if rng.random() < 0.5:
        return
    log_t = math.log(1.0 + state.seen.rounds[0])
    threshold = log_t + params.c * math.log(max(log_t, 1.0))
    least = means[display[display.size - 1]]
    chosen, candidates = -1, 0
    for item in range(means.size):
        if leaders[item] == 0 and might_reach(means[item], looks[item], threshold, least):
            candidates += 1
            if rng.random() * candidates < 1.0:  # reservoir sampling: each candidate has the same probability
                chosen = item
    if chosen >= 0:
        last = display.size - 1
        tried = last if params.position == 0 else min(params.position - 1, last)
        for k in range(last - tried):  # the leaders keep their order, and the last one makes room
            display[last - k] = display[last - k - 1]
        display[tried] = chosen


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    observe(state.seen, display, clicks, first_click(clicks))
