"""Visitors who rate one item: the rating is Gaussian around the product of a vector of the visitor and one of the item.

Salakhutdinov and Mnih 2007, "Probabilistic Matrix Factorization". The same visitors come again and again. Which one
comes next is random, and policies see it as the context. For ratings of 0 and 1, use a `ContextualPBM` with one
position, and a row of thetas for each visitor.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, matrix, number
from slotwise.clickmodels._click_model import (
    RATING_UNIT,
    UNKNOWN_LEVEL,
    ClickModel,
    Context,
    Feedback,
    FeedbackUnit,
)
from slotwise.jit import kernel


class Model(NamedTuple):
    """The model in the form that the kernels use. The last row is a visitor of whom nothing is known."""

    means: Floats  # (M + 1) x N: the expected rating of each item by each visitor
    noise: Floats  # one number
    bests: Ints  # M + 1: the best item of each visitor
    context: Context
    visitor: Ints  # one number: the current visitor
    feedback_unit: FeedbackUnit


@dataclass(frozen=True, eq=False)
class Ratings(ClickModel):
    """A vector for each visitor and one for each item, and the standard deviation of the ratings.

    A display is one item, and its reward is the rating.

    >>> visitors = Ratings(visitors=[[1.0, 0.0], [0.0, 1.0]], items=[[3.0, 1.0], [1.0, 4.0]])
    >>> visitors.best_display()  # if the visitor is unknown
    array([1])
    >>> visitors.expected_reward([1])
    2.5
    """

    FEEDBACK = Feedback.RATING

    visitors: Floats
    items: Floats
    noise: float

    def __init__(self, visitors: ArrayLike, items: ArrayLike, noise: float = 0.5) -> None:
        object.__setattr__(self, "visitors", matrix("visitors", visitors))
        object.__setattr__(self, "items", matrix("items", items))
        object.__setattr__(self, "noise", number("noise", noise))
        if self.visitors.shape[1] != self.items.shape[1]:
            raise BadInput(
                f"a visitor has {self.visitors.shape[1]} numbers, but an item has {self.items.shape[1]}; "
                "both need the same number"
            )
        if not 0.0 <= self.noise < np.inf:
            raise BadInput(f"noise = {self.noise:g} is not a number of at least 0")

    def __repr__(self) -> str:
        return f"Ratings({len(self.visitors)} visitors, {self.n_items} items, noise={self.noise:g})"

    @property
    def n_items(self) -> int:
        return len(self.items)

    @property
    def n_positions(self) -> int:
        return 1

    def arrays(self) -> Model:
        """The model in the form that the kernels use. At first, nothing is known of the visitor."""
        means = self.visitors @ self.items.T
        means = np.vstack([means, means.mean(axis=0)])
        context = Context(np.array([UNKNOWN_LEVEL]), np.array([len(self.visitors)]))
        visitor, noise = np.array([len(self.visitors)]), np.array([self.noise])
        return Model(means, noise, means.argmax(axis=1), context, visitor, FeedbackUnit(RATING_UNIT))

    def parameters(self) -> dict[str, Any]:
        """All arguments as plain values."""
        return {"visitors": self.visitors.tolist(), "items": self.items.tolist(), "noise": self.noise}

    def shuffled(self, rng: np.random.Generator) -> "Ratings":
        """The same model, with its items in random order."""
        return Ratings(self.visitors, rng.permutation(self.items), self.noise)


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return int(model.means.shape[1])


def best_display(model: Model) -> Ints:
    """The best item for the current visitor."""
    return model.bests[model.visitor].copy()


@kernel(inline=True)
def draw_context(model: Model, visitors: np.random.Generator, best: Ints) -> None:
    """Draw the next visitor; all are equally likely. `best` becomes the best display for this visitor."""
    bests, levels = model.bests, model.context.levels
    visitor = min(int(visitors.random() * (bests.size - 1)), bests.size - 2)
    model.visitor[0] = levels[0] = visitor
    best[0] = bests[visitor]


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The expected rating of the current visitor."""
    means = model.means
    return float(means[model.visitor[0], display[0]])


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw the rating of the current visitor, as a multiple of RATING_UNIT."""
    means, noise = model.means, model.noise[0]
    rating = means[model.visitor[0], display[0]] + noise * visitors.standard_normal()
    clicks[0] = int(np.rint(rating / RATING_UNIT))
