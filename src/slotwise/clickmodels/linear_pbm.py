"""A position-based model in which the attractiveness of an item is a linear function of its features.

Ermis, Ernst, Stein and Zappella 2020, "Learning to Rank in the Position Based Model with Bandit Feedback".
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints, vector, within
from slotwise.clickmodels import pbm
from slotwise.clickmodels._click_model import NO_CONTEXT, ClickModel, Context, check_enough_items
from slotwise.clickmodels._visitor_features import LinearItems, VisitorFeatures, draw_visitor
from slotwise.jit import kernel


class Model(NamedTuple):
    """The model in the form that the kernels use. Theta and the features are those of the current visitor."""

    theta: Floats
    kappa: Floats
    features: Floats  # N x d
    visitor: VisitorFeatures
    context: Context


@dataclass(frozen=True, eq=False)
class LinearPBM(ClickModel):
    """A row of features for each item, the weight of each feature, and the visibility of every position.

    The attractiveness of an item is the sum of its features times the weights. With a `spread` above 0, each visitor
    multiplies the features by numbers between 0 and 1, which differ by about this much on a logarithmic scale.

    >>> visitors = LinearPBM(features=[[1, 0], [0, 1], [1, 1]], weights=[0.1, 0.3], kappa=[0.5, 1.0])
    >>> visitors.best_display()
    array([1, 2])
    """

    items: LinearItems
    kappa: Floats

    def __init__(self, features: ArrayLike, weights: ArrayLike, kappa: ArrayLike, spread: float = 0.0) -> None:
        object.__setattr__(self, "items", LinearItems.of(features, weights, spread))
        object.__setattr__(self, "kappa", within("kappa", vector("kappa", kappa), 0.0, 1.0))
        check_enough_items(self.n_items, self.n_positions)

    def __repr__(self) -> str:
        n_features = self.items.weights.size
        return f"LinearPBM({self.n_items} items with {n_features} features, {self.n_positions} positions)"

    @property
    def n_items(self) -> int:
        return len(self.items.features)

    @property
    def n_positions(self) -> int:
        return self.kappa.size

    def arrays(self) -> Model:
        """The model in the form that the kernels use. At first, the visitor weighs all features alike."""
        features, weights, _ = self.items
        return Model(features @ weights, self.kappa, features.copy(), self.items.arrays(), NO_CONTEXT)

    def parameters(self) -> dict[str, Any]:
        """All arguments as plain values."""
        features, weights, spread = self.items
        return {
            "features": features.tolist(),
            "weights": weights.tolist(),
            "kappa": self.kappa.tolist(),
            "spread": spread,
        }

    def shuffled(self, rng: np.random.Generator) -> "LinearPBM":
        """The same model, with its items and positions in random order. Only the first position stays."""
        features, weights, spread = self.items
        kappa = np.concatenate([self.kappa[:1], rng.permutation(self.kappa[1:])])
        return LinearPBM(rng.permutation(features), weights, kappa, spread)


n_items = pbm.n_items
best_display = pbm.best_display
expected_reward = pbm.expected_reward
click = pbm.click


@kernel(inline=True)
def draw_context(model: Model, visitors: np.random.Generator, best: Ints) -> None:
    """Draw the features that the next visitor sees. `best` becomes the best display for this visitor."""
    draw_visitor(model.visitor, visitors, model.features, model.theta)
    arrange(model.theta, model.kappa, best)
