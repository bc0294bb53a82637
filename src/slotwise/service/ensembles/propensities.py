"""Propensities of a random order: the probability with which it shows an item at a position, given the constraints.

`picked_displays` has those of learnt displays.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, NO_CATEGORY, ItemRules
from slotwise.checks import Floats, Ints

MOST_LIMITED = 5_000  # items, if categories have a limit; above, the integral is not exact enough
_MOST_NODES = 256
_TOLERANCE = 1e-9
Groups = tuple[tuple[int, int], ...]  # (items, room for them) of each category


class RandomOrder(NamedTuple):
    """The law of displays in random order under some constraints."""

    pins: list[int]  # item or EMPTY of each position
    shares: dict[int, list[float]]  # category -> the probability of each of its items at each rank among the others
    categories: Ints  # of all items; empty if the probability does not depend on the category

    def propensities(self, display: Ints) -> list[float]:
        """The probability of each item of a display at its position."""
        found, rank = [], 0
        for item, pin in zip(display.tolist(), self.pins, strict=True):
            if pin != EMPTY:
                found.append(1.0)
                continue
            category = int(self.categories[item]) if self.categories.size else NO_CATEGORY
            found.append(1.0 if item == EMPTY else self.shares[category][rank])
            rank += 1
        return found


def random_order(allowed: NDArray[np.bool_], pins: Ints, rules: ItemRules) -> RandomOrder | None:
    """The law of a random order. None if it is not known.

    Every allowed item is equally likely at each position without a pin. With a limit, the items are drawn one by one,
    and those of a full category are skipped. Then items of a small category are more likely than others.
    """
    pinned = [pin for pin in pins.tolist() if pin != EMPTY]
    n_items = int(np.count_nonzero(allowed)) - sum(bool(allowed[item]) for item in pinned)
    if not rules.has_limit:
        return RandomOrder(pins.tolist(), {NO_CATEGORY: [1.0 / max(n_items, 1)] * pins.size}, np.empty(0, np.int64))
    if n_items > MOST_LIMITED:
        return None
    free = allowed.copy()
    free[pinned] = False
    names, sizes = np.unique(rules.categories[free], return_counts=True)
    taken = np.bincount(rules.categories[pinned] + 1, minlength=int(rules.categories.max()) + 2)[1:]
    room = [
        int(size) if name == NO_CATEGORY else max(rules.most_per_category - int(taken[name]), 0)
        for name, size in zip(names.tolist(), sizes.tolist(), strict=True)
    ]
    groups = tuple((size, min(size, places)) for size, places in zip(sizes.tolist(), room, strict=True))
    shares = limited_shares(tuple(sorted(groups)), pins.size - len(pinned))
    if shares is None:
        return None
    by_category = {name: shares[group] for name, group in zip(names.tolist(), groups, strict=True)}
    return RandomOrder(pins.tolist(), by_category, rules.categories)


@lru_cache(1_000)
def limited_shares(groups: Groups, n_positions: int) -> dict[tuple[int, int], list[float]] | None:
    """The probability that an item of each kind of category is drawn at each rank. None if it is not exact enough.

    Give every item an independent uniform time. Items come in the order of their times, and each category takes its
    first ones until it has no room. Given the time t of one item, the categories are independent, and in each of them a
    binomial number of items came before t. The probability is the integral over t. Its integrand is a polynomial, which
    Gauss-Legendre quadrature integrates exactly.
    """
    nodes, weights = _quadrature(sum(size for size, _ in groups))
    kinds = {kind: groups.count(kind) for kind in groups}
    taken = {(size, room): _taken(size, room, nodes, n_positions) for size, room in kinds}
    shares, totals = {}, np.zeros(n_positions)
    for size, room in kinds:
        others = _nothing(nodes.size, n_positions)
        for kind, number in kinds.items():
            others = _convolve(others, _power(taken[kind], number - (kind == (size, room))))
        own = _binomial(size - 1, nodes, min(room, n_positions))  # items of this category that came before
        before = _convolve(np.pad(own, ((0, 0), (0, n_positions - own.shape[1]))), others)
        shares[size, room] = weights @ before
        totals += kinds[size, room] * size * shares[size, room]
    n_shown = min(n_positions, sum(room for _, room in groups))
    if np.abs(totals[:n_shown] - 1.0).max(initial=0.0) > _TOLERANCE:
        return None
    return {kind: share.tolist() for kind, share in shares.items()}


@lru_cache(16)
def _nodes(size: int) -> tuple[Floats, Floats]:
    nodes, weights = np.polynomial.legendre.leggauss(size)
    return (nodes + 1.0) / 2.0, weights / 2.0


def _quadrature(degree: int) -> tuple[Floats, Floats]:
    """Nodes and weights on [0, 1] that integrate polynomials below this degree, up to a largest number of nodes."""
    size = 8
    while 2 * size < degree and size < _MOST_NODES:
        size *= 2
    return _nodes(size)


def _binomial(size: int, nodes: Floats, most: int) -> Floats:
    """Nodes x counts: the probability that 0, 1, ..., most - 1 of `size` items have a time before the node."""
    found = np.empty((nodes.size, most))
    for count in range(most):
        if count > size:
            found[:, count] = 0.0
        elif count == 0:
            found[:, 0] = (1.0 - nodes) ** size
        else:
            found[:, count] = found[:, count - 1] * (size - count + 1) / count * nodes / (1.0 - nodes)
    return found


def _taken(size: int, room: int, nodes: Floats, n_positions: int) -> Floats:
    """Nodes x counts: the probability that a category has taken 0, 1, ..., n_positions - 1 items before the node."""
    found = np.zeros((nodes.size, n_positions))
    exact = _binomial(size, nodes, min(room, n_positions))
    found[:, : exact.shape[1]] = exact
    if room < n_positions:  # the category is full
        found[:, room] = 1.0 - exact.sum(axis=1)
    return found


def _nothing(n_nodes: int, n_positions: int) -> Floats:
    found = np.zeros((n_nodes, n_positions))
    found[:, 0] = 1.0
    return found


def _convolve(left: Floats, right: Floats) -> Floats:
    """The law of the sum of two independent counts at each node, up to the largest count."""
    found = np.zeros_like(left)
    for count in range(left.shape[1]):
        found[:, count:] += left[:, count : count + 1] * right[:, : right.shape[1] - count]
    return found


def _power(law: Floats, number: int) -> Floats:
    """The law of the sum of this many independent counts."""
    result, square = _nothing(*law.shape), law
    while number:
        if number & 1:
            result = _convolve(result, square)
        square, number = _convolve(square, square), number >> 1
    return result
