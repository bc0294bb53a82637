"""Connected components of the item-position graph: across components only the products theta kappa are identified."""

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.jit import kernel


def components(counts: CountArrays) -> tuple[Ints, Ints]:
    """Component labels of all items and all positions; an item and a position are linked by any count."""
    n_items, n_positions = counts.clicks.shape
    items, positions = np.empty(n_items, np.int64), np.empty(n_positions, np.int64)
    label_components(counts.clicks, counts.skips, np.ones(n_items), np.ones(n_positions), items, positions)
    return items, positions


def components_warning(n_components: int) -> str:
    """What a reader of theta and kappa must know about a design with several components."""
    return (
        f"the displays connect items and positions in {n_components} separate components: "
        "compare theta and kappa only within a component"
    )


def unlinked_positions(items: Ints, positions: Ints) -> NDArray[np.bool_]:
    """The positions that no count links to another one, by the labels of their components.

    Scaled to a largest kappa of 1, the kappa of such a position is 1 whatever its visibility is. A page with a single
    position has none: there, the only position is the most visible one.
    """
    alone = (positions[:, None] == positions).sum(axis=1) == 1
    return np.asarray(alone & np.isin(positions, items) & (positions.size > 1))


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
