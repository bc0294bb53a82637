"""The rank-1 interaction: one item at one position per visitor, which they click as in a position-based model.

Katariya, Kveton, Szepesvari, Vernade and Wen 2017, "Stochastic Rank-1 Bandits".
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput, Floats, Ints, vector, within
from slotwise.clickmodels._click_model import HIDDEN, ClickModel, Feedback
from slotwise.jit import kernel
from slotwise.notebook import format_numbers


class Model(NamedTuple):
    """A rank-1 interaction in the form that the kernels use."""

    theta: Floats
    kappa: Floats


@dataclass(frozen=True, eq=False)
class Rank1(ClickModel):
    """The attractiveness theta of every item and the visibility kappa of every position. They are in [0, 1].

    A display has one item. The other positions are empty, that is, -1.

    >>> visitors = Rank1(theta=[0.3, 0.6, 0.2], kappa=[0.5, 1.0])
    >>> visitors.best_display()
    array([-1,  1])
    >>> visitors.expected_reward([-1, 1])
    0.6
    """

    FEEDBACK = Feedback.CELL

    theta: Floats
    kappa: Floats

    def __init__(self, theta: ArrayLike, kappa: ArrayLike) -> None:
        object.__setattr__(self, "theta", within("theta", vector("theta", theta), 0.0, 1.0))
        object.__setattr__(self, "kappa", within("kappa", vector("kappa", kappa), 0.0, 1.0))

    def __repr__(self) -> str:
        return f"Rank1(theta={format_numbers(self.theta)}, kappa={format_numbers(self.kappa)})"

    @property
    def n_items(self) -> int:
        return self.theta.size

    @property
    def n_positions(self) -> int:
        return self.kappa.size

    def arrays(self) -> Model:
        """The model in the form that the kernels use."""
        return Model(self.theta, self.kappa)

    def parameters(self) -> dict[str, Any]:
        """Theta and kappa as lists."""
        return {"theta": self.theta.tolist(), "kappa": self.kappa.tolist()}

    def shuffled(self, rng: np.random.Generator) -> "Rank1":
        """The same model, with its items and positions in random order."""
        return Rank1(rng.permutation(self.theta), rng.permutation(self.kappa))

    def _validated(self, display: ArrayLike) -> Ints:
        items = vector("display", display)
        shown = items[items != EMPTY]
        if items.size != self.n_positions or shown.size != 1 or shown[0] not in range(self.n_items):
            raise BadInput(
                f"display = {items.tolist()} is not one item from 0 to {self.n_items - 1} at one of the "
                f"{self.n_positions} positions, and -1 at the others"
            )
        return items.astype(np.int64)


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return model.theta.size


def best_display(model: Model) -> Ints:
    """The most attractive item at the most visible position."""
    display = np.full(model.kappa.size, EMPTY, np.int64)
    display[np.argmax(model.kappa)] = np.argmax(model.theta)
    return display


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The probability of a click."""
    theta, kappa = model.theta, model.kappa
    total = 0.0
    for position in range(display.size):
        if display[position] != EMPTY:
            total += theta[display[position]] * kappa[position]
    return total


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw the click of one visitor. This takes one uniform number."""
    theta, kappa = model.theta, model.kappa
    u = visitors.random()
    for position in range(display.size):
        clicks[position] = HIDDEN
        if display[position] != EMPTY:
            clicks[position] = u < theta[display[position]] * kappa[position]
