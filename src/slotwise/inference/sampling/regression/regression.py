"""A prior of theta that is learnt from features: theta_i is Beta(1, b_i), and log b_i follows a regression.

    b_i = 1 + e^-eta_i,  eta_i = intercept + (x_i - centre) . effects,  effects_j ~ N(0, scale^2)

So -log(1 - theta_i), which is about theta_i, is exponential, and its mean is about e^eta_i. Without features this is
the prior `FALLING` of `learnt_prior`. Items without counts teach nothing: they are left out of the regression, and
their thetas are drawn from it. The centre is the mean of the features of the other items.

Along the principal axes of the features, the information on the intercept and each effect is known beforehand: every
item contributes at most 1, whatever the thetas are. So a Langevin step that takes it as metric needs no tuning.

A priori, the intercept is Gaussian, and the scale times the root of the number of features is half-normal with standard
deviation 1. So features of variance 1 have about the same influence, however many they are. If the features tell
nothing, the scale becomes small, and with it the effects.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinates import LEAST, MOST
from slotwise.inference.sampling.slice_bracket import shrink
from slotwise.jit import kernel

INTERCEPT_MEAN, INTERCEPT_SD = -2.5, 2.5  # a theta of 0.08, within 0.0006 and 0.92
_LEAST_LOG, _MOST_LOG = math.log(1e-3), math.log(50.0)  # of the logarithm of the scale
_LOWEST = -100.0  # of eta, so that b stays finite
_STEP = 1.2  # of a Langevin step in one dimension, in standard deviations
_LONGEST_DRIFT = 1.0  # in steps; far from the bulk, the gradient is too large
_TRIES = 100
_FLAT = 1e-9  # relative to the longest axis: the features do not vary along an axis that is shorter


class Regression(NamedTuple):
    """The features, the parameters, and quantities derived from both. Kernels change the arrays in place."""

    features: Floats  # N x d
    informed: NDArray[np.int8]  # N: 1 if the item has counts, so that the regression uses it; -1 at first
    rotated: Floats  # N x d: the features minus the centre, along the axes
    squares: Floats  # d: the sums of the squares of `rotated` over the informed items
    axes: Floats  # d x d: each column is an axis
    centre: Floats  # d
    scale: Floats  # one number
    parameters: Floats  # 1 + d: the intercept, then the effects along the axes
    etas: Floats  # N


@kernel
def regression_on(features: Floats, n_items: int) -> Regression:
    """A regression that knows nothing yet. Items beyond the rows of `features` have features 0."""
    rows, d = features.shape
    own = np.zeros((n_items, d))
    for item in range(min(rows, n_items)):
        for j in range(d):
            own[item, j] = features[item, j]
    parameters = np.zeros(1 + d)
    parameters[0] = INTERCEPT_MEAN
    return Regression(
        own,
        np.full(n_items, -1, np.int8),
        np.zeros((n_items, d)),
        np.zeros(d),
        np.eye(max(d, 1)),  # never empty, so that a file with a state keeps its shape
        np.zeros(d),
        np.full(1, 1.0 / math.sqrt(max(d, 1))),
        parameters,
        np.full(n_items, INTERCEPT_MEAN),
    )


@kernel
def note_informed(regression: Regression, counts: CountArrays) -> None:
    """Find which items have counts. If they are others than before, find the axes of their features again."""
    informed, clicks, skips, changed = regression.informed, counts.clicks, counts.skips, False
    for item in range(informed.size):
        total = 0.0
        for position in range(clicks.shape[1]):
            total += clicks[item, position] + skips[item, position]
        flag = 1 if total > 0.0 else 0
        changed = changed or informed[item] != flag
        informed[item] = flag
    if changed:
        _rotate(regression)


@kernel
def _rotate(regression: Regression) -> None:
    """Find the centre and the axes of the informed items, and express the parameters in them."""
    features, informed, rotated = regression.features, regression.informed, regression.rotated
    squares, axes, centre = regression.squares, regression.axes, regression.centre
    n_items, d = features.shape
    if d == 0:
        return
    effects, products, n = unrotated_effects(regression), np.zeros((d, d)), 0
    for j in range(d):
        total, n = 0.0, 0
        for item in range(n_items):
            if informed[item] == 1:
                n += 1
                total += features[item, j]
        moved = total / max(n, 1)
        regression.parameters[0] += (moved - centre[j]) * effects[j]
        centre[j] = moved
    for item in range(n_items):
        if informed[item] == 1:
            for j in range(d):
                for k in range(j + 1):
                    products[j, k] += (features[item, j] - centre[j]) * (features[item, k] - centre[k])
    found, vectors = np.linalg.eigh(products)  # reads the lower triangle
    for j in range(d):
        squares[j] = found[j] if found[j] > _FLAT * found[d - 1] and n > 1 else 0.0
        regression.parameters[1 + j] = 0.0
        for k in range(d):
            axes[k, j] = vectors[k, j]
            regression.parameters[1 + j] += vectors[k, j] * effects[k]
    for item in range(n_items):
        for j in range(d):
            total = 0.0
            for k in range(d):
                total += (features[item, k] - centre[k]) * axes[k, j]
            rotated[item, j] = total
    find_etas(regression)


@kernel
def unrotated_effects(regression: Regression) -> Floats:
    """The effect of each feature."""
    axes, parameters = regression.axes, regression.parameters
    d = parameters.size - 1
    effects = np.zeros(d)
    for j in range(d):
        for k in range(d):
            effects[j] += axes[j, k] * parameters[1 + k]
    return effects


@kernel
def take_parameters(regression: Regression, other: Regression) -> None:
    """Start from the parameters of another regression with the same features, on other items."""
    regression.scale[0] = other.scale[0]
    regression.parameters[0] = other.parameters[0]
    if other.parameters.size == regression.parameters.size:
        effects = unrotated_effects(other)
        for j in range(effects.size):
            regression.centre[j] = other.centre[j]
            regression.parameters[1 + j] = effects[j]


@kernel
def learn_regression(regression: Regression, theta: Floats, rng: np.random.Generator) -> None:
    """Take one Langevin step for the intercept and the effects, and one slice step for the scale.

    Both leave the law of the parameters given the thetas of the informed items invariant.
    """
    parameters, size = regression.parameters, regression.parameters.size
    now, deviations = parameters.copy(), np.empty(size)
    slopes_now, slopes = np.empty(size), np.empty(size)
    _find_deviations(regression, deviations)
    find_etas(regression)
    rise = -log_density(regression, theta, slopes_now)
    for k in range(size):
        z = rng.standard_normal()
        rise += 0.5 * z * z
        parameters[k] += deviations[k] * (z + _drift(slopes_now[k], deviations[k]))
    find_etas(regression)
    rise += log_density(regression, theta, slopes)
    for k in range(size):
        z = (now[k] - parameters[k]) / deviations[k] - _drift(slopes[k], deviations[k])
        rise -= 0.5 * z * z
    if not -rng.standard_exponential() < rise:
        for k in range(size):
            parameters[k] = now[k]
        find_etas(regression)
    if size > 1:
        _slice_scale(regression, rng)


@kernel(inline=True)
def _find_deviations(regression: Regression, deviations: Floats) -> None:
    """The standard deviations of the Langevin step, from the information on each parameter."""
    n, size = 0.0, deviations.size
    for item in range(regression.informed.size):
        n += regression.informed[item] == 1
    step, precision = _STEP * size ** (-1.0 / 6.0), regression.scale[0] ** -2.0
    deviations[0] = step / math.sqrt(n + INTERCEPT_SD**-2.0)
    for j in range(1, size):
        deviations[j] = step / math.sqrt(regression.squares[j - 1] + precision)


@kernel(inline=True)
def _drift(slope: float, deviation: float) -> float:
    """The drift of a Langevin step, in deviations."""
    return min(max(0.5 * deviation * slope, -_LONGEST_DRIFT), _LONGEST_DRIFT)


@kernel
def find_etas(regression: Regression) -> None:
    """Compute every eta from the intercept and the effects."""
    rotated, parameters, etas = regression.rotated, regression.parameters, regression.etas
    for item in range(etas.size):
        eta = parameters[0]
        for j in range(parameters.size - 1):
            eta += rotated[item, j] * parameters[1 + j]
        etas[item] = max(eta, _LOWEST)


@kernel
def log_density(regression: Regression, theta: Floats, slopes: Floats) -> float:
    """The log-density of the parameters, given the scale and the thetas of the informed items, up to a constant.

    Also fills `slopes` with its gradient.
    """
    informed, etas, parameters, rotated = (
        regression.informed,
        regression.etas,
        regression.parameters,
        regression.rotated,
    )
    precision = regression.scale[0] ** -2.0
    slopes[0] = -(parameters[0] - INTERCEPT_MEAN) / INTERCEPT_SD**2
    total = 0.5 * slopes[0] * (parameters[0] - INTERCEPT_MEAN)
    for j in range(1, parameters.size):
        slopes[j] = -parameters[j] * precision
        total += 0.5 * slopes[j] * parameters[j]
    product = 1.0
    for item in range(theta.size):
        if informed[item] == 1:
            skips = math.exp(-etas[item])  # b - 1
            log_rest = math.log(1.0 - min(theta[item], MOST))
            product *= 1.0 + skips
            if product > 1e100:  # one logarithm for many factors
                total += math.log(product)
                product = 1.0
            total += skips * log_rest
            slope = -skips * (log_rest + 1.0 / (1.0 + skips))
            slopes[0] += slope
            for j in range(1, parameters.size):
                slopes[j] += rotated[item, j - 1] * slope
    return float(total + math.log(product))


@kernel(inline=True)
def draw_uninformed(regression: Regression, theta: Floats, rng: np.random.Generator) -> None:
    """Draw the thetas of the items without counts from Beta(1, b)."""
    informed, etas = regression.informed, regression.etas
    for item in range(theta.size):
        if informed[item] != 1:
            drawn = -math.expm1(-rng.standard_exponential() / (1.0 + math.exp(-etas[item])))
            theta[item] = min(max(drawn, LEAST), MOST)


@kernel
def _slice_scale(regression: Regression, rng: np.random.Generator) -> None:
    """Take a slice step for the logarithm of the scale given the effects (Neal 2003, figures 3 and 5)."""
    squares, d = 0.0, regression.parameters.size - 1
    for j in range(1, d + 1):
        squares += regression.parameters[j] ** 2
    now = min(max(math.log(regression.scale[0]), _LEAST_LOG), _MOST_LOG)
    least = _log_density_of_scale(now, squares, d) - rng.standard_exponential()
    low = now - rng.random()
    high = low + 1.0
    while low > _LEAST_LOG and _log_density_of_scale(low, squares, d) > least:
        low -= 1.0
    while high < _MOST_LOG and _log_density_of_scale(high, squares, d) > least:
        high += 1.0
    low, high = max(low, _LEAST_LOG), min(high, _MOST_LOG)
    for _ in range(_TRIES):
        proposed = low + (high - low) * rng.random()
        if _log_density_of_scale(proposed, squares, d) > least:
            regression.scale[0] = math.exp(proposed)
            return
        low, high = shrink(low, high, proposed, now)


@kernel(inline=True)
def _log_density_of_scale(log_scale: float, squares: float, d: int) -> float:
    variance = math.exp(2.0 * log_scale)
    return (1.0 - d) * log_scale - 0.5 * (squares / variance + d * variance)
