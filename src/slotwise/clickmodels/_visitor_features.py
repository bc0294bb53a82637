"""Features that depend on the visitor: each visitor weighs the features of the items by a taste of their own."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, matrix, number, vector
from slotwise.jit import kernel


class VisitorFeatures(NamedTuple):
    """The features of the items, the weights of the features, and how visitors differ. Kernels use this form."""

    base: Floats  # N x d: for a visitor who weighs all features alike
    weights: Floats  # d
    spread: Floats  # one number
    taste: Floats  # d: of the current visitor


class LinearItems(NamedTuple):
    """The arguments that click models with linear attraction share, validated."""

    features: Floats  # N x d
    weights: Floats  # d
    spread: float

    @classmethod
    def of(cls, features: ArrayLike, weights: ArrayLike, spread: float) -> "LinearItems":
        given, effects = matrix("features", features), vector("weights", weights)
        if effects.size != given.shape[1]:
            raise BadInput(f"weights has {effects.size} numbers, but an item has {given.shape[1]} features")
        width = number("spread", spread)
        if not 0.0 <= width < np.inf:
            raise BadInput(f"spread = {width:g} is " + ("below 0" if width < 0.0 else "not a finite number"))
        linear = given @ effects
        if linear.min() < 0.0 or linear.max() > 1.0:
            raise BadInput(
                f"features times weights goes from {linear.min():g} to {linear.max():g}, but [0, 1] is needed"
            )
        return cls(given, effects, width)

    def arrays(self) -> VisitorFeatures:
        """The form that the kernels use. At first, the visitor weighs all features alike."""
        return VisitorFeatures(self.features, self.weights, np.array([self.spread]), np.ones(self.weights.size))


@kernel(inline=True)
def draw_visitor(visitor: VisitorFeatures, visitors: np.random.Generator, features: Floats, attraction: Floats) -> None:
    """Draw the taste of the next visitor, and what it makes of the features and of the attraction of each item.

    A taste is log-normal. It is divided by its largest component, so that no feature becomes larger.
    """
    base, weights, taste, spread = visitor.base, visitor.weights, visitor.taste, visitor.spread[0]
    largest = 0.0
    for k in range(taste.size):
        taste[k] = np.exp(spread * visitors.standard_normal())
        largest = max(largest, taste[k])
    for k in range(taste.size):
        taste[k] /= largest
    for item in range(attraction.size):
        total = 0.0
        for k in range(taste.size):
            features[item, k] = base[item, k] * taste[k]
            total += features[item, k] * weights[k]
        attraction[item] = min(max(total, 0.0), 1.0)
