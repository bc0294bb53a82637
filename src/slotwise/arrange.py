"""Turn scores into a display: the most attractive items at the most visible positions.

Only this file has the rules for constraints: exclusions override pins, pins override eligibility, and eligibility
overrides the scores.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import BadInput, Floats, Ints
from slotwise.jit import kernel

EMPTY = -1  # display[l] when no item was left for position l
NO_PINS: Mapping[int, int] = {}
_LOW_BITS = (1 << 32) - 1


class InvalidPin(BadInput):
    """A pin is invalid, because its item is not active or, if `twice` is true, is pinned at two positions."""

    def __init__(self, position: int, item: int, twice: bool) -> None:
        super().__init__(f"item {item} " + ("is pinned at two positions" if twice else "is not active"))
        self.position, self.item, self.twice = position, item, twice


def allowed_items(
    active: NDArray[np.bool_], eligible: Sequence[int] | None, excluded: Sequence[int]
) -> NDArray[np.bool_]:
    """Which items may be shown without a pin: those that are active, eligible and not excluded.

    If `eligible` is None, all items are eligible.
    """
    if eligible is None and not excluded:
        return active
    if eligible is None:
        allowed = active.copy()
    else:
        allowed = np.zeros_like(active)
        allowed[eligible] = True
        allowed &= active
    allowed[excluded] = False
    return allowed


def valid_pins(
    pinned: Mapping[int, int],
    active: NDArray[np.bool_],
    excluded: Iterable[int],
    page_pins: Mapping[int, int] = NO_PINS,
) -> dict[int, int]:
    """Return the pins that apply, as {position: item}.

    `pinned` are the pins of one request. A pin of an excluded item is ignored, even if it is invalid. Any other pin
    raises InvalidPin if its item is not active or is pinned at two positions. `page_pins` are the pins of the page. A
    page pin applies under three conditions: its item is active, the request does not exclude this item, and the request
    pins neither this item nor this position.
    """
    pins: dict[int, int] = {}
    excluded = frozenset(excluded)
    for position, item in pinned.items():
        if item in excluded:
            continue
        if not active[item]:
            raise InvalidPin(position, item, twice=False)
        if item in pins.values():
            raise InvalidPin(position, item, twice=True)
        pins[position] = item
    for position, item in page_pins.items():
        if position not in pinned and active[item] and item not in excluded and item not in pins.values():
            pins[position] = item
    return pins


@kernel(inline=True)
def arrange(theta: Floats, kappa: Floats, display: Ints) -> None:
    """Fill `display` with the items of the largest thetas: the larger theta goes to the position with the larger kappa.

    The lower index wins a tie. Callers that need ties broken at random permute the items.
    """
    n_positions = kappa.size
    n_ranked = 0
    for item in range(theta.size):  # insertion into a short sorted list: one comparison for most items
        score = theta[item]
        if n_ranked < n_positions:
            rank = n_ranked
            n_ranked += 1
        elif score > theta[display[n_positions - 1]]:
            rank = n_positions - 1
        else:
            continue
        while rank > 0 and theta[display[rank - 1]] < score:
            display[rank] = display[rank - 1]
            rank -= 1
        display[rank] = item
    for rank in range(n_ranked, n_positions):
        display[rank] = _LOW_BITS
    # display[r] now holds the item of rank r. Move it to the position of rank r through the upper 32 bits, because a
    # second array would cost as much as everything else.
    for position in range(n_positions):
        rank = 0
        for other in range(position):
            rank += kappa[other] >= kappa[position]
        for other in range(position + 1, n_positions):
            rank += kappa[other] > kappa[position]
        display[position] |= (display[rank] & _LOW_BITS) << 32
    for position in range(n_positions):
        display[position] >>= 32  # this restores the sign: EMPTY is -1 again


@kernel
def arrange_among(theta: Floats, kappa: Floats, allowed: NDArray[np.bool_], pinned: Ints, display: Ints) -> None:
    """Arrange the allowed items around the pins. `pinned[l]` is the item that is pinned at position l, or EMPTY.

    A pinned item is shown only at its position, even if it is not allowed. If there are too few items, the least
    visible positions stay EMPTY.
    """
    score = np.empty(theta.size)
    for item in range(theta.size):  # a loop: numba takes seconds to compile np.where
        score[item] = theta[item] if allowed[item] else -np.inf
    free = kappa.copy()
    for position in range(kappa.size):
        if pinned[position] != EMPTY:
            score[pinned[position]] = -np.inf
            free[position] = -np.inf
    arrange(score, free, display)
    for position in range(kappa.size):
        if pinned[position] != EMPTY:
            display[position] = pinned[position]
        elif display[position] != EMPTY and score[display[position]] == -np.inf:
            display[position] = EMPTY
