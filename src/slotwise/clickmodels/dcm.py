"""The dependent click model: like a cascade, but after a click the visitor may go on. So there may be several clicks.

Guo, Liu and Wang 2009, "Efficient Multiple-Click Models in Web Search"; Katariya, Kveton, Szepesvari and Wen 2016, "DCM
Bandits: Learning to Rank with Multiple Clicks".
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints, vector, within
from slotwise.clickmodels._click_model import ClickModel, check_enough_items
from slotwise.clickmodels._scan_order import as_order
from slotwise.jit import kernel
from slotwise.notebook import format_numbers


class Model(NamedTuple):
    """A dependent click model in the form that the kernels use."""

    attraction: Floats
    termination: Floats
    order: Ints  # the positions, in the order in which a visitor looks at them


@dataclass(frozen=True, eq=False)
class DCM(ClickModel):
    """The attraction of every item, and the termination of every position. They are in [0, 1].

    The termination is the probability that a visitor who clicks there is satisfied and leaves. Visitors look at the
    positions in `order`, by default from the first to the last. The reward is 1 if the visitor leaves satisfied.

    >>> visitors = DCM(attraction=[0.5, 0.1, 0.2], termination=[0.5, 1.0])
    >>> visitors.best_display()
    array([2, 0])
    >>> round(visitors.expected_reward([2, 0]), 3)
    0.55
    """

    attraction: Floats
    termination: Floats
    order: Ints

    def __init__(self, attraction: ArrayLike, termination: ArrayLike, order: ArrayLike | None = None) -> None:
        for name, given in (("attraction", attraction), ("termination", termination)):
            object.__setattr__(self, name, within(name, vector(name, given), 0.0, 1.0))
        object.__setattr__(self, "order", as_order(order, self.termination.size))
        check_enough_items(self.n_items, self.n_positions)

    def __repr__(self) -> str:
        attraction, termination = format_numbers(self.attraction), format_numbers(self.termination)
        return f"DCM(attraction={attraction}, termination={termination})"

    @property
    def n_items(self) -> int:
        return self.attraction.size

    @property
    def n_positions(self) -> int:
        return self.termination.size

    def arrays(self) -> Model:
        """The model in the form that the kernels use."""
        return Model(self.attraction, self.termination, self.order)

    def parameters(self) -> dict[str, Any]:
        """The attraction, the termination, and the order of the positions, as lists."""
        return {name: getattr(self, name).tolist() for name in ("attraction", "termination", "order")}

    def shuffled(self, rng: np.random.Generator) -> "DCM":
        """The same model, with its items in random order."""
        return DCM(rng.permutation(self.attraction), self.termination, self.order)


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return model.attraction.size


def best_display(model: Model) -> Ints:
    """The most attractive items, the best one at the position with the largest termination, and so on."""
    display = np.empty(model.termination.size, np.int64)
    arrange(model.attraction, model.termination, display)
    return display


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The probability that the visitor leaves satisfied. The order of the positions does not matter."""
    attraction, termination = model.attraction, model.termination
    unsatisfied = 1.0
    for position in range(display.size):
        unsatisfied *= 1.0 - termination[position] * attraction[display[position]]
    return 1.0 - unsatisfied


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw the clicks of one visitor. This takes two uniform numbers per position, whatever the display is."""
    attraction, termination, order = model.attraction, model.termination, model.order
    looking = True
    for rank in range(order.size):
        position = order[rank]
        attracted = visitors.random() < attraction[display[position]]
        satisfied = visitors.random() < termination[position]
        clicks[position] = looking and attracted
        looking = looking and not (attracted and satisfied)
