"""A position-based model whose clicks depend on each other: one uniform number decides all positions of a display.

The simulator of the public code of Gauthier, Gaudel and Fromont (2021) draws clicks like this. Each position is clicked
with the probability of the paper (Eq. 1), but an attractive item is clicked whenever a less attractive one is.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import slotwise as sw
from slotwise.checks import Floats, Ints
from slotwise.clickmodels import pbm
from slotwise.jit import kernel


class Model(NamedTuple):
    theta: Floats
    kappa: Floats


@dataclass(frozen=True, eq=False, init=False)
class DependentClicksPBM(sw.PBM):
    """The same theta and kappa, with one uniform number per display."""

    def arrays(self) -> Model:  # type: ignore[override]
        return Model(self.theta, self.kappa)

    def shuffled(self, rng: np.random.Generator) -> "DependentClicksPBM":
        shuffled = super().shuffled(rng)
        return DependentClicksPBM(shuffled.theta, shuffled.kappa)


best_display, expected_reward = pbm.best_display, pbm.expected_reward


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    u = visitors.random()
    for position in range(display.size):
        clicks[position] = u < model.theta[display[position]] * model.kappa[position]
