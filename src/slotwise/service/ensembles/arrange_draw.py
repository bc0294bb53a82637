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
    """Where a display belongs in the scores: its segment, the row of each segment and item, and its columns."""

    segment: int
    rows: Int32s  # segments x items; a negative number if there is no row
    columns: Ints


class ExtraItems(NamedTuple):
    """Items without a row that take part in one display. They are allowed and not pinned."""

    items: Ints
    theta: Floats


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
    scores: Scores, draw: int, extra: ExtraItems, place: DisplayPlace, rules: DisplayRules, display: Ints
) -> None:
    """Fill the display by one draw. Of the items without a row, only the extra ones take part.

    On a large page, the leaders of the draw are tried first. If too few of them are allowed, all items are compared.
    """
    thetas, kappas, leaders = scores
    segment, rows, columns = place
    allowed, pins, preferred, item_rules = rules
    extra_items, extra_theta = extra
    values = item_rules.values
    kappa = np.empty(columns.size)
    for position in range(columns.size):
        kappa[position] = kappas[draw, columns[position]]
    if leaders.shape[2] > 0:
        listed = _candidates(leaders[draw, segment], extra_items, rules)
        if listed.size > 0:
            theta = np.zeros(listed.size)
            n_drawn = listed.size - extra_items.size
            for k in range(n_drawn):
                if listed[k] < rows.shape[1] and rows[segment, listed[k]] >= 0:  # a pinned item may have no row
                    theta[k] = thetas[draw, rows[segment, listed[k]]]
            for k in range(extra_items.size):
                theta[n_drawn + k] = extra_theta[k]
            if values.size > 0:
                for k in range(listed.size):
                    theta[k] *= values[listed[k]]
            _arrange_listed(theta, kappa, listed, rules, display)
            return
    theta = np.full(allowed.size, -np.inf)
    for item in range(rows.shape[1]):
        if rows[segment, item] >= 0:
            theta[item] = thetas[draw, rows[segment, item]]
    for k in range(extra_items.size):
        theta[extra_items[k]] = extra_theta[k]
    for item in range(values.size):
        if theta[item] != -np.inf:
            theta[item] *= values[item]
    if preferred[0] != EMPTY:  # a preferred display is never empty at its first position
        _prefer(theta, kappa, preferred)
    limit = ItemRules(np.empty(0), item_rules.categories, item_rules.most_per_category)  # theta has the values already
    arrange_among(theta, kappa, allowed, pins, limit, display)


@kernel(nogil=False)
def arrange_draws(scores: Scores, extra: ExtraItems, place: DisplayPlace, rules: DisplayRules, displays: Ints) -> None:
    """Fill a display by each draw: draws x positions."""
    for draw in range(displays.shape[0]):
        arrange_draw(scores, draw, extra, place, rules, displays[draw])


@kernel
def _candidates(leaders: Int32s, extra_items: Ints, rules: DisplayRules) -> Ints:
    """The items that can be in the display: pinned and preferred items, enough leaders, and then all extra items.

    The result is empty if too few leaders are allowed. Fewer are enough if the leaders are all items with a row.
    """
    allowed, pins, preferred, item_rules = rules
    has_limit = item_rules.most_per_category != NO_LIMIT and item_rules.categories.size > 0
    listed = np.empty(3 * pins.size + extra_items.size, np.int64)
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
        if n_found == n_free or leaders[k] == EMPTY:
            break
        item = leaders[k]
        if not allowed[item] or _contains(listed, n_given, item):
            continue
        if not has_limit or _has_room(item, listed[n_given:n_listed], pins, item_rules):
            listed[n_listed] = item
            n_listed += 1
            n_found += 1
    if n_found < n_free and leaders[leaders.size - 1] != EMPTY:
        return listed[:0]
    for k in range(extra_items.size):
        listed[n_listed] = extra_items[k]
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
