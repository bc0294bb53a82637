"""Items without a row in the ensemble. They take part in a display with draws that are made for it.

Items without counts and without a prior of their own are exchangeable: their thetas are independent draws from the same
law. So only the largest draws matter, and each of them belongs to a random one of these items. Their number does not
change the time that this takes.

On a page with features, these items are not exchangeable: each has a prior of its own. An ensemble has draws of all
items that the page had when it was made, so only newer items take part in this way.

With values or categories, more of the draws matter. Up to MOST_COMPARED items are then compared one by one. If there
are more, those with the largest values take part, and of the others those with the largest draws.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, NO_CATEGORY, ItemRules
from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.regression.feature_draws import prior_skips
from slotwise.service.ensembles.arrange_draw import DisplayRules, ExtraItems, Int32s
from slotwise.service.ensembles.largest_draws import largest_draws
from slotwise.service.pages.count_matrix import NO_ROW
from slotwise.service.pages.page_features import FeatureScaling

MOST_COMPARED = 2_000  # items without a row that take part in one display, if they are not exchangeable
MOST_VALUABLE = 1_000  # of them, those that take part because of their value
Bools = NDArray[np.bool_]
_NO_ITEMS: Ints = np.empty(0, np.int64)
_NO_PRIORS, _NOT_USED = np.empty((2, 0)), np.empty(0, np.bool_)
NO_EXTRA_ITEMS = ExtraItems(_NO_ITEMS, np.empty(0))


class ThetaLaws(NamedTuple):
    """The law of the theta of an item without counts, in each draw of an ensemble.

    It is Beta(a, b), or with a regression Beta(1, b) with a `b` that follows from the features of the item.
    """

    beta: Floats  # M x 2
    regression: Floats  # M x (1 + d), or M x 0
    scaling: FeatureScaling | None  # of the features in the regression
    features: Floats  # N x d: the features of all items


class UnshownItems:
    """The items of a page that have no row in an ensemble. `priors` has the clicks and skips of their own priors.

    `values` are the values of all items, or empty.
    """

    def __init__(self, rows: Int32s, priors: Floats, values: Floats, laws: ThetaLaws) -> None:
        self._values = values
        n_drawn, n_items = rows.shape[1], priors.shape[1]
        self._rows = rows
        has_own_law: Bools = np.asarray(priors.any(axis=0)) if laws.scaling is None else np.ones(n_items, np.bool_)
        without_row = has_own_law.copy()
        without_row[:n_drawn] &= rows[0] == NO_ROW  # a prior gives an item its rows for all segments at once
        with_prior = np.flatnonzero(without_row)
        self._any_shared = n_items > n_drawn or bool((rows == NO_ROW).any())
        self.with_prior, self._priors = _NO_ITEMS, _NO_PRIORS  # most pages keep nothing, and there may be very many
        self._shares_prior: Bools = _NOT_USED
        self._beta = laws.beta
        self._own_skips: Floats | None = None  # M x items with a prior: b - 1
        if with_prior.size:  # these compete with draws from the law and their own prior
            self.with_prior, self._priors = with_prior, priors[:, with_prior]
            if laws.scaling is not None:
                features = laws.scaling.scaled(laws.features, with_prior)
                self._own_skips = prior_skips(laws.regression, features)
        if self._any_shared:
            self._shares_prior = ~has_own_law
        self._masks: dict[int, Bools] = {}  # segment -> the exchangeable items
        self._listed: dict[int, tuple[Bools, Ints]] = {}  # segment -> the active items, and those that are exchangeable

    def take_part(self, segment: int, allowed: Bools, active: Bools) -> bool:
        """Whether a display can show such an item. Then displays from the same draw of the ensemble differ."""
        if not self._any_shared and not self.with_prior.size:
            return False
        return self._exchangeable(segment, allowed, active).size > 0 or bool(allowed[self.with_prior].any())

    def n_exchangeable(self, segment: int, active: Bools, rules: DisplayRules) -> int | None:
        """How many items take part in displays by these rules. None if they are not exchangeable there."""
        if not self._any_shared and not self.with_prior.size:
            return 0
        pinned = rules.pins[rules.pins != EMPTY]
        items, own = self._exchangeable(segment, rules.allowed, active), self.with_prior[rules.allowed[self.with_prior]]
        if pinned.size:
            items, own = items[~np.isin(items, pinned)], own[~np.isin(own, pinned)]
        by_rules = self._values.size > 0 or rules.items.has_limit
        return None if own.size or (by_rules and items.size) else items.size

    def draw(
        self, number: int, segment: int, active: Bools, rules: DisplayRules, rng: np.random.Generator
    ) -> ExtraItems:
        """The items that can be in a display, with their thetas, given the draw of the ensemble with this number."""
        if not self._any_shared and not self.with_prior.size:
            return NO_EXTRA_ITEMS
        beta = self._beta[number]
        extra = self._draw_shared(beta, self._exchangeable(segment, rules.allowed, active), rules, rng)
        if self.with_prior.size:
            items, theta = self._draw_with_prior(number, rules.allowed, rules.pins, rng)
            extra = ExtraItems(np.concatenate([extra.items, items]), np.concatenate([extra.theta, theta]))
        return extra

    def _draw_shared(self, beta: Floats, items: Ints, rules: DisplayRules, rng: np.random.Generator) -> ExtraItems:
        n_free, pinned = rules.pins.size, rules.pins[rules.pins != EMPTY]
        if pinned.size:
            n_free, items = n_free - pinned.size, items[~np.isin(items, pinned)]
        if not items.size:
            return NO_EXTRA_ITEMS
        if self._values.size or rules.items.has_limit:
            return self._draw_by_rules(beta, items, n_free, rules, rng)
        return _draw_largest(beta, items, min(n_free, items.size), rng)

    def _draw_by_rules(
        self, beta: Floats, items: Ints, n_free: int, rules: DisplayRules, rng: np.random.Generator
    ) -> ExtraItems:
        """The most valuable items come first in `items`, if there are very many."""
        a, b = beta
        if items.size > MOST_COMPARED:
            n_valuable = MOST_VALUABLE if self._values.size else 0
            valuable = items[:n_valuable]
            others = _draw_largest(beta, items[n_valuable:], MOST_COMPARED - n_valuable, rng)
            compared = np.concatenate([valuable, others.items])
            if _fill_display(compared, n_free, rules.pins, rules.items):
                return ExtraItems(compared, np.concatenate([rng.beta(a, b, valuable.size), others.theta]))
        return ExtraItems(items, rng.beta(a, b, items.size))

    def _draw_with_prior(
        self, number: int, allowed: Bools, pins: Ints, rng: np.random.Generator
    ) -> tuple[Ints, Floats]:
        """If there are very many such items, only a random sample of them is considered for this display."""
        usable = np.flatnonzero(allowed[self.with_prior] & ~np.isin(self.with_prior, pins))
        if usable.size > MOST_COMPARED:
            usable = rng.choice(usable, MOST_COMPARED, replace=False)
        clicks, skips = self._priors[:, usable]
        a, b = self._beta[number]
        if self._own_skips is not None:
            b = 1.0 + self._own_skips[number, usable]
        return self.with_prior[usable], rng.beta(a + clicks, b + skips)

    def _exchangeable(self, segment: int, allowed: Bools, active: Bools) -> Ints:
        if allowed is active:  # most requests allow all active items
            listed = self._listed.get(segment)
            if listed is None or listed[0] is not active:
                listed = self._listed[segment] = active, self._valuable_first(active & self._mask(segment))
            return listed[1]
        return self._valuable_first(allowed & self._mask(segment))

    def _valuable_first(self, mask: Bools) -> Ints:
        items = np.flatnonzero(mask)
        if self._values.size and items.size > MOST_COMPARED:
            return items[np.argpartition(-self._values[items], MOST_VALUABLE)]
        return items

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


def _draw_largest(beta: Floats, items: Ints, size: int, rng: np.random.Generator) -> ExtraItems:
    """The largest draws of exchangeable items. Each belongs to a random item."""
    return ExtraItems(items[_distinct(items.size, size, rng)], largest_draws(beta, items.size, size, rng))


def _fill_display(items: Ints, n_free: int, pins: Ints, rules: ItemRules) -> bool:
    """Whether these items can fill all free positions within the limit of each category."""
    if not rules.has_limit:
        return items.size >= n_free
    numbers = rules.categories[items]
    names, sizes = np.unique(numbers[numbers != NO_CATEGORY], return_counts=True)
    taken = (rules.categories[pins[pins != EMPTY]][:, None] == names).sum(axis=0)
    room = np.maximum(rules.most_per_category - taken, 0)
    return int((numbers == NO_CATEGORY).sum() + np.minimum(sizes, room).sum()) >= n_free
