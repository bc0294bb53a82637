"""Update one coordinate of a PBM's posterior. The new value is almost independent of the current one.

The conditional law of a theta or kappa (Eq. 5 and 6) is close to a Gamma law when the products theta kappa are small,
and the cube root of a Gamma variable is close to a Gaussian. So the proposal is a Gaussian for the cube root, matched
to the mode and the curvature of the conditional: y = m (1 + c z)^3. For a Gamma law at least 95 % of the proposals are
accepted. If the conditional has its mass close to 1, or if Newton's method has not come near the mode, a slice step is
taken instead. The choice depends only on the other coordinates and the counts, so both kinds of step leave the
posterior invariant. Every `slice_every`-th step is a slice step too, because after a bad start a chain may be far from
the bulk of the posterior. There the tails of the proposal can be so much lighter than those of the conditional that no
proposal is ever accepted. A slice step always moves.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.artanh_series import beyond_first, cube_root, remainder
from slotwise.inference.sampling.coordinates import LEAST, MOST, BetaFactor, Conditionals
from slotwise.inference.sampling.slice_bracket import shrink
from slotwise.jit import kernel

_NEWTON_STEPS = 4
_NEAR = 0.05  # how far from the mode, in squared standard deviations, the last Newton step may have begun
_WIDEST = 0.5  # if z^2 may exceed this, the series does not help
_ROOM = 3.0  # this many standard deviations must fit between the mode and 1
_TRIES = 200  # bounds the loop of a slice step; it is never reached, because each try shrinks the bracket


class Scan(NamedTuple):
    """Which values one pass updates, and how often it takes a slice step."""

    first: int
    stride: int
    slice_every: int  # the count begins at a random step


@kernel(inline=True)
def redraw(values: Floats, laws: Conditionals, prior: BetaFactor, scan: Scan, rng: np.random.Generator) -> None:
    """Take one step for each of `values[scan.first :: scan.stride]`.

    `prior` is a factor of each conditional density.
    """
    clicks, skips, others = laws.clicks, laws.skips, laws.others
    more_clicks, more_skips, slice_every = prior.clicks, prior.skips, scan.slice_every
    since_slice = int(slice_every * rng.random())
    for i in range(scan.first, values.size, scan.stride):
        x = min(max(values[i], LEAST), MOST)
        weighted, twice_weighted = more_skips, more_skips
        for j in range(others.size):
            term = skips[i, j] * others[j]
            weighted += term
            twice_weighted += term * others[j]
        if weighted <= 0.0:  # without skips of positive weight, the density is x^clicks
            values[i] = rng.random() ** (1.0 / (1.0 + clicks[i] + more_clicks))
            continue
        power = clicks[i] + more_clicks + 2.0 / 3.0  # 2/3 comes from the Jacobian of the cube root
        # correct to the second order in x; exact when all skips are at one position
        mode = power / (weighted + power * (twice_weighted / weighted))
        distance, curvature = math.inf, 1.0
        for _ in range(_NEWTON_STEPS):
            if not mode < 1.0:
                distance = math.inf
                break
            # as a function of log x, the slope is `gap`, and it falls at the rate `curvature`
            share = more_skips * mode / (1.0 - mode)
            gap, curvature = power - share, share / (1.0 - mode)
            for j in range(others.size):
                chance = mode * others[j]
                odds = 1.0 / (1.0 - chance)
                share = skips[i, j] * chance * odds
                gap -= share
                curvature += share * odds
            step = gap / curvature
            distance = gap * step
            mode *= max(1.0 + step, 0.25)
            if distance < _NEAR:
                break
        sharpness = 3.0 * math.sqrt(curvature)  # of the cube root, relative to its mode
        scale = 1.0 / sharpness
        since_slice += 1
        if not distance < _NEAR or not mode * (1.0 + _ROOM * scale) ** 3 < 1.0 or since_slice >= slice_every:
            since_slice = 0 if since_slice >= slice_every else since_slice
            values[i] = _slice(x, BetaFactor(clicks[i] + more_clicks, more_skips), skips, i, others, rng)
            continue
        z = rng.standard_normal()
        root = 1.0 + scale * z
        y = mode * root * root * root
        if root <= 0.0 or y < LEAST or y >= 1.0:
            continue
        z_now = (cube_root(x / mode) - 1.0) * sharpness
        proposed = 0.5 * (z * z - z_now * z_now)  # the ratio of the proposal's densities in the cube root
        log_u = -rng.standard_exponential()
        # the log-ratio as a series; all terms of a sum have the same sign
        up = (y - x) / (y + x)
        widest = up * up
        down, rest = 0.0, power * up * beyond_first(widest)
        if more_skips > 0.0:
            w = (x - y) / (2.0 - (x + y))
            widest = max(widest, w * w)
            down += more_skips * w
            rest += more_skips * w * beyond_first(w * w)
        for j in range(others.size):
            w = (x - y) * others[j] / (2.0 - (x + y) * others[j])
            square = w * w
            widest = max(widest, square)
            down += skips[i, j] * w
            rest += skips[i, j] * w * beyond_first(square)
        ratio = proposed + 2.0 * (power * up + down + rest)
        if widest < _WIDEST:
            error = (power * abs(up) + abs(down)) * remainder(widest)
            if log_u < ratio - error:
                values[i] = y
                continue
            if log_u > ratio + error:
                continue
        if log_u < proposed + _rise(y, x, BetaFactor(power, more_skips), skips, i, others):
            values[i] = y


@kernel
def _slice(x: float, factor: BetaFactor, skips: Floats, i: int, others: Floats, rng: np.random.Generator) -> float:
    """Take a slice step: widen a bracket by stepping out, then shrink it (Neal 2003, figures 3 and 5).

    The density is `factor` times the factors of the skips in the conditional law of value i.
    """
    least = -rng.standard_exponential()
    width = _width(factor, skips, i, others)
    low = x - width * rng.random()
    high = low + width
    while low > 0.0 and _rise(low, x, factor, skips, i, others) > least:
        low -= width
    while high < 1.0 and _rise(high, x, factor, skips, i, others) > least:
        high += width
    low, high = max(low, 0.0), min(high, 1.0)
    for _ in range(_TRIES):
        y = low + (high - low) * rng.random()
        if LEAST <= y <= MOST and _rise(y, x, factor, skips, i, others) > least:
            return y
        low, high = shrink(low, high, y, x)
    return x


@kernel(inline=True)
def _width(factor: BetaFactor, skips: Floats, i: int, others: Floats) -> float:
    """Four standard deviations of a Beta law with these clicks and skips.

    Skips at less visible positions make it wider.
    """
    weighted, skipped = 1.0 + factor.skips, 1.0 + factor.skips
    for j in range(others.size):
        weighted += skips[i, j] * others[j]
        skipped += skips[i, j]
    total = 1.0 + factor.clicks + skipped
    width = 4.0 * math.sqrt((1.0 + factor.clicks) * skipped / total) / total * skipped / weighted
    return min(max(width, 1e-3), 1.0)  # the lower bound limits the number of steps out


@kernel
def _rise(y: float, x: float, factor: BetaFactor, skips: Floats, i: int, others: Floats) -> float:
    """The log-density at y minus the log-density at x, for the density of `_slice`."""
    rise = factor.clicks * math.log(y / x)
    if factor.skips > 0.0:
        rise += factor.skips * math.log((1.0 - y) / (1.0 - x))
    for j in range(others.size):
        rise += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
    return rise
