"""Simulated visitors of a page: what they click on, and what a display costs in expected clicks."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput
from slotwise.clickmodels.pbm import PBM
from slotwise.simulation.simulate import generators


class Visit(NamedTuple):
    """What one visitor did with a display."""

    clicked: list[str]  # positions
    regret: float  # expected clicks that the best display would have got beyond those of this one


class Visitors:
    """Visitors who click as a PBM says; its items and positions are those of the page, in order."""

    def __init__(self, model: PBM, items: Sequence[str], positions: Sequence[str], seed: int) -> None:
        if len(items) != model.theta.size or len(positions) != model.kappa.size:
            raise BadInput(
                f"the page shows {len(items)} items at {len(positions)} positions, "
                f"the visitors know {model.theta.size} items at {model.kappa.size}"
            )
        theta, kappa = model.theta.tolist(), model.kappa.tolist()
        self._places = {position: place for place, position in enumerate(positions)}
        self._chances = [{item: a * b for item, a in zip(items, theta, strict=True)} for b in kappa]
        self._rng, _ = generators(seed, 0)
        best_theta, best_kappa = np.sort(model.theta)[::-1], np.sort(model.kappa)[::-1]
        self.best = float(best_theta[: best_kappa.size] @ best_kappa)
        self.regret_at_random = self.best - float(model.theta.mean() * model.kappa.sum())

    def visit(self, shown: Iterable[tuple[str, str]]) -> Visit:
        """See a display, (position, item) by (position, item); one uniform draw per position, whatever is shown."""
        draws: list[float] = self._rng.random(len(self._places)).tolist()
        clicked, expected = [], 0.0
        for position, item in shown:
            place = self._places[position]
            chance = self._chances[place].get(item)
            if chance is None:
                raise BadInput(f"the page shows item {item!r}, which the visitors do not know")
            expected += chance
            if draws[place] < chance:
                clicked.append(position)
        return Visit(clicked, self.best - expected)
