"""A cascade in which the attraction of an item is a linear function of its features.

Zong, Ni, Sung, Ke, Wen and Kveton 2016, "Cascading Bandits for Large-Scale Recommendation Problems". There, the
features belong to the pair of a visitor and an item; here, `spread` makes them differ between visitors.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints, integer_at_least
from slotwise.clickmodels import cascade
from slotwise.clickmodels._click_model import NO_CONTEXT, ClickModel, Context, check_enough_items
from slotwise.clickmodels._scan_order import ranks
from slotwise.clickmodels._visitor_features import LinearItems, VisitorFeatures, draw_visitor
from slotwise.jit import kernel


class Model(NamedTuple):
    """The model in the form that the kernels use. The first three fields are those of the current visitor."""

    attraction: Floats
    features: Floats  # N x d
    visitor: VisitorFeatures
    order: Ints  # the positions, in the order in which a visitor looks at them
    scores: Floats  # L: the position that a visitor looks at first has the largest
    context: Context


@dataclass(frozen=True, eq=False)
class LinearCascade(ClickModel):
    """A row of features for each item, the weight of each feature, and the number of positions.

    The attraction of an item is the sum of its features times the weights. With a `spread` above 0, each visitor
    multiplies the features by numbers between 0 and 1, which differ by about this much on a logarithmic scale.

    >>> visitors = LinearCascade(features=[[1, 0], [0, 1], [1, 1]], weights=[0.1, 0.3], positions=2)
    >>> visitors.best_display()
    array([2, 1])
    """

    items: LinearItems
    positions: int

    def __init__(self, features: ArrayLike, weights: ArrayLike, positions: int, spread: float = 0.0) -> None:
        object.__setattr__(self, "items", LinearItems.of(features, weights, spread))
        object.__setattr__(self, "positions", integer_at_least("positions", positions, least=1))
        check_enough_items(self.n_items, self.n_positions)

    def __repr__(self) -> str:
        n_features = self.items.weights.size
        return f"LinearCascade({self.n_items} items with {n_features} features, positions={self.positions})"

    @property
    def n_items(self) -> int:
        return len(self.items.features)

    @property
    def n_positions(self) -> int:
        return self.positions

    def arrays(self) -> Model:
        """The model in the form that the kernels use. At first, the visitor weighs all features alike."""
        features, weights, _ = self.items
        order = np.arange(self.positions)
        return Model(features @ weights, features.copy(), self.items.arrays(), order, -ranks(order), NO_CONTEXT)

    def parameters(self) -> dict[str, Any]:
        """All arguments as plain values."""
        features, weights, spread = self.items
        return {
            "features": features.tolist(),
            "weights": weights.tolist(),
            "positions": self.positions,
            "spread": spread,
        }

    def shuffled(self, rng: np.random.Generator) -> "LinearCascade":
        """The same model, with its items in random order."""
        features, weights, spread = self.items
        return LinearCascade(rng.permutation(features), weights, self.positions, spread)


n_items = cascade.n_items
best_display = cascade.best_display
expected_reward = cascade.expected_reward
click = cascade.click


@kernel(inline=True)
def draw_context(model: Model, visitors: np.random.Generator, best: Ints) -> None:
    """Draw the features that the next visitor sees. `best` becomes the best display for this visitor."""
    draw_visitor(model.visitor, visitors, model.features, model.attraction)
    arrange(model.attraction, model.scores, best)
