"""ShopVisitors: visitors whose taste can change, and what they would click on other displays."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

import numpy as np

from slotwise.clickmodels.pbm import PBM
from slotwise.client.load.visitors import Visit, Visitors


class ShopVisitors(Visitors):
    """Visitors with the same random numbers for every display.

    So `clicks_of_best` and `clicks_at_random` say what the last visitor would have clicked on the best display, and on
    average on displays in random order: the same traffic, shown other displays.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.clicks_of_best, self.clicks_at_random = 0, 0.0
        self._taste = np.random.default_rng(1)

    def change_taste(self) -> None:
        """Let the items change their attractiveness among each other. The most attractive item becomes another one."""
        theta = self._model.theta
        while True:
            changed = self._taste.permutation(theta)
            if (np.argsort(-changed)[:3] != np.argsort(-theta)[:3]).all():
                break
        self._use(PBM(theta=changed, kappa=self._model.kappa))

    def visit(self, display: Iterable[tuple[str, str]]) -> Visit:
        visit = super().visit(display)
        by_position = zip(self._draws, self._sorted, self._of_best, strict=True)
        self.clicks_of_best, self.clicks_at_random = 0, 0.0
        for draw, probabilities, best in by_position:
            self.clicks_of_best += draw < best
            self.clicks_at_random += 1.0 - bisect_right(probabilities, draw) / len(probabilities)
        return visit

    def _use(self, model: PBM) -> None:
        super()._use(model)
        products = np.outer(model.kappa, model.theta)
        self._sorted = [np.sort(row).tolist() for row in products]
        self._of_best = [float(row[item]) for row, item in zip(products, self.best_display, strict=True)]
