"""From scores to a display: the most attractive items on the most visible positions.

Every constraint (which items may be shown, which are pinned) is met here and nowhere else.
"""

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

EMPTY = -1  # display[l] when no item was left for position l
_LOW_BITS = (1 << 32) - 1


@kernel(inline=True)
def arrange(theta: Floats, kappa: Floats, display: Ints) -> None:
    """Fill `display`: the largest thetas, in decreasing order, on positions by decreasing kappa.

    The lower index wins a tie; callers who need ties broken at random permute the items.
    """
    n_positions = kappa.size
    found = 0
    for item in range(theta.size):  # insertion into a short sorted list: one comparison for most items
        worth = theta[item]
        if found < n_positions:
            rank = found
            found += 1
        elif worth > theta[display[n_positions - 1]]:
            rank = n_positions - 1
        else:
            continue
        while rank > 0 and theta[display[rank - 1]] < worth:
            display[rank] = display[rank - 1]
            rank -= 1
        display[rank] = item
    for rank in range(found, n_positions):
        display[rank] = _LOW_BITS
    # display[r] now holds the item of rank r; move it to the position of rank r by way of the upper 32 bits,
    # since an array of its own would cost as much as all the rest
    for position in range(n_positions):
        rank = 0
        for other in range(position):
            rank += kappa[other] >= kappa[position]
        for other in range(position + 1, n_positions):
            rank += kappa[other] > kappa[position]
        display[position] |= (display[rank] & _LOW_BITS) << 32
    for position in range(n_positions):
        display[position] >>= 32  # the sign comes back with it: EMPTY is -1 again


@kernel
def arrange_among(theta: Floats, kappa: Floats, allowed: NDArray[np.bool_], pinned: Ints, display: Ints) -> None:
    """The same among the allowed items, with item `pinned[l]` (or EMPTY) already at position l.

    A pinned item is shown whether allowed or not, and nowhere else. When items run out, the least visible
    positions stay EMPTY.
    """
    worth = np.where(allowed, theta, -np.inf)
    free = kappa.copy()
    for position in range(kappa.size):
        if pinned[position] != EMPTY:
            worth[pinned[position]] = -np.inf
            free[position] = -np.inf
    arrange(worth, free, display)
    for position in range(kappa.size):
        if pinned[position] != EMPTY:
            display[position] = pinned[position]
        elif display[position] != EMPTY and worth[display[position]] == -np.inf:
            display[position] = EMPTY
