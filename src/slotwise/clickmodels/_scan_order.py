"""The order in which visitors of a cascade look at the positions."""

import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, vector


def as_order(order: ArrayLike | None, n_positions: int) -> Ints:
    """The positions in the order in which visitors look at them, by default from the first to the last."""
    if order is None:
        return np.arange(n_positions)
    given = vector("order", order)
    if sorted(given.tolist()) != list(range(n_positions)):
        raise BadInput(f"order = {given.tolist()} does not name each position from 0 to {n_positions - 1} once")
    return given.astype(np.int64)


def ranks(order: Ints) -> Floats:
    """The rank of each position: 0 for the position that visitors look at first."""
    return np.argsort(order).astype(np.float64)
