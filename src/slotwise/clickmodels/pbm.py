"""The position-based model: a visitor clicks when they look at the position and the item attracts them (Eq. 1).

Richardson et al. 2007; Craswell et al. 2008.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints, vector, within
from slotwise.clickmodels._click_model import ClickModel, check_enough_items
from slotwise.jit import kernel
from slotwise.notebook import format_numbers, html_block, html_table, plural


class Model(NamedTuple):
    """A PBM in the form that the kernels use."""

    theta: Floats
    kappa: Floats


UNKNOWN = Model(np.empty(0), np.empty(0))  # for policies on a real page, where the true model is unknown


@dataclass(frozen=True, eq=False)
class PBM(ClickModel):
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
        check_enough_items(self.theta.size, self.kappa.size)

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

    @property
    def n_items(self) -> int:
        return self.theta.size

    @property
    def n_positions(self) -> int:
        return self.kappa.size

    def parameters(self) -> dict[str, Any]:
        """Theta and kappa as lists."""
        return {"theta": self.theta.tolist(), "kappa": self.kappa.tolist()}

    def expected_clicks(self, display: ArrayLike) -> float:
        """The expected number of clicks of one visitor on `display`. It is the reward of this model."""
        return self.expected_reward(display)

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


def best_display(model: Model) -> Ints:
    """The L most attractive items: the best item at the most visible position, and so on."""
    display = np.empty(model.kappa.size, np.int64)
    arrange(model.theta, model.kappa, display)
    return display


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The expected number of clicks on a display (the sum in Eq. 3)."""
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
