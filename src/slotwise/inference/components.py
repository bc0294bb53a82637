"""Connected components of the item-position graph. Across components, only the products theta kappa are identified."""

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.jit import kernel


def components(counts: CountArrays) -> tuple[Ints, Ints]:
    """The component labels of all items, and those of all positions. Any count links its item to its position."""
    n_items, n_positions = counts.clicks.shape
    items, positions = np.empty(n_items, np.int64), np.empty(n_positions, np.int64)
    label_components(counts.clicks, counts.skips, np.ones(n_items), np.ones(n_positions), items, positions)
    return items, positions


def components_warning(n_components: int) -> str:
    """A warning for readers of theta and kappa if there are several components."""
    return (
        f"the displays connect items and positions in {n_components} separate components: "
        "compare theta and kappa only within a component"
    )


def unlinked_positions(items: Ints, positions: Ints) -> NDArray[np.bool_]:
    """The observed positions whose component has no other position. `items` and `positions` are component labels.

    In each component, the largest kappa is scaled to 1. So the kappa of such a position is 1, whatever its visibility
    is. A page with a single position has no such position, because its only position is the most visible one.
    """
    alone = (positions[:, None] == positions).sum(axis=1) == 1
    return np.asarray(alone & np.isin(positions, items) & (positions.size > 1))


@kernel
def label_components(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats, items: Ints, positions: Ints) -> int:
    """Fill `items` and `positions` with component labels. Returns the number of components with a positive kappa.

    A count links an item to a position unless the item's theta or the position's kappa is 0. The label of a component
    is the index of its first position. An item without any link gets the label -1.
    """
    n_items, n_positions = clicks.shape
    for position in range(n_positions):
        positions[position] = position
    for _ in range(n_positions):  # each pass moves a label at least one position further
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
    """Scale every draw so that the largest kappa of each component is 1.

    Components with labels below `first` are not scaled.

    A draw is a row of theta and of kappa. Each draw is scaled on its own, because scaling the means would give other
    values. The theta of an unobserved item becomes its click rate at the most visible position, as for all other items.
    The kappa of an unobserved position keeps its prior.
    """
    theta[:, items == -1] *= kappa.max(axis=1, keepdims=True)
    for label in range(first, positions.size):
        members = positions == label
        if members.any() and (items == label).any():
            scale = kappa[:, members].max(axis=1, keepdims=True)
            kappa[:, members] /= scale
            theta[:, items == label] *= scale
