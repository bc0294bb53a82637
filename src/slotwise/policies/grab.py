"""GRAB: it walks on a graph of displays, from the display that looks best to a neighbour that might be better.

Gauthier, Gaudel, Fromont and Lompo 2021, "Parametric Graph for Unimodal Ranking Bandit".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies._assignment import AssignmentSpace, assign, assignment_space
from slotwise.policies._common import count_display
from slotwise.policies._observations import kl_index

_SLOTS = 1 << 16  # of the table of leaders; a page has far fewer leaders
_TRIES = 16
_NONE = -1


class Params(NamedTuple):
    """Settings."""

    c: float = 3.0  # the bounds have the level log s + c log log s


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if 0.0 <= params.c < math.inf else f"c = {params.c!r} is not a number of at least 0"


class State(NamedTuple):
    """Counts, how often each display was the leader, and work space."""

    counts: CountArrays
    rates: Floats  # N x L: S / V
    bounds: Floats  # N x L: the bounds of the last round, where Newton's method starts
    leaders: Ints  # keys of displays, in a hash table
    times: Ints  # how often each of them was the leader
    leader: Ints  # L
    ranked: Ints  # L: the positions by decreasing click rate of the leader
    is_shown: Ints  # N
    space: AssignmentSpace


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(
        empty(n_items, n_positions),
        np.zeros((n_items, n_positions)),
        np.zeros((n_items, n_positions)),
        np.zeros(_SLOTS, np.int64),
        np.zeros(_SLOTS, np.int64),
        np.zeros(n_positions, np.int64),
        np.zeros(n_positions, np.int64),
        np.zeros(n_items, np.int64),
        assignment_space(n_items, n_positions),
    )


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the leader every (N - 1)-th time it leads. Otherwise show the neighbour with the largest sum of bounds."""
    clicks, skips, rates = state.counts.clicks, state.counts.skips, state.rates
    n_items, n_positions = rates.shape
    for item in range(n_items):
        for position in range(n_positions):
            views = clicks[item, position] + skips[item, position]
            rates[item, position] = clicks[item, position] / views if views > 0.0 else 0.0
    leader = state.leader
    assign(rates, state.space, leader)
    for position in range(n_positions):
        display[position] = leader[position]
    led = _times_led(state)
    if n_items > 2 and led % (n_items - 1) == 0:
        return
    _rank_positions(state)
    _move_to_best_neighbour(params, state, led, rng, display)


@kernel
def _times_led(state: State) -> int:
    """Count this round for the leader, and return how often it was the leader, from 1."""
    key = 1469598103934665603  # the FNV-1a hash, with items instead of bytes
    for position in range(state.leader.size):
        key = (key ^ (state.leader[position] + 1)) * 1099511628211
    slot = (key ^ (key >> 31)) & (_SLOTS - 1)
    for _ in range(_TRIES):
        if state.times[slot] == 0 or state.leaders[slot] == key:
            break
        slot = (slot + 1) & (_SLOTS - 1)
    if state.leaders[slot] != key:  # a new leader; in a full table it replaces another
        state.leaders[slot], state.times[slot] = key, 0
    state.times[slot] += 1
    return state.times[slot]  # type: ignore[no-any-return]


@kernel
def _rank_positions(state: State) -> None:
    """Sort the positions by the click rate that the leader has there. The first of equal positions comes first."""
    ranked, rates, leader = state.ranked, state.rates, state.leader
    for position in range(ranked.size):
        rank = position
        while rank > 0 and rates[leader[ranked[rank - 1]], ranked[rank - 1]] < rates[leader[position], position]:
            ranked[rank] = ranked[rank - 1]
            rank -= 1
        ranked[rank] = position


@kernel
def _bound(params: Params, state: State, item: int, position: int, led: int) -> float:
    """The KL-UCB bound of the click rate of a cell. It is 1 if the cell was never shown."""
    views = state.counts.clicks[item, position] + state.counts.skips[item, position]
    if views == 0.0:
        return 1.0
    threshold = math.log(led) + params.c * math.log(max(math.log(led), 1.0))
    start = state.bounds[item, position]
    state.bounds[item, position] = kl_index(state.rates[item, position], views, threshold, start)
    return state.bounds[item, position]  # type: ignore[no-any-return]


@kernel
def _move_to_best_neighbour(params: Params, state: State, led: int, rng: np.random.Generator, display: Ints) -> None:
    """Change the display from the leader to its best neighbour. The leader is its own neighbour.

    Neighbours have the items of two consecutive ranks swapped, or another item at the last rank. So their sums of
    bounds differ from that of the leader by at most four bounds.
    """
    leader, ranked, is_shown = state.leader, state.ranked, state.is_shown
    for item in range(is_shown.size):
        is_shown[item] = 0
    for position in range(leader.size):
        is_shown[leader[position]] = 1
    best, found, first, second, other = 0.0, 1, _NONE, _NONE, _NONE
    for rank in range(ranked.size - 1):
        a, b = ranked[rank], ranked[rank + 1]
        now = _bound(params, state, leader[a], a, led) + _bound(params, state, leader[b], b, led)
        gain = _bound(params, state, leader[b], a, led) + _bound(params, state, leader[a], b, led) - now
        found = found + 1 if gain == best else 1 if gain > best else found
        if gain > best or (gain == best and rng.random() * found < 1.0):
            best, first, second, other = gain, a, b, _NONE
    last = ranked[ranked.size - 1]
    now = _bound(params, state, leader[last], last, led)
    for item in range(is_shown.size):
        if is_shown[item] == 0:
            gain = _bound(params, state, item, last, led) - now
            found = found + 1 if gain == best else 1 if gain > best else found
            if gain > best or (gain == best and rng.random() * found < 1.0):
                best, first, second, other = gain, last, _NONE, item
    if second != _NONE:
        display[first], display[second] = leader[second], leader[first]
    elif other != _NONE:
        display[first] = other


update = count_display(__name__)
