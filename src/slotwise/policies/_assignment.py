"""The assignment with the largest sum of scores: one item for each position, and no item twice.

This is the Hungarian method with shortest augmenting paths, O(L L N); Jonker and Volgenant 1987, "A Shortest Augmenting
Path Algorithm for Dense and Sparse Linear Assignment Problems". `scipy.optimize.linear_sum_assignment` cannot be called
from kernels.
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.jit import kernel


class AssignmentSpace(NamedTuple):
    """Work space of `assign`."""

    item_price: Floats  # N + 1; the last one stands for a position that is not assigned yet
    position_price: Floats  # L
    position_of: Ints  # N + 1
    shortest: Floats  # N
    before: Ints  # N
    visited: Ints  # N + 1


@kernel
def assignment_space(n_items: int, n_positions: int) -> AssignmentSpace:
    """Work space for a page of this size."""
    return AssignmentSpace(
        np.zeros(n_items + 1),
        np.zeros(n_positions),
        np.zeros(n_items + 1, np.int64),
        np.zeros(n_items),
        np.zeros(n_items, np.int64),
        np.zeros(n_items + 1, np.int64),
    )


@kernel
def assign(scores: Floats, space: AssignmentSpace, display: Ints) -> None:
    """Fill the display so that the sum of `scores[display[l], l]` is as large as possible."""
    n_items, n_positions = scores.shape
    item_price, position_price, position_of = space.item_price, space.position_price, space.position_of
    shortest, before, visited = space.shortest, space.before, space.visited
    for other in range(n_items + 1):
        item_price[other], position_of[other] = 0.0, EMPTY
    for position in range(n_positions):
        position_price[position] = 0.0
    for start in range(n_positions):
        for other in range(n_items):
            shortest[other], visited[other] = np.inf, 0
        visited[n_items] = 0
        position_of[n_items] = start
        item = n_items
        while position_of[item] != EMPTY:  # extend the shortest path until it ends at a free item
            visited[item] = 1
            position, following, least = int(position_of[item]), EMPTY, np.inf
            for other in range(n_items):
                if visited[other]:
                    continue
                length = -scores[other, position] - position_price[position] - item_price[other]
                if length < shortest[other]:
                    shortest[other], before[other] = length, item
                if shortest[other] < least:
                    least, following = shortest[other], other
            for other in range(n_items + 1):
                if visited[other]:
                    position_price[position_of[other]] += least
                    item_price[other] -= least
                elif other < n_items:
                    shortest[other] -= least
            item = following
        while item != n_items:  # move the positions of the path by one item
            position_of[item] = position_of[before[item]]
            item = int(before[item])
    for other in range(n_items):
        if position_of[other] != EMPTY:
            display[position_of[other]] = other
