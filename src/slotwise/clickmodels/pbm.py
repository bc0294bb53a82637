"""The position-based model: a visitor clicks when they look at the position and the item attracts them (Eq. 1).

Richardson et al. 2007; Craswell et al. 2008.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import BadInput, Floats, Ints, integer_at_least, vector, within
from slotwise.jit import kernel
from slotwise.notebook import format_numbers, html_block, html_table, plural


class Model(NamedTuple):
    """A PBM in the form that the kernels use."""

    theta: Floats
    kappa: Floats


UNKNOWN = Model(np.empty(0), np.empty(0))  # for policies on a real page, where the true model is unknown


@dataclass(frozen=True, eq=False)
class PBM:
    """The attractiveness theta of every item and the visibility kappa of every position. They are in [0, 1].

    >>> visitors = PBM(theta=[0.3, 0.1, 0.2], kappa=[1.0, 0.5])
    >>> visitors.best_display()
    array([0, 2])
    >>> visitors.expected_clicks([0, 2])
    0.4
    """

    theta: Floats
    kappa: Floats

    def __init__(self, theta: ArrayLike, kappa: ArrayLike) -> None:
        object.__setattr__(self, "theta", within("theta", vector("theta", theta), 0.0, 1.0))
        object.__setattr__(self, "kappa", within("kappa", vector("kappa", kappa), 0.0, 1.0))
        if self.kappa.size > self.theta.size:
            raise BadInput(
                f"{self.kappa.size} positions but only {self.theta.size} items: "
                "a display needs at least as many items as positions"
            )

    def __repr__(self) -> str:
        return f"PBM(theta={format_numbers(self.theta)}, kappa={format_numbers(self.kappa)})"

    def _repr_html_(self) -> str:
        kappa, theta = (
            html_table([noun, name], [[str(k), f"{value:.3g}"] for k, value in enumerate(values.tolist())])
            for noun, name, values in (("position", "kappa", self.kappa), ("item", "theta", self.theta))
        )
        caption = f"PBM: {plural(self.theta.size, 'item')}, {plural(self.kappa.size, 'position')}"
        return html_block(caption, '<div style="display:flex;gap:2em;align-items:start">', kappa, theta, "</div>")

    def arrays(self) -> Model:
        """The model in the form that the kernels use."""
        return Model(self.theta, self.kappa)

    def best_display(self) -> Ints:
        """The L most attractive items: the best item at the most visible position, and so on."""
        display = np.empty(self.kappa.size, np.int64)
        arrange(self.theta, self.kappa, display)
        return display

    def expected_clicks(self, display: ArrayLike) -> float:
        """The expected number of clicks of one visitor on `display`."""
        return expected_clicks(self.arrays(), self._validated(display))

    def _validated(self, display: ArrayLike) -> Ints:
        items = vector("display", display)
        if items.size != self.kappa.size:
            raise BadInput(f"display has {items.size} items, but there are {self.kappa.size} positions")
        for item in items:
            if integer_at_least("display", float(item), least=0) >= self.theta.size:
                raise BadInput(f"display has item {item:g}, but items go from 0 to {self.theta.size - 1}")
        if np.unique(items).size < items.size:
            raise BadInput(f"display = {items.astype(int).tolist()} has an item twice")
        return items.astype(np.int64)

    def shuffled(self, rng: np.random.Generator) -> "PBM":
        """The same model, with its items and positions in random order. Only the first position stays.

        The random order ensures that no policy profits from the order of indices. The first position stays because it
        is the reference.
        """
        theta = rng.permutation(self.theta)
        kappa = np.concatenate([self.kappa[:1], rng.permutation(self.kappa[1:])])
        return PBM(theta, kappa)


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return model.theta.size


@kernel(inline=True)
def expected_clicks(model: Model, display: Ints) -> float:
    """The expected reward of a display (the sum in Eq. 3)."""
    theta, kappa = model.theta, model.kappa
    total = 0.0
    for position in range(display.size):
        total += theta[display[position]] * kappa[position]
    return total


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw the clicks of one visitor (Eq. 1). This takes one uniform number per position, whatever the display is."""
    theta, kappa = model.theta, model.kappa
    for position in range(display.size):
        chance = theta[display[position]] * kappa[position]
        clicks[position] = visitors.random() < chance
