"""PMED: it shows every item at every position as often as the regret lower bound requires, otherwise the best display.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias".
The order of the positions by visibility is known; the visibilities are not.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, empty
from slotwise.inference.bounds.birkhoff_decomposition import decompose, max_displays
from slotwise.inference.bounds.nearest_alternative import RankedModel, ranked_model
from slotwise.inference.bounds.regret_program import RegretProgram, regret_program, solve_regret_program
from slotwise.inference.estimation.ordered_em import most_likely
from slotwise.jit import kernel
from slotwise.policies._common import count_display

PASSES = 100
PASS_TOLERANCE = 1e-6


class Params(NamedTuple):
    """Settings. The name in brackets is the paper's."""

    model: Model  # the true model; the policy reads the order of its kappas. Without a model, positions are in order
    exploration: float = 1.0  # (alpha) every item is displayed exploration x sqrt(log t) times at every position
    tolerance: float = 0.01  # relative tolerance of the solution of the program


class State(NamedTuple):
    """Counts, the queue of displays, and warm starts of estimates and solutions.

    Only the counts hold what was learnt.
    """

    counts: CountArrays
    theta: Floats
    kappa: Floats
    positions: Ints  # by decreasing visibility
    items: Ints  # by decreasing attractiveness
    program: RegretProgram
    queue: Ints  # displays x L
    queue_range: Ints  # the next display in the queue, and the end of the queue


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if not 0.0 <= params.exploration < math.inf:
        return f"exploration = {params.exploration!r} is not a number of at least 0"
    if not 1e-6 <= params.tolerance <= 0.5:
        return f"tolerance = {params.tolerance!r} is not in [1e-6, 0.5]"
    return None


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
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
    """Show the next display of the queue. If the queue is empty, add the missing displays and the best one (Alg. 1)."""
    queue, queue_range, positions, items = state.queue, state.queue_range, state.positions, state.items
    if queue_range[0] >= queue_range[1]:
        queue_range[0] = 0
        log_t = math.log(1.0 + state.counts.displays[0])
        queue_range[1] = queue_cycle(params.exploration * math.sqrt(log_t), state.counts, positions, queue)
        solve_regret_program(estimate(state), params.tolerance, state.program)
        queue_range[1] = queue_missing(log_t, state.program.q, state.counts, items, positions, queue, queue_range[1])
        for rank in range(positions.size):
            queue[queue_range[1], positions[rank]] = items[rank]
        queue_range[1] += 1
    for position in range(display.size):
        display[position] = queue[queue_range[0], position]
    queue_range[0] += 1


update = count_display(__name__)


@kernel
def queue_cycle(least: float, counts: CountArrays, positions: Ints, queue: Ints) -> int:
    """Queue displays that show some item that was shown fewer than `least` times at its position.

    The candidates are the N displays of items m, m+1, ... for each m. Returns the number of displays queued.
    """
    clicks, skips = counts.clicks, counts.skips
    n_items, n_positions = clicks.shape
    end = 0
    for first in range(n_items):
        missing = False
        for rank in range(n_positions):
            item, position = (first + rank) % n_items, positions[rank]
            queue[end, position] = item
            missing = missing or clicks[item, position] + skips[item, position] < least
        if missing:
            end += 1
    return end


@kernel
def estimate(state: State) -> RankedModel:
    """The most likely model, with ranked items and positions. The program needs a model without ties, zeros or ones.

    With t displays, the relative precision of a value is 1 / sqrt(t). Values that differ by less are moved apart until
    they differ by this precision.
    """
    counts, positions, items = state.counts, state.positions, state.items
    n_items, n_positions = counts.clicks.shape
    most_likely(counts, positions, PASSES, PASS_TOLERANCE, state.theta, state.kappa)
    if _sort(state.theta, items):
        state.program.n_alternatives[0] = 0  # alternatives use ranks, so a new ranking invalidates them
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
def queue_missing(
    log_t: float, q: Floats, counts: CountArrays, items: Ints, positions: Ints, queue: Ints, end: int
) -> int:
    """Decompose q log t into displays, and queue those that were not shown often enough. Returns the end of the queue.

    The counts say what was shown. Each display uses up the counts that it needs, so that no round counts for two
    displays. Items at their own position in the best display need no counts, because q_ll is free.
    """
    n_items, n_positions = q.shape
    required, available = np.empty((n_items, n_positions)), np.empty((n_items, n_positions))
    for rank in range(n_items):
        for column in range(n_positions):
            item, position = items[rank], positions[column]
            required[rank, column] = log_t * q[rank, column]
            available[rank, column] = counts.clicks[item, position] + counts.skips[item, position]
    most = max_displays(n_items, n_positions)
    displays, weights = np.empty((most, n_positions), np.int64), np.empty(most)
    for k in range(decompose(required, displays, weights)):
        covered = weights[k]
        for column in range(n_positions):
            if displays[k, column] != column:
                covered = min(covered, available[displays[k, column], column])
        for column in range(n_positions):
            available[displays[k, column], column] -= covered
            queue[end, positions[column]] = items[displays[k, column]]
        if covered < weights[k]:
            end += 1
    return end


@kernel
def _sort(values: Floats, order: Ints) -> bool:
    """Sort the indices in `order` by decreasing value. The sort is stable. Returns whether the order changed."""
    changed = False
    for k in range(1, order.size):
        current = order[k]
        j = k
        while j > 0 and values[order[j - 1]] < values[current]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = current
        changed = changed or j < k
    return changed
