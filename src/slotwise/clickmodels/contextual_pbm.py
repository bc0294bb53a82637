"""A position-based model whose visitors differ: every combination of levels of some factors has its own thetas.

A factor is what is known of a visitor, the device for example, and its values are the levels. All visitors look at the
positions in the same way, so the kappas are shared.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from slotwise.arrange import arrange
from slotwise.checks import BadInput, Floats, Ints, matrix, vector, within
from slotwise.clickmodels._click_model import UNKNOWN_LEVEL, ClickModel, Context, check_enough_items
from slotwise.jit import kernel

_NEAR_ONE = 1e-9  # a sum of shares differs from 1 by at most this


class Model(NamedTuple):
    """The model in the form that the kernels use. Row C is a visitor of whom nothing is known."""

    thetas: Floats  # (C + 1) x N
    kappa: Floats
    bests: Ints  # (C + 1) x L: the best displays
    levels: Ints  # (C + 1) x F
    cumulated: Floats  # C: the sums of the first shares
    features: Floats  # N x d
    context: Context  # of the current visitor
    combination: Ints  # one number: the row of the current visitor


@dataclass(frozen=True, eq=False)
class ContextualPBM(ClickModel):
    """A row of thetas for each combination of levels, the visibility of every position, and the levels.

    `shares` says how frequent each combination is; by default, all are equally frequent. By default there is one
    factor, and each combination is a level of it. `features` is a row of numbers for each item.

    >>> visitors = ContextualPBM(theta=[[0.3, 0.1], [0.1, 0.4]], kappa=[1.0])
    >>> visitors.best_display()  # if nothing is known of the visitor
    array([1])
    """

    theta: Floats
    kappa: Floats
    levels: Ints
    shares: Floats
    features: Floats

    def __init__(
        self,
        theta: ArrayLike,
        kappa: ArrayLike,
        levels: ArrayLike | None = None,
        shares: ArrayLike | None = None,
        features: ArrayLike | None = None,
    ) -> None:
        thetas = within("theta", matrix("theta", theta), 0.0, 1.0)
        n_combinations, n_items = thetas.shape
        given = np.arange(n_combinations)[:, None] if levels is None else matrix("levels", levels)
        if len(given) != n_combinations or (given < 0).any() or (given % 1 != 0).any():
            raise BadInput(
                f"levels must be whole numbers of at least 0, with a row for each of {n_combinations} thetas"
            )
        frequent = np.ones(n_combinations) / n_combinations if shares is None else vector("shares", shares)
        if frequent.size != n_combinations or abs(within("shares", frequent, 0.0, 1.0).sum() - 1.0) > _NEAR_ONE:
            raise BadInput(f"shares must be {n_combinations} numbers whose sum is 1, one for each combination")
        known = np.zeros((n_items, 0))
        if features is not None and np.size(features) > 0:
            known = matrix("features", features)
        if len(known) != n_items:
            raise BadInput(f"features has {len(known)} rows, but there are {n_items} items")
        object.__setattr__(self, "theta", thetas)
        object.__setattr__(self, "kappa", within("kappa", vector("kappa", kappa), 0.0, 1.0))
        object.__setattr__(self, "levels", given.astype(np.int64))
        object.__setattr__(self, "shares", frequent)
        object.__setattr__(self, "features", known)
        check_enough_items(n_items, self.kappa.size)

    def __repr__(self) -> str:
        n_combinations, n_factors = self.levels.shape
        return (
            f"ContextualPBM({n_combinations} combinations of {n_factors} factors, "
            f"{self.n_items} items, {self.n_positions} positions)"
        )

    @property
    def n_items(self) -> int:
        return int(self.theta.shape[1])

    @property
    def n_positions(self) -> int:
        return self.kappa.size

    def arrays(self) -> Model:
        """The model in the form that the kernels use. At first, nothing is known of the visitor."""
        n_combinations, n_factors = self.levels.shape
        thetas = np.vstack([self.theta, self.shares @ self.theta])
        bests = np.empty((n_combinations + 1, self.n_positions), np.int64)
        for row, display in zip(thetas, bests, strict=True):
            arrange(row, self.kappa, display)
        levels = np.vstack([self.levels, np.full((1, n_factors), UNKNOWN_LEVEL)])
        context = Context(levels[-1].copy(), self.levels.max(axis=0) + 1)
        cumulated, combination = np.cumsum(self.shares), np.array([n_combinations])
        return Model(thetas, self.kappa, bests, levels, cumulated, self.features.copy(), context, combination)

    def parameters(self) -> dict[str, Any]:
        """All arguments as lists."""
        names = ("theta", "kappa", "levels", "shares", "features")
        return {name: getattr(self, name).tolist() for name in names}

    def shuffled(self, rng: np.random.Generator) -> "ContextualPBM":
        """The same model, with its items and positions in random order. Only the first position stays."""
        items = rng.permutation(self.n_items)
        kappa = np.concatenate([self.kappa[:1], rng.permutation(self.kappa[1:])])
        return ContextualPBM(self.theta[:, items], kappa, self.levels, self.shares, self.features[items])


@kernel(inline=True)
def n_items(model: Model) -> int:
    """The number of items."""
    return int(model.thetas.shape[1])


def best_display(model: Model) -> Ints:
    """The best display for the current visitor."""
    best: Ints = model.bests[model.combination[0]].copy()
    return best


@kernel(inline=True)
def draw_context(model: Model, visitors: np.random.Generator, best: Ints) -> None:
    """Draw the combination of the next visitor. `best` becomes the best display for this visitor."""
    cumulated, all_levels, bests = model.cumulated, model.levels, model.bests
    levels = model.context.levels
    u, row = visitors.random(), 0
    while row < cumulated.size - 1 and u >= cumulated[row]:
        row += 1
    model.combination[0] = row
    for factor in range(levels.size):
        levels[factor] = all_levels[row, factor]
    for position in range(best.size):
        best[position] = bests[row, position]


@kernel(inline=True)
def expected_reward(model: Model, display: Ints) -> float:
    """The expected number of clicks of the current visitor on a display."""
    thetas, kappa, row = model.thetas, model.kappa, model.combination[0]
    total = 0.0
    for position in range(display.size):
        total += thetas[row, display[position]] * kappa[position]
    return total


@kernel(inline=True)
def click(model: Model, display: Ints, visitors: np.random.Generator, clicks: Ints) -> None:
    """Draw the clicks of the current visitor. This takes one uniform number per position, whatever the display is."""
    thetas, kappa, row = model.thetas, model.kappa, model.combination[0]
    for position in range(display.size):
        chance = thetas[row, display[position]] * kappa[position]
        clicks[position] = visitors.random() < chance
