"""The conjunctive cascade: a visitor goes on while items satisfy them, and stops at the first one that does not.

Kveton, Wen, Ashkan and Szepesvari 2015, "Combinatorial Cascading Bandits".
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints, integer_at_least, vector, within
from slotwise.clickmodels._click_model import HIDDEN, ClickModel, Feedback, check_enough_items
from slotwise.jit import kernel
from slotwise.notebook import format_numbers


class Model(NamedTuple):
    """A conjunctive cascade in the form that the kernels use."""

    attraction: Floats
    order: Ints  # always from the first position to the last


@dataclass(frozen=True, eq=False)
class Conjunctive(ClickModel):
    """The probability that each item satisfies a visitor, and the number of positions.

    The reward is 1 if every item of the display satisfies the visitor. Nothing is known of the items after the first
    one that does not.

    >>> visitors = Conjunctive(attraction=[0.5, 0.9, 0.8], positions=2)
    >>> visitors.best_display()
    array([1, 2])
    >>> round(visitors.expected_reward([1, 2]), 3)
    0.72
    """

    FEEDBACK = Feedback.PREFIX

    attraction: Floats
    positions: int

    def __init__(self, attraction: ArrayLike, positions: int) -> None:
        object.__setattr__(self, "attraction", within("attraction", vector("attraction", attraction), 0.0, 1.0))
        object.__setattr__(self, "positions", integer_at_least("positions", positions, least=1))
        check_enough_items(self.n_items, self.n_positions)

    def __repr__(self) -> str:
        return f"Conjunctive(attraction={format_numbers(self.attraction)}, positions={self.positions})"

    @property
    def n_items(self) -> int:
        return self.attraction.size

    @property
    def n_positions(self) -> int:
        return self.positions

    def arrays(self) -> Model:
        """The model in the form that the kernels use."""
        return Model(self.attraction, np.arange(self.positions))

    def parameters(self) -> dict[str, Any]:
        """The attraction and the number of positions."""
        return {"attraction": self.attraction.tolist(), "positions": self.positions}

    def shuffled(self, rng: np.random.Generator) -> "Conjunctive":
        """The same model, with its items in random order."""
        return Conjunctive(rng.permutation(self.attraction), self.positions)


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return model.attraction.size


def best_display(model: Model) -> Ints:
    """The items that satisfy most often. Every order of these items has the same reward."""
    display = np.empty(model.order.size, np.int64)
    arrange(model.attraction, -model.order.astype(np.float64), display)
    return display


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The probability that every item satisfies the visitor."""
    attraction = model.attraction
    every = 1.0
    for position in range(display.size):
        every *= attraction[display[position]]
    return every


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw what one visitor reveals. This takes one uniform number per position, whatever the display is."""
    attraction = model.attraction
    looking = True
    for position in range(display.size):
        satisfied = visitors.random() < attraction[display[position]]
        clicks[position] = HIDDEN
        if looking:
            clicks[position] = satisfied
        looking = looking and satisfied
