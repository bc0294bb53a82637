"""Connected components of the item-position graph: across components only the products theta kappa are identified."""

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.jit import kernel


def components(counts: CountArrays) -> tuple[Ints, Ints]:
    """Component labels of all items and all positions; an item and a position are linked by any count."""
    n_items, n_positions = counts.clicks.shape
    items, positions = np.empty(n_items, np.int64), np.empty(n_positions, np.int64)
    label_components(counts.clicks, counts.skips, np.ones(n_items), np.ones(n_positions), items, positions)
    return items, positions


@kernel
def label_components(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats, items: Ints, positions: Ints) -> int:
    """Fill `items` and `positions` with component labels. Returns the number of components with a positive kappa.

    A count links an item to a position unless its theta or kappa is 0. The label of a component is its first position;
    an item without any link gets -1.
    """
    n_items, n_positions = clicks.shape
    for position in range(n_positions):
        positions[position] = position
    for _ in range(n_positions):  # each pass carries a label at least one position further
        changed = False
        for item in range(n_items):
            least = n_positions
            if theta[item] > 0.0:
                for position in range(n_positions):
                    if clicks[item, position] + skips[item, position] > 0.0 and kappa[position] > 0.0:
                        least = min(least, positions[position])
                for position in range(n_positions):
                    if clicks[item, position] + skips[item, position] > 0.0 and kappa[position] > 0.0:
                        changed |= positions[position] != least
                        positions[position] = least
            items[item] = least if least < n_positions else -1
        if not changed:
            break
    count = 0
    for position in range(n_positions):
        count += positions[position] == position and kappa[position] > 0.0
    return count


def normalise(theta: Floats, kappa: Floats, items: Ints, positions: Ints, first: int) -> None:
    """Scale every draw (a row of theta and of kappa) so that the largest kappa is 1, in each component >= `first`.

    Each draw is scaled on its own; scaling the means instead would give other values. The theta of an unobserved item
    becomes its click rate at the most visible position, as for all other items. The kappa of an unobserved position
    keeps its prior.
    """
    theta[:, items == -1] *= kappa.max(axis=1, keepdims=True)
    for label in range(first, positions.size):
        members = positions == label
        if members.any() and (items == label).any():
            scale = kappa[:, members].max(axis=1, keepdims=True)
            kappa[:, members] /= scale
            theta[:, items == label] *= scale
