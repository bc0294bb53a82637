"""What all click models have in common.

A click model is a file with a class and a named tuple `Model`, its parameters in the form that the kernels use. It has
these functions of a `Model`: `n_items`, `best_display`, and the kernels `expected_reward` and `click`.

If visitors differ, `Model` has a field `context` of type `Context`, and the file has one more kernel,
`draw_context(model, visitors, best)`. The simulation calls it before every round. It draws the next visitor, and writes
the best display for this visitor to `best`, what is known of the visitor to `model.context.levels`, and the features to
`model.features` if they depend on the visitor. Then `expected_reward` and `click` are those of this visitor.
"""

import importlib
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from types import ModuleType
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, integer_at_least, one_of, vector
from slotwise.clickmodels import clickmodels

HIDDEN = -1  # in place of 0 or 1: it is unknown whether the visitor would have clicked there
RATING_UNIT = 2.0**-20  # feedback is whole numbers, so a rating is a multiple of this


class Feedback(Enum):
    """What the visitors of a click model reveal. A policy declares which feedback it understands."""

    CLICKS = "a click or none at every position"
    PREFIX = "positions in order, until the first one that fails"
    CELL = "one item at one position"
    RATING = "a rating"


class BestDisplay(NamedTuple):
    """A setting of policies that know the truth. A simulation fills it in."""

    items: Ints


class TrueKappa(NamedTuple):
    """A setting of policies that know the visibility of each position. A simulation takes it from any click model."""

    values: Floats  # L, or empty if the click model has no kappas


class FeedbackUnit(NamedTuple):
    """A setting of policies that learn from ratings as well as from clicks. A simulation fills it in."""

    value: float  # what 1 in the feedback stands for


class ItemFeatures(NamedTuple):
    """A setting of policies that know features of the items. A simulation takes them from its click model."""

    values: Floats  # N x d


NO_FEATURES = ItemFeatures(np.empty((0, 0)))
NO_KAPPA = TrueKappa(np.empty(0))
ONE_CLICK = FeedbackUnit(1.0)
UNKNOWN_LEVEL = -1  # of a factor, if it is not known for this visitor


class Context(NamedTuple):
    """A setting of policies that know the visitor of a round. A simulation writes the levels before every round."""

    levels: Ints  # F: the level of each factor, or UNKNOWN_LEVEL
    sizes: Ints  # F: how many levels each factor has


NO_CONTEXT = Context(np.empty(0, np.int64), np.empty(0, np.int64))


class ClickModel(ABC):
    """How visitors click. The subclasses are immutable."""

    FEEDBACK: ClassVar[Feedback] = Feedback.CLICKS

    @property
    @abstractmethod
    def n_items(self) -> int:
        """The number of items."""

    @property
    @abstractmethod
    def n_positions(self) -> int:
        """The number of positions."""

    @abstractmethod
    def arrays(self) -> Any:
        """The model in the form that the kernels use."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The arguments that make an equal model, as plain values."""

    @abstractmethod
    def shuffled(self, rng: np.random.Generator) -> Self:
        """The same model with its items in random order, so that no policy profits from the order of indices."""

    @property
    def kernels(self) -> ModuleType:
        """The file of the click model."""
        return sys.modules[type(self.arrays()).__module__]  # not type(self): the class of a fit is elsewhere

    @property
    def click_model(self) -> str:
        """The name of the click model, such as "pbm"."""
        return self.kernels.__name__.rpartition(".")[2]

    def best_display(self) -> Ints:
        """The display with the largest expected reward."""
        best: Ints = self.kernels.best_display(self.arrays())
        return best

    def expected_reward(self, display: ArrayLike) -> float:
        """The expected reward of one visitor on `display`."""
        return float(self.kernels.expected_reward(self.arrays(), self._validated(display)))

    def _validated(self, display: ArrayLike) -> Ints:
        items = vector("display", display)
        if items.size != self.n_positions:
            raise BadInput(f"display has {items.size} items, but there are {self.n_positions} positions")
        for item in items:
            if integer_at_least("display", float(item), least=0) >= self.n_items:
                raise BadInput(f"display has item {item:g}, but items go from 0 to {self.n_items - 1}")
        if np.unique(items).size < items.size:
            raise BadInput(f"display = {items.astype(int).tolist()} has an item twice")
        return items.astype(np.int64)


def make_model(name: str, parameters: Mapping[str, Any]) -> ClickModel:
    """The click model with this name and these parameters."""
    module = importlib.import_module(f"slotwise.clickmodels.{one_of('click model', name, clickmodels())}")
    (model,) = (
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ClickModel) and kind.__module__ == module.__name__
    )
    try:
        return model(**parameters)
    except TypeError:
        needed = ", ".join(inspect.signature(model).parameters)
        raise BadInput(f"{model.__name__} has the parameters {needed}; given: {', '.join(parameters)}") from None


def check_enough_items(n_items: int, n_positions: int) -> None:
    """Raise `BadInput` if no display is possible."""
    if n_positions > n_items:
        raise BadInput(
            f"{n_positions} positions but only {n_items} items: a display needs at least as many items as positions"
        )
