"""A ridge regression that learns one observation at a time, for policies with features.

It keeps the Cholesky factor of the precision. So an observation, a draw and the width of a bound each take O(d^2).
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel
from slotwise.policies._observations import first_click


class LinearModel(NamedTuple):
    """The Gaussian posterior of the weights: precision L L^T, and mean (L L^T)^-1 sums."""

    factor: Floats  # d x d: L, lower triangular
    sums: Floats  # d: the sum of weight x response x regressor
    mean: Floats  # d
    work: Floats  # d: for intermediate results


@kernel
def no_data(n_features: int, precision: float) -> LinearModel:
    """The prior: independent weights with mean 0 and this precision."""
    factor = np.eye(n_features) * math.sqrt(precision)
    return LinearModel(factor, np.zeros(n_features), np.zeros(n_features), np.zeros(n_features))


@kernel(inline=True)
def add_row(factor: Floats, work: Floats) -> None:
    """Add the outer product of `work` to the precision: a rank-one update of its Cholesky factor. `work` is lost.

    Golub and Van Loan, "Matrix Computations", section 6.5.4 of the fourth edition.
    """
    n = work.size
    for k in range(n):
        old = factor[k, k]
        new = math.sqrt(old * old + work[k] * work[k])
        c, s = new / old, work[k] / old
        factor[k, k] = new
        for i in range(k + 1, n):
            factor[i, k] = (factor[i, k] + s * work[i]) / c
            work[i] = c * work[i] - s * factor[i, k]


@kernel
def factorise(matrix: Floats) -> None:
    """Replace a symmetric matrix by its Cholesky factor. The call of NumPy takes seconds to compile."""
    for k in range(len(matrix)):
        for i in range(k, len(matrix)):
            total = matrix[i, k]
            for j in range(k):
                total -= matrix[i, j] * matrix[k, j]
            matrix[i, k] = total / matrix[k, k] if i > k else math.sqrt(total)
        for i in range(k):
            matrix[i, k] = 0.0


@kernel(inline=True)
def solve_lower(factor: Floats, values: Floats) -> None:
    """Replace `values` by L^-1 values."""
    for i in range(values.size):
        total = values[i]
        for k in range(i):
            total -= factor[i, k] * values[k]
        values[i] = total / factor[i, i]


@kernel(inline=True)
def solve_upper(factor: Floats, values: Floats) -> None:
    """Replace `values` by L^-T values."""
    n = values.size
    for j in range(n):
        i = n - 1 - j
        total = values[i]
        for k in range(i + 1, n):
            total -= factor[k, i] * values[k]
        values[i] = total / factor[i, i]


@kernel(inline=True)
def observe_item(model: LinearModel, features: Floats, item: int, scale: float, weight: float, response: float) -> None:
    """Add an observation: the response to `scale` times the features of an item, and its weight. `fit` must follow."""
    factor, sums, work = model.factor, model.sums, model.work
    root = math.sqrt(weight)
    for k in range(sums.size):
        x = scale * features[item, k]
        sums[k] += weight * response * x
        work[k] = root * x
    add_row(factor, work)


@kernel(inline=True)
def fit(model: LinearModel) -> None:
    """Compute the mean of the weights."""
    factor, sums, mean = model.factor, model.sums, model.mean
    for k in range(mean.size):
        mean[k] = sums[k]
    solve_lower(factor, mean)
    solve_upper(factor, mean)


@kernel(inline=True)
def observe_cascade(model: LinearModel, features: Floats, display: Ints, clicks: Ints, sigma: float) -> None:
    """Learn from the positions up to the first click, or from all of them if there is none."""
    for position in range(first_click(clicks) + 1):
        clicked = 1.0 if clicks[position] > 0 else 0.0
        observe_item(model, features, display[position], 1.0, 1.0 / (sigma * sigma), clicked)
    fit(model)


@kernel(inline=True)
def draw_weights(model: LinearModel, rng: np.random.Generator, weights: Floats) -> None:
    """Draw the weights from the posterior."""
    factor, mean = model.factor, model.mean
    for k in range(weights.size):
        weights[k] = rng.standard_normal()
    solve_upper(factor, weights)
    for k in range(weights.size):
        weights[k] += mean[k]


@kernel(inline=True)
def scores(features: Floats, weights: Floats, values: Floats) -> None:
    """The sum of features times weights of each item."""
    for item in range(values.size):
        total = 0.0
        for k in range(weights.size):
            total += features[item, k] * weights[k]
        values[item] = total


@kernel(inline=True)
def upper_bounds(model: LinearModel, features: Floats, c: float, bounds: Floats) -> None:
    """The mean of each item plus c standard deviations, at most 1."""
    factor, mean, work = model.factor, model.mean, model.work
    for item in range(bounds.size):
        total, variance = 0.0, 0.0
        for k in range(mean.size):
            total += features[item, k] * mean[k]
            work[k] = features[item, k]
        solve_lower(factor, work)
        for k in range(mean.size):
            variance += work[k] * work[k]
        bounds[item] = min(1.0, total + c * math.sqrt(variance))


@kernel(inline=True)
def log_determinant(model: LinearModel) -> float:
    """The logarithm of the determinant of the precision."""
    factor, total = model.factor, 0.0
    for k in range(model.sums.size):
        total += math.log(factor[k, k])
    return 2.0 * total
