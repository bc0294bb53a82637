"""Simulated visitors of a page: their clicks, and the regret of a display."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from slotwise.arrange import EMPTY, NO_LIMIT, NO_RULES, ItemRules, arrange_among
from slotwise.checks import BadInput, Floats, Ints
from slotwise.clickmodels.pbm import PBM
from slotwise.client.pages import PageOutline
from slotwise.item_terms import ItemTerms
from slotwise.simulation.simulate import generators

RANDOM_ORDERS = 2_000  # of which the mean is taken, if a limit makes it hard to compute


class Visit(NamedTuple):
    """The clicks of one visitor on a display, and the regret of the display."""

    clicked: list[str]  # positions
    regret: float  # the expected value of the clicks of the best display, minus that of this display


class Visitors:
    """Visitors who click according to a PBM. The model has the page's items and positions, in the same order.

    `terms` has the values and categories of the items. Of one category, a display has at most `most_per_category`.
    """

    def __init__(
        self,
        model: PBM,
        items: Sequence[str],
        positions: Sequence[str],
        seed: int,
        terms: ItemTerms | None = None,
        most_per_category: int | None = None,
    ) -> None:
        if len(items) != model.theta.size or len(positions) != model.kappa.size:
            raise BadInput(
                f"the page shows {len(items)} items at {len(positions)} positions, "
                f"the click model of the visitors has {model.theta.size} items at {model.kappa.size}"
            )
        self._items, self._draws = list(items), [0.0] * len(positions)
        self._index = {position: index for index, position in enumerate(positions)}
        self._rng, _ = generators(seed, 0)
        self._terms = terms or ItemTerms(len(items))
        self._values = {item: self._terms.value(k) for k, item in enumerate(items)}
        self._rules = self._terms.rules(most_per_category or NO_LIMIT)
        self._use(model)

    def _use(self, model: PBM) -> None:
        """Click according to this model from now on."""
        theta, kappa = model.theta.tolist(), model.kappa.tolist()
        self._model = model
        self._probabilities = [{item: a * b for item, a in zip(self._items, theta, strict=True)} for b in kappa]
        rewards = np.outer([self._terms.value(k) for k in range(len(self._items))] * model.theta, model.kappa)
        self.best_display = _arranged(model.theta, model.kappa, self._rules)
        self.best = _reward(rewards, self.best_display)
        self.regret_at_random = self.best - _reward_at_random(rewards, self._rules)

    @classmethod
    def of_page(cls, model: PBM, outline: PageOutline, seed: int) -> Self:
        """Visitors of a page of a running service."""
        terms = ItemTerms(len(outline.items))
        terms.change(dict(enumerate(outline.values)), dict(enumerate(outline.categories)))
        return cls(model, outline.items, outline.positions, seed, terms, outline.most_per_category)

    def visit(self, display: Iterable[tuple[str, str]]) -> Visit:
        """Click on a display of (position, item) pairs.

        This uses one uniform draw per position of the page, whatever the display is.
        """
        draws: list[float] = self._rng.random(len(self._index)).tolist()
        self._draws = draws
        clicked, expected = [], 0.0
        for position, item in display:
            index = self._index[position]
            probability = self._probabilities[index].get(item)
            if probability is None:
                raise BadInput(f"the page shows item {item!r}, which the click model of the visitors does not have")
            expected += self._values[item] * probability
            if draws[index] < probability:
                clicked.append(position)
        return Visit(clicked, self.best - expected)


def _arranged(scores: Floats, kappa: Floats, rules: ItemRules) -> Ints:
    display = np.empty(kappa.size, np.int64)
    arrange_among(scores, kappa, np.ones(scores.size, np.bool_), np.full(kappa.size, EMPTY), rules, display)
    return display


def _reward(rewards: Floats, display: Ints) -> float:
    shown = display != EMPTY
    return float(rewards[display[shown], np.flatnonzero(shown)].sum())


def _reward_at_random(rewards: Floats, rules: ItemRules) -> float:
    """The mean reward of displays in random order. Under a limit, it is estimated."""
    n_items, n_positions = rewards.shape
    if not rules.has_limit:
        return float(rewards.mean(axis=0).sum())
    rng, in_order = np.random.default_rng(0), -np.arange(float(n_positions))
    limit = rules._replace(values=NO_RULES.values)
    scores = rng.random((RANDOM_ORDERS, n_items))
    orders = (_arranged(row, in_order, limit) for row in scores)
    return sum(_reward(rewards, display) for display in orders) / RANDOM_ORDERS
