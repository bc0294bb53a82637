"""PMED: shows every item everywhere as often as the regret lower bound asks for, and else what looks best.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias".
The order of the positions by visibility is known, how visible they are is not.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, add, empty
from slotwise.inference.bounds.alternatives import RankedModel, ranked_model
from slotwise.inference.bounds.birkhoff import decompose, max_displays
from slotwise.inference.bounds.regret_program import RegretProgram, regret_program, solve_regret_program
from slotwise.inference.estimation.ordered_em import most_likely
from slotwise.jit import kernel

PASSES = 100
PASS_TOLERANCE = 1e-6


class Params(NamedTuple):
    """Settings; the name in brackets is the paper's."""

    model: Model  # the truth, of which only the order of the positions is read; without one, they are in order
    exploration: float = 1.0  # (alpha) every item is shown everywhere exploration x sqrt(log t) times
    tolerance: float = 0.01  # how far from optimal the solution of the program may be


class State(NamedTuple):
    """Counts, the displays still to play, and what estimates and solutions start from; only counts hold knowledge."""

    counts: CountArrays
    theta: Floats
    kappa: Floats
    positions: Ints  # by decreasing visibility
    items: Ints  # by decreasing attractiveness
    program: RegretProgram
    queue: Ints  # displays x L
    waiting: Ints  # the next one in the queue, and the end of the queue


def check(params: Params) -> str | None:
    """What is wrong with the settings, if anything."""
    if not 0.0 <= params.exploration < math.inf:
        return f"exploration = {params.exploration!r} is not a number of at least 0"
    if not 1e-6 <= params.tolerance <= 0.5:
        return f"tolerance = {params.tolerance!r} is not in [1e-6, 0.5]"
    return None


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """Nothing known."""
    items, positions = np.arange(n_items), np.arange(n_positions)
    if params.model.kappa.size == n_positions:
        _sort(params.model.kappa, positions)
    return State(
        empty(n_items, n_positions),
        np.full(n_items, 0.5),
        np.full(n_positions, 0.5),
        positions,
        items,
        regret_program(n_items, n_positions),
        np.zeros((n_items + max_displays(n_items, n_positions) + 1, n_positions), np.int64),
        np.zeros(2, np.int64),
    )


@kernel
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """The next display of the queue; an empty one is filled with what is owed, then what looks best (Alg. 1)."""
    queue, waiting, positions, items = state.queue, state.waiting, state.positions, state.items
    if waiting[0] >= waiting[1]:
        waiting[0] = 0
        log_t = math.log(1.0 + state.counts.displays[0])
        waiting[1] = queue_cycle(params.exploration * math.sqrt(log_t), state.counts, positions, queue)
        solve_regret_program(estimate(state), params.tolerance, state.program)
        waiting[1] = queue_owed(log_t, state.program.q, state.counts, items, positions, queue, waiting[1])
        for rank in range(positions.size):
            queue[waiting[1], positions[rank]] = items[rank]
        waiting[1] += 1
    for position in range(display.size):
        display[position] = queue[waiting[0], position]
    waiting[0] += 1


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Count one display and its clicks."""
    add(state.counts, display, clicks)


@kernel
def queue_cycle(least: float, counts: CountArrays, positions: Ints, queue: Ints) -> int:
    """Queue those of the N displays "items m, m+1, ..." in which some pair was shown less than `least` times.

    Returns how many.
    """
    clicks, skips = counts.clicks, counts.skips
    n_items, n_positions = clicks.shape
    end = 0
    for first in range(n_items):
        short = False
        for rank in range(n_positions):
            item, position = (first + rank) % n_items, positions[rank]
            queue[end, position] = item
            short = short or clicks[item, position] + skips[item, position] < least
        if short:
            end += 1
    return end


@kernel
def estimate(state: State) -> RankedModel:
    """The most likely model, items and positions ranked, as the program needs it: no ties, nothing at 0 or 1.

    Differences that the displays so far cannot show are set to what they could just show: 1 / sqrt(t) of a value.
    """
    counts, positions, items = state.counts, state.positions, state.items
    n_items, n_positions = counts.clicks.shape
    most_likely(counts, positions, PASSES, PASS_TOLERANCE, state.theta, state.kappa)
    if _sort(state.theta, items):
        state.program.n_alternatives[0] = 0  # alternatives are in terms of ranks: with other ranks they mean others
    t = 1.0 + counts.displays[0]
    apart, least = math.exp(-1.0 / math.sqrt(t)), 0.1 / t
    scale = max(state.kappa[positions[0]], least)
    theta, kappa = np.empty(n_items), np.empty(n_positions)
    for rank in range(n_items):
        theta[rank] = min(max(state.theta[items[rank]] * scale, least), 1.0 - least)
        if rank > 0:
            theta[rank] = min(theta[rank], apart * theta[min(rank, n_positions) - 1])
    for rank in range(n_positions):
        kappa[rank] = max(state.kappa[positions[rank]] / scale, least)
        if rank > 0:
            kappa[rank] = min(kappa[rank], apart * kappa[rank - 1])
    return ranked_model(theta, kappa, True)


@kernel
def queue_owed(
    log_t: float, q: Floats, counts: CountArrays, items: Ints, positions: Ints, queue: Ints, end: int
) -> int:
    """Split q log t into displays and queue those that the counts do not cover yet; where the queue then ends.

    Each display uses up what it can of the counts, so that none is covered by the same rounds as another. Items at
    their own position in the best display ask for nothing: q_ll is free.
    """
    n_items, n_positions = q.shape
    asked, shown = np.empty((n_items, n_positions)), np.empty((n_items, n_positions))
    for rank in range(n_items):
        for place in range(n_positions):
            item, position = items[rank], positions[place]
            asked[rank, place] = log_t * q[rank, place]
            shown[rank, place] = counts.clicks[item, position] + counts.skips[item, position]
    most = max_displays(n_items, n_positions)
    displays, weights = np.empty((most, n_positions), np.int64), np.empty(most)
    for k in range(decompose(asked, displays, weights)):
        covered = weights[k]
        for place in range(n_positions):
            if displays[k, place] != place:
                covered = min(covered, shown[displays[k, place], place])
        for place in range(n_positions):
            shown[displays[k, place], place] -= covered
            queue[end, positions[place]] = items[displays[k, place]]
        if covered < weights[k]:
            end += 1
    return end


@kernel
def _sort(worth: Floats, order: Ints) -> bool:
    """Sort `order` by decreasing worth, equals staying as they are; whether anything moved."""
    moved = False
    for k in range(1, order.size):
        this = order[k]
        j = k
        while j > 0 and worth[order[j - 1]] < worth[this]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = this
        moved = moved or j < k
    return moved
