"""The cascade model: a visitor looks at the positions in order, clicks the first item that attracts them, and leaves.

Craswell, Zoeter, Taylor and Ramsey 2008, "An Experimental Comparison of Click Position-Bias Models".
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints, integer_at_least, vector, within
from slotwise.clickmodels._click_model import ClickModel, check_enough_items
from slotwise.clickmodels._scan_order import as_order, ranks
from slotwise.jit import kernel
from slotwise.notebook import format_numbers


class Model(NamedTuple):
    """A cascade in the form that the kernels use."""

    attraction: Floats
    order: Ints  # the positions, in the order in which a visitor looks at them


@dataclass(frozen=True, eq=False)
class Cascade(ClickModel):
    """The attraction of every item, in [0, 1], and the number of positions.

    Visitors look at the positions in `order`, by default from the first to the last. The reward is 1 if there is a
    click.

    >>> visitors = Cascade(attraction=[0.5, 0.1, 0.2], positions=2)
    >>> visitors.best_display()
    array([0, 2])
    >>> visitors.expected_reward([0, 2])
    0.6
    """

    attraction: Floats
    order: Ints

    def __init__(self, attraction: ArrayLike, positions: int, order: ArrayLike | None = None) -> None:
        given = within("attraction", vector("attraction", attraction), 0.0, 1.0)
        object.__setattr__(self, "attraction", given)
        object.__setattr__(self, "order", as_order(order, integer_at_least("positions", positions, least=1)))
        check_enough_items(self.n_items, self.n_positions)

    def __repr__(self) -> str:
        return f"Cascade(attraction={format_numbers(self.attraction)}, positions={self.n_positions})"

    @property
    def n_items(self) -> int:
        return self.attraction.size

    @property
    def n_positions(self) -> int:
        return self.order.size

    def arrays(self) -> Model:
        """The model in the form that the kernels use."""
        return Model(self.attraction, self.order)

    def parameters(self) -> dict[str, Any]:
        """The attraction, the number of positions, and their order."""
        return {"attraction": self.attraction.tolist(), "positions": self.n_positions, "order": self.order.tolist()}

    def shuffled(self, rng: np.random.Generator) -> "Cascade":
        """The same model, with its items in random order."""
        return Cascade(rng.permutation(self.attraction), self.n_positions, self.order)


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return model.attraction.size


def best_display(model: Model) -> Ints:
    """The most attractive items, the best one at the position that visitors look at first.

    Every order of these items has the same reward.
    """
    display = np.empty(model.order.size, np.int64)
    arrange(model.attraction, -ranks(model.order), display)
    return display


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The probability of a click."""
    attraction = model.attraction
    nothing = 1.0
    for position in range(display.size):
        nothing *= 1.0 - attraction[display[position]]
    return 1.0 - nothing


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw the click of one visitor. This takes one uniform number per position, whatever the display is."""
    attraction, order = model.attraction, model.order
    looking = True
    for rank in range(order.size):
        position = order[rank]
        attracted = visitors.random() < attraction[display[position]]
        clicks[position] = looking and attracted
        looking = looking and not attracted
