"""The nearest alternative: another (theta, kappa) that looks the same on the best display and has another best display.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias".
An alternative keeps theta'_l kappa'_l on the best display, so that x = log theta' says it all. Showing item i at
position l tells it from the truth at the rate d(theta_i kappa_l, theta_l kappa_l exp(x_i - x_l)), convex in x_i - x_l.
Coordinates here are those differences that make every constraint simple: z_l = x_{l+1} - x_l down to the last
position, then z_{i-1} = x_i - x_L for each item beyond. Going from the truth, the first change of the best display
happens where one coordinate reaches one value, its `tie`; the others are free, or bounded below where the order of the
positions is known: kappa'_l >= kappa'_{l+1} is z_l >= log(theta_{l+1} kappa_{l+1} / (theta_l kappa_l)).

Items and positions are numbered by decreasing theta and kappa throughout, all of them in ]0, 1].
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.jit import kernel

CLOSEST_TO_ONE = 1.0 - 1e-9  # a product of exactly 1 would be told from any other in one display
NEWTON_STEPS = 50
SHORTENINGS = 30
ENOUGH_DESCENT = 1e-4
LONGEST_STEP = 2.0
RIDGE = 1e-12  # curvature given to coordinates on which nothing depends


class Truth(NamedTuple):
    """The model that alternatives are told from."""

    theta: Floats
    kappa: Floats
    z: Floats  # its own coordinates
    low: Floats  # the least value of each coordinate


@kernel
def truth_of(theta: Floats, kappa: Floats, ordered: bool) -> Truth:
    """The coordinates of (theta, kappa) and, where the order of positions is known, their lower bounds."""
    n_items, n_positions = theta.size, kappa.size
    z, low = np.empty(n_items - 1), np.full(n_items - 1, -np.inf)
    for k in range(n_items - 1):
        z[k] = math.log(theta[k + 1] / theta[min(k, n_positions - 1)])
        if ordered and k < n_positions - 1:
            low[k] = z[k] + math.log(kappa[k + 1] / kappa[k])
    return Truth(theta, kappa, z, low)


@kernel(inline=True)
def logs(n_positions: int, z: Floats, x: Floats) -> None:
    """x = log theta' up to a common factor, which no divergence depends on."""
    x[0] = 0.0
    for k in range(z.size):
        x[k + 1] = x[min(k, n_positions - 1)] + z[k]


@kernel(inline=True)
def told_apart(mean: float, other: float) -> float:
    """d(mean, other), the Bernoulli divergence; infinite where no alternative can be."""
    if not other < 1.0:
        return np.inf
    if mean <= 0.0:
        return -math.log1p(-other)
    if other <= 0.0:
        return np.inf
    gap = other - mean  # log1p, since the two terms nearly cancel where the gap is small
    return -mean * math.log1p(gap / mean) - (1.0 - mean) * math.log1p(-gap / (1.0 - mean))


@kernel
def divergences(truth: Truth, z: Floats, rates: Floats) -> None:
    """Fill `rates`, one for each item off its position: how fast showing it there tells z from the truth."""
    theta, kappa, x = truth.theta, truth.kappa, np.empty(truth.theta.size)
    logs(kappa.size, z, x)
    for position in range(kappa.size):
        for item in range(theta.size):
            if item != position:
                other = theta[position] * kappa[position] * math.exp(x[item] - x[position])
                rate = told_apart(theta[item] * kappa[position], min(other, CLOSEST_TO_ONE))
                rates[variable(item, position, theta.size)] = rate


@kernel(inline=True)
def variable(item: int, position: int, n_items: int) -> int:
    """The number of the pair of an item and a position, those of the best display left out."""
    return position * (n_items - 1) + (item if item < position else item - 1)


@kernel
def _value(truth: Truth, q: Floats, z: Floats, x: Floats) -> float:
    """The sum of q_il d(theta_i kappa_l, theta'_i kappa'_l) over i != l."""
    theta, kappa = truth.theta, truth.kappa
    logs(kappa.size, z, x)
    total = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            if item != position and q[item, position] > 0.0:
                other = theta[position] * kappa[position] * math.exp(x[item] - x[position])
                total += q[item, position] * told_apart(theta[item] * kappa[position], other)
    return total


@kernel
def _derivatives(truth: Truth, q: Floats, z: Floats, x: Floats, slope: Floats, curve: Floats) -> None:
    """Slope and curvature of `_value` in z, where every product is below 1."""
    theta, kappa = truth.theta, truth.kappa
    n_items, n_positions = theta.size, kappa.size
    logs(kappa.size, z, x)
    for a in range(slope.size):
        slope[a] = 0.0
        for b in range(a + 1):
            curve[a, b] = 0.0
    for item in range(n_items):
        for position in range(n_positions):
            if item == position or q[item, position] <= 0.0:
                continue
            mean = theta[item] * kappa[position]
            other = theta[position] * kappa[position] * math.exp(x[item] - x[position])
            odds = other / (1.0 - other)
            first = q[item, position] * ((1.0 - mean) * odds - mean)
            second = q[item, position] * (1.0 - mean) * odds / (1.0 - other)
            # x_item - x_position is a sum of coordinates low..high-1, and of the item's own when it has no position
            low, high = min(item, position), min(max(item, position), n_positions - 1)
            sign = 1.0 if item > position else -1.0
            for a in range(low, high):
                slope[a] += sign * first
                for b in range(low, a + 1):
                    curve[a, b] += second
            if item >= n_positions:
                slope[item - 1] += first
                curve[item - 1, item - 1] += second
                for b in range(low, high):
                    curve[item - 1, b] += second


@kernel
def _newton_step(fixed: int, z: Floats, low: Floats, slope: Floats, curve: Floats, step: Floats) -> float:
    """Fill `step` with Newton's step on the free coordinates; the slope along it, negative while there is descent.

    A coordinate on its bound, pushed against it, stays there (projected Newton, Bertsekas 1982).
    """
    size = slope.size
    largest = 0.0
    for k in range(size):
        largest = max(largest, curve[k, k])
    for a in range(size):
        step[a] = -slope[a]
        if a == fixed or (z[a] <= low[a] + 1e-12 and slope[a] > 0.0):
            step[a] = 0.0
            for b in range(size):
                curve[max(a, b), min(a, b)] = 0.0
            curve[a, a] = 1.0
        curve[a, a] += RIDGE * largest + 1e-300
    for a in range(size):  # Cholesky in place, on the lower triangle
        for b in range(a + 1):
            total = curve[a, b]
            for c in range(b):
                total -= curve[a, c] * curve[b, c]
            if a == b:
                curve[a, a] = math.sqrt(max(total, RIDGE * largest + 1e-300))
            else:
                curve[a, b] = total / curve[b, b]
    for a in range(size):
        for b in range(a):
            step[a] -= curve[a, b] * step[b]
        step[a] /= curve[a, a]
    for a in range(size - 1, -1, -1):
        for b in range(a + 1, size):
            step[a] -= curve[b, a] * step[b]
        step[a] /= curve[a, a]
    longest, along = 0.0, 0.0
    for a in range(size):
        longest = max(longest, abs(step[a]))
    for a in range(size):
        if longest > LONGEST_STEP:
            step[a] *= LONGEST_STEP / longest
        along += slope[a] * step[a]
    return along


@kernel
def nearest(truth: Truth, q: Floats, fixed: int, tie: float, tolerance: float, z: Floats) -> float:
    """Move `z` to where the sum of q_il d(...) is least given z[fixed] = tie, from where it is; the sum there.

    It stops when Newton's step promises less than `tolerance` times the sum. Whatever it stops at is an alternative.
    """
    low, x = truth.low, np.empty(z.size + 1)
    slope, curve, step, trial = np.empty(z.size), np.empty((z.size, z.size)), np.empty(z.size), np.empty(z.size)
    for k in range(z.size):
        z[k] = max(z[k], low[k])
    z[fixed] = tie
    value = _value(truth, q, z, x)
    if not value < np.inf:
        for k in range(z.size):
            z[k] = truth.z[k]
        z[fixed] = tie
        value = _value(truth, q, z, x)
    for _ in range(NEWTON_STEPS):
        _derivatives(truth, q, z, x, slope, curve)
        along = _newton_step(fixed, z, low, slope, curve, step)
        if -along <= tolerance * value:
            break
        size = 1.0
        for _ in range(SHORTENINGS):
            for k in range(z.size):
                trial[k] = max(z[k] + size * step[k], low[k])
            trial[fixed] = tie
            there = _value(truth, q, trial, x)
            if there <= value + ENOUGH_DESCENT * size * along:
                break
            size *= 0.5
        if not there < value:
            break
        for k in range(z.size):
            z[k] = trial[k]
        value = there
    return value
