"""The kernel that arranges a display by one draw of an ensemble."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, NO_CATEGORY, NO_LIMIT, ItemRules, arrange_among
from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.ensemble_draws import Float32s
from slotwise.jit import kernel

Int32s = NDArray[np.int32]


class Scores(NamedTuple):
    """Scores of rows and columns of the count matrix. Each draw has its own."""

    theta: Float32s  # M x rows
    kappa: Float32s  # M x columns
    leaders: Int32s  # M x segments x K: the best items of each draw and segment, best first; K = 0 on small pages


class DisplayPlace(NamedTuple):
    """Where a display belongs in the count matrix: its segment, and the columns of its positions."""

    segment: int
    n_segments: int
    columns: Ints


class DisplayRules(NamedTuple):
    """Which items may be shown, the pins, a display to be preferred, and the values and limits.

    Pins and the preferred display may be EMPTY at a position.
    """

    allowed: NDArray[np.bool_]
    pins: Ints
    preferred: Ints
    items: ItemRules


@kernel(nogil=False)
def arrange_draw(
    scores: Scores, draw: int, later_items: Floats, place: DisplayPlace, rules: DisplayRules, display: Ints
) -> None:
    """Fill the display by one draw. `later_items` has the thetas of items that were added after the draws were made.

    On a large page, the leaders of the draw are tried first. If too few of them are allowed, all items are compared.
    """
    thetas, kappas, leaders = scores
    segment, n_segments, columns = place
    allowed, pins, preferred, item_rules = rules
    values = item_rules.values
    n_drawn = allowed.size - later_items.size
    kappa = np.empty(columns.size)
    for position in range(columns.size):
        kappa[position] = kappas[draw, columns[position]]
    if leaders.shape[2] > 0:
        listed = _candidates(leaders[draw, segment], n_drawn, rules)
        if listed.size > 0:
            theta = np.empty(listed.size)
            for k in range(listed.size):
                item = listed[k]
                theta[k] = thetas[draw, item * n_segments + segment] if item < n_drawn else later_items[item - n_drawn]
                if values.size > 0:
                    theta[k] *= values[item]
            _arrange_listed(theta, kappa, listed, rules, display)
            return
    theta = np.empty(allowed.size)
    for item in range(n_drawn):
        theta[item] = thetas[draw, item * n_segments + segment]
    for item in range(n_drawn, allowed.size):
        theta[item] = later_items[item - n_drawn]
    for item in range(values.size):
        theta[item] *= values[item]
    if preferred[0] != EMPTY:  # a preferred display is never empty at its first position
        _prefer(theta, kappa, preferred)
    limit = ItemRules(np.empty(0), item_rules.categories, item_rules.most_per_category)  # theta has the values already
    arrange_among(theta, kappa, allowed, pins, limit, display)


@kernel
def _candidates(leaders: Int32s, n_drawn: int, rules: DisplayRules) -> Ints:
    """The items that can be in the display: pinned and preferred items, enough leaders, and all later items.

    The result is empty if too few leaders are allowed.
    """
    allowed, pins, preferred, item_rules = rules
    has_limit = item_rules.most_per_category != NO_LIMIT and item_rules.categories.size > 0
    listed = np.empty(3 * pins.size + allowed.size - n_drawn, np.int64)
    n_listed, n_free = 0, 0
    for position in range(pins.size):
        if pins[position] == EMPTY:
            n_free += 1
        else:
            listed[n_listed] = pins[position]
            n_listed += 1
    if preferred[0] != EMPTY:
        for position in range(preferred.size):
            item = preferred[position]
            if allowed[item] and not _contains(listed, n_listed, item):
                listed[n_listed] = item
                n_listed += 1
    n_given, n_found = n_listed, 0
    for k in range(leaders.size):
        if n_found == n_free:
            break
        item = leaders[k]
        if not allowed[item] or _contains(listed, n_given, item):
            continue
        if not has_limit or _has_room(item, listed[n_given:n_listed], pins, item_rules):
            listed[n_listed] = item
            n_listed += 1
            n_found += 1
    if n_found < n_free:
        return listed[:0]
    for item in range(n_drawn, allowed.size):
        if allowed[item] and not _contains(listed, n_given, item):
            listed[n_listed] = item
            n_listed += 1
    return listed[:n_listed]


@kernel
def _arrange_listed(theta: Floats, kappa: Floats, listed: Ints, rules: DisplayRules, display: Ints) -> None:
    """Arrange listed items, all of which are allowed or pinned. `theta` has their scores."""
    pins, preferred = _indices(rules.pins, listed), _indices(rules.preferred, listed)
    if rules.preferred[0] != EMPTY:
        _prefer(theta, kappa, preferred)
    categories, most = rules.items.categories, rules.items.most_per_category
    limit = ItemRules(np.empty(0), categories[listed] if categories.size > 0 else categories, most)
    arrange_among(theta, kappa, np.ones(listed.size, np.bool_), pins, limit, display)
    for position in range(display.size):
        if display[position] != EMPTY:
            display[position] = listed[display[position]]


@kernel
def _indices(items: Ints, listed: Ints) -> Ints:
    """The index of each item in the list, or EMPTY."""
    indices = np.full(items.size, EMPTY, np.int64)
    for position in range(items.size):
        for k in range(listed.size):
            if items[position] == listed[k]:
                indices[position] = k
    return indices


@kernel
def _has_room(item: int, shown: Ints, pins: Ints, rules: ItemRules) -> bool:
    """Whether the category of an item has room for it beside the pins and the shown items."""
    categories, category, same = rules.categories, rules.categories[item], 0
    for k in range(shown.size):
        same += categories[shown[k]] == category
    for position in range(pins.size):
        same += pins[position] != EMPTY and categories[pins[position]] == category
    return category == NO_CATEGORY or same < rules.most_per_category


@kernel(inline=True)
def _contains(listed: Ints, size: int, item: int) -> bool:
    found = False
    for k in range(size):
        found = found or listed[k] == item
    return found


@kernel
def _prefer(theta: Floats, kappa: Floats, preferred: Ints) -> None:
    """Raise the scores of the preferred items above all others, in an order that puts each at its position."""
    above = theta.max()
    for position in range(preferred.size):
        if preferred[position] == EMPTY:
            continue
        rank = 0
        for other in range(position):
            rank += kappa[other] >= kappa[position]
        for other in range(position + 1, preferred.size):
            rank += kappa[other] > kappa[position]
        theta[preferred[position]] = above + preferred.size - rank
