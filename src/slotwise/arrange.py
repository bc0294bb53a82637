"""Turn scores into a display: the most attractive items at the most visible positions.

Only this file has the rules for constraints: exclusions override pins, pins override eligibility and the limit of a
category, and these override the scores.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import BadInput, Floats, Ints
from slotwise.jit import kernel

EMPTY = -1  # display[l] when no item was left for position l
NO_PINS: Mapping[int, int] = {}
NO_CATEGORY = -1  # the category of an item that has none
NO_LIMIT = 0  # `most_per_category` when there is no limit
_LOW_BITS = (1 << 32) - 1


class ItemRules(NamedTuple):
    """What a click on each item is worth, and how many items of one category a display may have.

    An array is empty if all items have the value 1, or if no item has a category.
    """

    values: Floats
    categories: Ints  # the number of the category of each item, or NO_CATEGORY
    most_per_category: int  # or NO_LIMIT

    @property
    def has_limit(self) -> bool:
        """Whether some category has a limit."""
        return self.most_per_category != NO_LIMIT and self.categories.size > 0


NO_RULES = ItemRules(np.empty(0), np.empty(0, np.int64), NO_LIMIT)


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
def arrange_among(
    theta: Floats, kappa: Floats, allowed: NDArray[np.bool_], pinned: Ints, rules: ItemRules, display: Ints
) -> None:
    """Arrange the allowed items around the pins, so that the sum of value x theta x kappa is as large as possible.

    `pinned[l]` is the item that is pinned at position l, or EMPTY. A pinned item is shown only at its position, even if
    it is not allowed. It counts towards the limit of its category, which it may exceed. If there are too few items, the
    least visible positions stay EMPTY.
    """
    score = _weighted(theta, allowed, rules.values)
    free, n_free = kappa.copy(), kappa.size
    for position in range(kappa.size):
        if pinned[position] != EMPTY:
            score[pinned[position]] = -np.inf
            free[position] = -np.inf
            n_free -= 1
    if rules.most_per_category != NO_LIMIT and rules.categories.size > 0:
        _arrange_limited(score, free, n_free, pinned, rules, display)
    else:
        arrange(score, free, display)
    for position in range(kappa.size):
        if pinned[position] != EMPTY:
            display[position] = pinned[position]
        elif display[position] != EMPTY and score[display[position]] == -np.inf:
            display[position] = EMPTY


@kernel
def _weighted(theta: Floats, allowed: NDArray[np.bool_], values: Floats) -> Floats:
    """The scores of the allowed items, each multiplied by its value. Other items have the score -inf."""
    score = np.empty(theta.size)
    for item in range(theta.size):  # a loop: numba takes seconds to compile np.where
        score[item] = theta[item] if allowed[item] else -np.inf
    for item in range(values.size):
        if score[item] != -np.inf:
            score[item] = values[item] * score[item] if values[item] > 0.0 else 0.0  # not NaN if the score is infinite
    return score


@kernel
def _arrange_limited(score: Floats, free: Floats, n_free: int, pinned: Ints, rules: ItemRules, display: Ints) -> None:
    """Like `arrange`, with a limit of the items of each category.

    The items that can be shown together are the independent sets of a matroid, so the greedy choice is the best one:
    at every rank, its item has the largest possible score. Hence no arrangement has a larger sum.
    """
    chosen = np.empty(n_free, np.int64)
    n_chosen = _choose_limited(score, pinned, rules, chosen)
    best = np.empty(n_chosen)
    for rank in range(n_chosen):
        best[rank] = score[chosen[rank]]
    arrange(best, free, display)
    for position in range(display.size):
        if display[position] != EMPTY:
            display[position] = chosen[display[position]]


@kernel
def _choose_limited(score: Floats, pinned: Ints, rules: ItemRules, chosen: Ints) -> int:
    """Fill `chosen` with the best items, best first, and return their number. The lower index wins a tie.

    The items are added one by one. An item that does not fit replaces the worst item of its category, if that is full,
    or else the worst of all.
    """
    categories, most = rules.categories, rules.most_per_category
    n_chosen = 0
    for item in range(score.size):
        if score[item] == -np.inf:
            continue
        if n_chosen == chosen.size and (n_chosen == 0 or score[item] <= score[chosen[n_chosen - 1]]):
            continue
        rank, same, last = n_chosen, 0, -1
        if categories[item] != NO_CATEGORY:
            for position in range(pinned.size):
                same += pinned[position] != EMPTY and categories[pinned[position]] == categories[item]
            for k in range(n_chosen):
                if categories[chosen[k]] == categories[item]:
                    same += 1
                    last = k
        if categories[item] != NO_CATEGORY and same >= most:
            if last < 0 or score[item] <= score[chosen[last]]:
                continue
            rank = last
        elif n_chosen == chosen.size:
            rank = n_chosen - 1
        else:
            n_chosen += 1
        while rank > 0 and score[chosen[rank - 1]] < score[item]:
            chosen[rank] = chosen[rank - 1]
            rank -= 1
        chosen[rank] = item
    return n_chosen


@kernel
def within_limit(display: Ints, rules: ItemRules) -> bool:
    """Whether a display without empty positions stays within the limit of each category."""
    categories, most = rules.categories, rules.most_per_category
    if most == NO_LIMIT or categories.size == 0:
        return True
    for position in range(display.size):
        category, same = categories[display[position]], 0
        for other in range(display.size):
            same += categories[display[other]] == category
        if category != NO_CATEGORY and same > most:
            return False
    return True


def most_shown(allowed: NDArray[np.bool_], pinned: Iterable[int], rules: ItemRules) -> int:
    """How many items a display could have if it had enough positions: the pins, and allowed items within the limit."""
    free, pins = allowed.copy(), list(pinned)
    free[pins] = False
    if not rules.has_limit:
        return int(free.sum()) + len(pins)
    numbers = rules.categories[free]
    taken = np.bincount(rules.categories[pins] + 1, minlength=int(rules.categories.max()) + 2)[1:]
    room = np.maximum(rules.most_per_category - taken, 0)
    fitting = np.minimum(np.bincount(numbers + 1, minlength=room.size + 1)[1:], room).sum()
    return int((numbers == NO_CATEGORY).sum() + fitting) + len(pins)
