"""The nearest alternative: a (theta, kappa) with the same products on the best display, but another best display.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias". An
alternative keeps theta'_l kappa'_l on the best display, so x = log theta' determines it. Showing item i at position l
distinguishes the alternative from the model at the rate d(theta_i kappa_l, theta_l kappa_l exp(x_i - x_l)), which is
convex in x_i - x_l. The coordinates z are differences that make every constraint simple: z_l = x_{l+1} - x_l up to the
last position, then z_{i-1} = x_i - x_L for each further item. If the parameters move away from the model, the best
display first changes at a tie, where two items or two positions become equal. A tie fixes the value of one coordinate.
The other coordinates are free or, if the order of the positions is known, bounded below: kappa'_l >= kappa'_{l+1} means
z_l >= log(theta_{l+1} kappa_{l+1} / (theta_l kappa_l)).

Items are numbered by decreasing theta, and positions by decreasing kappa. All thetas and kappas are in (0, 1].
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.jit import kernel

LARGEST_PRODUCT = 1.0 - 1e-9  # a product of exactly 1 has an infinite divergence from every other product
NEWTON_STEPS = 50
HALVINGS = 30
SUFFICIENT_DECREASE = 1e-4
LONGEST_STEP = 2.0
RIDGE = 1e-12  # curvature added to coordinates on which nothing depends


class RankedModel(NamedTuple):
    """The model for which alternatives are searched. Items and positions are sorted by decreasing theta and kappa."""

    theta: Floats
    kappa: Floats
    z: Floats  # the coordinates of the model itself
    low: Floats  # the lower bound of each coordinate


@kernel
def ranked_model(theta: Floats, kappa: Floats, order_known: bool) -> RankedModel:
    """The model with its coordinates. If the order of the positions is known, the coordinates have lower bounds."""
    n_items, n_positions = theta.size, kappa.size
    z, low = np.empty(n_items - 1), np.full(n_items - 1, -np.inf)
    for k in range(n_items - 1):
        z[k] = math.log(theta[k + 1] / theta[min(k, n_positions - 1)])
        if order_known and k < n_positions - 1:
            low[k] = z[k] + math.log(kappa[k + 1] / kappa[k])
    return RankedModel(theta, kappa, z, low)


@kernel(inline=True)
def log_theta(n_positions: int, z: Floats, x: Floats) -> None:
    """Fill x with log theta', up to a constant on which no divergence depends."""
    x[0] = 0.0
    for k in range(z.size):
        x[k + 1] = x[min(k, n_positions - 1)] + z[k]


@kernel(inline=True)
def bernoulli_divergence(mean: float, other: float) -> float:
    """d(mean, other), the Kullback-Leibler divergence of Bernoulli laws. It may be infinite if `other` is 0 or 1."""
    if not other < 1.0:
        return np.inf
    if mean <= 0.0:
        return -math.log1p(-other)
    if other <= 0.0:
        return np.inf
    gap = other - mean  # log1p is needed because the two terms nearly cancel for a small gap
    return -mean * math.log1p(gap / mean) - (1.0 - mean) * math.log1p(-gap / (1.0 - mean))


@kernel
def divergences(model: RankedModel, z: Floats, rates: Floats) -> None:
    """For each pair that is not in the best display, fill `rates` with the divergence of z from the model."""
    theta, kappa, x = model.theta, model.kappa, np.empty(model.theta.size)
    log_theta(kappa.size, z, x)
    for position in range(kappa.size):
        for item in range(theta.size):
            if item != position:
                other = theta[position] * kappa[position] * math.exp(x[item] - x[position])
                rate = bernoulli_divergence(theta[item] * kappa[position], min(other, LARGEST_PRODUCT))
                rates[variable(item, position, theta.size)] = rate


@kernel(inline=True)
def variable(item: int, position: int, n_items: int) -> int:
    """The index of a pair of an item and a position. The pairs of the best display have no index."""
    return position * (n_items - 1) + (item if item < position else item - 1)


@kernel
def _value(model: RankedModel, q: Floats, z: Floats, x: Floats) -> float:
    """The sum of q_il d(theta_i kappa_l, theta'_i kappa'_l) over i != l, at the alternative z."""
    theta, kappa = model.theta, model.kappa
    log_theta(kappa.size, z, x)
    total = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            if item != position and q[item, position] > 0.0:
                other = theta[position] * kappa[position] * math.exp(x[item] - x[position])
                total += q[item, position] * bernoulli_divergence(theta[item] * kappa[position], other)
    return total


@kernel
def _derivatives(model: RankedModel, q: Floats, z: Floats, x: Floats, gradient: Floats, hessian: Floats) -> None:
    """Gradient and Hessian (its lower triangle) of `_value` in z, for products below 1."""
    theta, kappa = model.theta, model.kappa
    n_items, n_positions = theta.size, kappa.size
    log_theta(kappa.size, z, x)
    for a in range(gradient.size):
        gradient[a] = 0.0
        for b in range(a + 1):
            hessian[a, b] = 0.0
    for item in range(n_items):
        for position in range(n_positions):
            if item == position or q[item, position] <= 0.0:
                continue
            mean = theta[item] * kappa[position]
            other = theta[position] * kappa[position] * math.exp(x[item] - x[position])
            odds = other / (1.0 - other)
            first = q[item, position] * ((1.0 - mean) * odds - mean)
            second = q[item, position] * (1.0 - mean) * odds / (1.0 - other)
            # x_item - x_position is the sum of coordinates low..high-1, plus the item's own if it has no position
            low, high = min(item, position), min(max(item, position), n_positions - 1)
            sign = 1.0 if item > position else -1.0
            for a in range(low, high):
                gradient[a] += sign * first
                for b in range(low, a + 1):
                    hessian[a, b] += second
            if item >= n_positions:
                gradient[item - 1] += first
                hessian[item - 1, item - 1] += second
                for b in range(low, high):
                    hessian[item - 1, b] += second


@kernel
def _newton_step(fixed: int, z: Floats, low: Floats, gradient: Floats, hessian: Floats, step: Floats) -> float:
    """Fill `step` with Newton's step on the free coordinates. Returns the slope along the step (negative: descent).

    A coordinate at its bound whose step would cross the bound stays there (projected Newton, Bertsekas 1982).
    """
    size = gradient.size
    largest = 0.0
    for k in range(size):
        largest = max(largest, hessian[k, k])
    for a in range(size):
        step[a] = -gradient[a]
        if a == fixed or (z[a] <= low[a] + 1e-12 and gradient[a] > 0.0):
            step[a] = 0.0
            for b in range(size):
                hessian[max(a, b), min(a, b)] = 0.0
            hessian[a, a] = 1.0
        hessian[a, a] += RIDGE * largest + 1e-300
    for a in range(size):  # Cholesky in place, on the lower triangle
        for b in range(a + 1):
            total = hessian[a, b]
            for c in range(b):
                total -= hessian[a, c] * hessian[b, c]
            if a == b:
                hessian[a, a] = math.sqrt(max(total, RIDGE * largest + 1e-300))
            else:
                hessian[a, b] = total / hessian[b, b]
    for a in range(size):
        for b in range(a):
            step[a] -= hessian[a, b] * step[b]
        step[a] /= hessian[a, a]
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            step[a] -= hessian[b, a] * step[b]
        step[a] /= hessian[a, a]
    longest, slope = 0.0, 0.0
    for a in range(size):
        longest = max(longest, abs(step[a]))
    for a in range(size):
        if longest > LONGEST_STEP:
            step[a] *= LONGEST_STEP / longest
        slope += gradient[a] * step[a]
    return slope


@kernel
def nearest(model: RankedModel, q: Floats, fixed: int, tie: float, tolerance: float, z: Floats) -> float:
    """Minimise the sum of q_il d(...) over z with z[fixed] = tie. Returns the least sum.

    The search starts at `z` and stops when the predicted decrease is below `tolerance` times the sum. Every z is an
    alternative, even before convergence.
    """
    low, x = model.low, np.empty(z.size + 1)
    gradient, hessian, step, trial = np.empty(z.size), np.empty((z.size, z.size)), np.empty(z.size), np.empty(z.size)
    for k in range(z.size):
        z[k] = max(z[k], low[k])
    z[fixed] = tie
    value = _value(model, q, z, x)
    if not value < np.inf:
        for k in range(z.size):
            z[k] = model.z[k]
        z[fixed] = tie
        value = _value(model, q, z, x)
    for _ in range(NEWTON_STEPS):
        _derivatives(model, q, z, x, gradient, hessian)
        slope = _newton_step(fixed, z, low, gradient, hessian, step)
        if -slope <= tolerance * value:
            break
        size = 1.0
        for _ in range(HALVINGS):
            for k in range(z.size):
                trial[k] = max(z[k] + size * step[k], low[k])
            trial[fixed] = tie
            trial_value = _value(model, q, trial, x)
            if trial_value <= value + SUFFICIENT_DECREASE * size * slope:
                break
            size *= 0.5
        if not trial_value < value:
            break
        for k in range(z.size):
            z[k] = trial[k]
        value = trial_value
    return value
