"""Simulated visitors of a page: their clicks, and the regret of a display."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput
from slotwise.clickmodels.pbm import PBM
from slotwise.simulation.simulate import generators


class Visit(NamedTuple):
    """The clicks of one visitor on a display, and the regret of the display."""

    clicked: list[str]  # positions
    regret: float  # expected clicks of the best display minus expected clicks of this display


class Visitors:
    """Visitors who click according to a PBM. The model has the page's items and positions, in the same order."""

    def __init__(self, model: PBM, items: Sequence[str], positions: Sequence[str], seed: int) -> None:
        if len(items) != model.theta.size or len(positions) != model.kappa.size:
            raise BadInput(
                f"the page shows {len(items)} items at {len(positions)} positions, "
                f"the click model of the visitors has {model.theta.size} items at {model.kappa.size}"
            )
        theta, kappa = model.theta.tolist(), model.kappa.tolist()
        self._index = {position: index for index, position in enumerate(positions)}
        self._probabilities = [{item: a * b for item, a in zip(items, theta, strict=True)} for b in kappa]
        self._rng, _ = generators(seed, 0)
        best_theta, best_kappa = np.sort(model.theta)[::-1], np.sort(model.kappa)[::-1]
        self.best = float(best_theta[: best_kappa.size] @ best_kappa)
        self.regret_at_random = self.best - float(model.theta.mean() * model.kappa.sum())

    def visit(self, display: Iterable[tuple[str, str]]) -> Visit:
        """Click on a display of (position, item) pairs.

        This uses one uniform draw per position of the page, whatever the display is.
        """
        draws: list[float] = self._rng.random(len(self._index)).tolist()
        clicked, expected = [], 0.0
        for position, item in display:
            index = self._index[position]
            probability = self._probabilities[index].get(item)
            if probability is None:
                raise BadInput(f"the page shows item {item!r}, which the click model of the visitors does not have")
            expected += probability
            if draws[index] < probability:
                clicked.append(position)
        return Visit(clicked, self.best - expected)
