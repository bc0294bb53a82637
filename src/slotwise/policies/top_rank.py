"""TopRank: it sorts items into blocks by pairwise comparisons, and shuffles the items inside each block.

Lattimore, Kveton, Li and Szepesvari 2018, "TopRank: A Practical Algorithm for Online Stochastic Ranking".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, add, empty
from slotwise.jit import kernel
from slotwise.policies._position_order import by_visibility

_C = 4.0 * math.sqrt(2.0 / math.pi) / math.erf(math.sqrt(2.0))


class Params(NamedTuple):
    """Settings."""

    model: Model  # the true PBM, from which the policy reads only the order of the kappas
    horizon: float = 1e5  # an edge of the graph is wrong with a probability of the order of 1 / horizon


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 1.0 <= params.horizon < math.inf else f"horizon = {params.horizon!r} is not a number of at least 1"


class State(NamedTuple):
    """Counts, the comparisons of all pairs of items, and the blocks."""

    counts: CountArrays
    lead: Floats  # N x N: how often i was clicked and j was not, minus the reverse, while both were in one block
    number: Floats  # N x N: how often exactly one of them was clicked
    beats: Ints  # N x N: whether i is better than j
    block: Ints  # N: the number of each item's block, from 0
    order: Ints  # N: work space
    clicked: Ints  # N: whether each item was clicked in this round
    positions: Ints  # L: the most visible one first


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    pairs = (n_items, n_items)
    return State(
        empty(n_items, n_positions),
        np.zeros(pairs),
        np.zeros(pairs),
        np.zeros(pairs, np.int64),
        np.zeros(n_items, np.int64),
        np.zeros(n_items, np.int64),
        np.zeros(n_items, np.int64),
        np.argsort(-by_visibility(params.model, n_positions), kind="mergesort"),
    )


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the blocks in order, the first one at the most visible positions. The order inside a block is random."""
    block, order, positions = state.block, state.order, state.positions
    n_items = block.size
    filled, number = 0, 0
    while filled < display.size:
        size = 0
        for item in range(n_items):
            if block[item] == number:
                order[size] = item
                size += 1
        for k in range(min(size, display.size - filled)):
            other = k + int(rng.random() * (size - k))
            order[k], order[other] = order[other], order[k]
            display[positions[filled]] = order[k]
            filled += 1
        number += 1


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Compare the clicked items with all other items of their block. An item that is not shown is not clicked."""
    add(state.counts, display, clicks)
    lead, number, beats, block, clicked = state.lead, state.number, state.beats, state.block, state.clicked
    for position in range(display.size):
        clicked[display[position]] = clicks[position] > 0
    is_new = False
    for position in range(display.size):
        if clicks[position] <= 0:
            continue
        item = display[position]
        for other in range(block.size):
            if other == item or clicked[other] or block[other] != block[item]:
                continue
            lead[item, other] += 1.0
            lead[other, item] -= 1.0
            number[item, other] += 1.0
            number[other, item] += 1.0
            n = number[item, other]
            if lead[item, other] >= math.sqrt(2.0 * n * math.log(_C * math.sqrt(n) * params.horizon)):
                beats[item, other] = 1
                is_new = True
    for position in range(display.size):
        clicked[display[position]] = 0
    if is_new:
        _sort_into_blocks(beats, block)


@kernel
def _sort_into_blocks(beats: Ints, block: Ints) -> None:
    """Each block has the items that no remaining item beats. The items of a cycle are in one block."""
    n_items = block.size
    for item in range(n_items):
        block[item] = n_items  # above every number of a block
    sorted_items, number = 0, 0
    while sorted_items < n_items:
        found = 0
        for item in range(n_items):
            if block[item] == n_items:
                is_beaten = False
                for other in range(n_items):
                    is_beaten = is_beaten or (block[other] >= number and beats[other, item] == 1)
                if not is_beaten:
                    block[item] = number
                    found += 1
        if found == 0:
            for item in range(n_items):
                if block[item] == n_items:
                    block[item] = number
                    found += 1
        sorted_items += found
        number += 1
