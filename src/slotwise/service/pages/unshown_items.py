"""Items without a row in the ensemble. They take part in a display with draws that are made for it.

Items without counts and without a prior of their own are exchangeable: their thetas are independent draws from the same
law. So only the largest draws matter, and each of them belongs to a random one of these items. Their number does not
change the time that this takes.
"""

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.service.pages.arrange_draw import ExtraItems, Int32s
from slotwise.service.pages.count_matrix import NO_ROW
from slotwise.service.pages.largest_draws import largest_draws

MOST_WITH_PRIOR = 2_000  # items with a prior of their own, but without a row, that take part in one display
NO_EXTRA_ITEMS = ExtraItems(np.empty(0, np.int64), np.empty(0))
Bools = NDArray[np.bool_]


class UnshownItems:
    """The items of a page that have no row in an ensemble. `priors` has the clicks and skips of their own priors."""

    def __init__(self, rows: Int32s, priors: Floats) -> None:
        n_drawn, n_items = rows.shape[1], priors.shape[1]
        self._rows = rows
        without_row: Bools = np.asarray(priors.any(axis=0))
        self._shares_prior: Bools = ~without_row
        without_row[:n_drawn] &= rows[0] == NO_ROW  # a prior gives an item its rows for all segments at once
        self.with_prior = np.flatnonzero(without_row)  # these compete with draws from the law and their own prior
        self._priors = priors[:, self.with_prior]
        self._any_shared = n_items > n_drawn or bool((rows == NO_ROW).any())
        self._masks: dict[int, Bools] = {}  # segment -> the exchangeable items
        self._listed: dict[int, tuple[Bools, Ints]] = {}  # segment -> the active items, and those that are exchangeable

    def take_part(self, segment: int, allowed: Bools, active: Bools) -> bool:
        """Whether a display can show such an item. Then displays from the same draw of the ensemble differ."""
        if not self._any_shared and not self.with_prior.size:
            return False
        return self._exchangeable(segment, allowed, active).size > 0 or bool(allowed[self.with_prior].any())

    def draw(
        self, beta: Floats, segment: int, allowed: Bools, active: Bools, pins: Ints, rng: np.random.Generator
    ) -> ExtraItems:
        """The items that can be in a display, with their thetas, given the law Beta(a, b) of the thetas."""
        if not self._any_shared and not self.with_prior.size:
            return NO_EXTRA_ITEMS
        extra = self._draw_shared(beta, self._exchangeable(segment, allowed, active), pins, rng)
        if self.with_prior.size:
            items, theta = self._draw_with_prior(beta, allowed, pins, rng)
            extra = ExtraItems(np.concatenate([extra.items, items]), np.concatenate([extra.theta, theta]))
        return extra

    def _draw_shared(self, beta: Floats, items: Ints, pins: Ints, rng: np.random.Generator) -> ExtraItems:
        n_free, pinned = pins.size, pins[pins != EMPTY]
        if pinned.size:
            n_free, items = n_free - pinned.size, items[~np.isin(items, pinned)]
        if not items.size:
            return NO_EXTRA_ITEMS
        size = min(n_free, items.size)
        return ExtraItems(items[_distinct(items.size, size, rng)], largest_draws(beta, items.size, size, rng))

    def _draw_with_prior(
        self, beta: Floats, allowed: Bools, pins: Ints, rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """If there are very many such items, only a random sample of them is considered for this display."""
        usable = np.flatnonzero(allowed[self.with_prior] & ~np.isin(self.with_prior, pins))
        if usable.size > MOST_WITH_PRIOR:
            usable = rng.choice(usable, MOST_WITH_PRIOR, replace=False)
        clicks, skips = self._priors[:, usable]
        return self.with_prior[usable], rng.beta(beta[0] + clicks, beta[1] + skips)

    def _exchangeable(self, segment: int, allowed: Bools, active: Bools) -> Ints:
        if allowed is active:  # most requests allow all active items
            listed = self._listed.get(segment)
            if listed is None or listed[0] is not active:
                listed = self._listed[segment] = active, np.flatnonzero(active & self._mask(segment))
            return listed[1]
        return np.flatnonzero(allowed & self._mask(segment))

    def _mask(self, segment: int) -> Bools:
        if segment not in self._masks:
            mask = self._masks[segment] = self._shares_prior.copy()
            mask[: self._rows.shape[1]] &= self._rows[segment] == NO_ROW
        return self._masks[segment]


def _distinct(n: int, size: int, rng: np.random.Generator) -> Ints:
    """Distinct numbers below n, in random order. If few of many are needed, this is faster than `choice`."""
    while size * size < n:
        numbers = (n * rng.random(size)).astype(np.int64)
        if len(set(numbers.tolist())) == size:
            return numbers
    return rng.choice(n, size, replace=False)
