"""One coordinate of a PBM's posterior at a time, drawn almost independently of its current value.

The conditional of a theta or kappa (Eq. 5 and 6) is near a Gamma law when products theta kappa are small, and the cube
root of a Gamma variable is near a Gaussian. So the proposal is a Gaussian for the cube root, with the conditional's
mode and curvature there: y = m (1 + c z)^3. For a Gamma law it is accepted 95 times in 100 or more.
Where the conditional leans against 1, or Newton has not come near its mode, slice sampling takes the step instead:
which of the two is decided by the other coordinates and the counts alone, so that both leave the posterior as it is.
And every so often for its own sake: far out, where only a bad start leads, the proposal can be so much lighter than the
conditional that nothing would ever be accepted; a slice step gets away from anywhere.
"""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.artanh_series import beyond_first, cube_root, remainder
from slotwise.jit import kernel

# a value is read as no nearer to 0 and 1 than this: at the ends themselves a logarithm would be infinite
LEAST, MOST = 1e-200, 1.0 - 2.0**-53
_NEWTON_STEPS = 4
_NEAR = 0.05  # how far from the mode, in squared standard deviations, the last Newton step may have begun
_WIDEST = 0.5  # beyond it the series is of no use
_ROOM = 3.0  # standard deviations that must fit between the mode and 1
_TRIES = 200  # slices: each try shrinks the bracket, so the end is never reached


@kernel(inline=True)
def redraw(
    values: Floats,
    first: int,
    stride: int,
    clicks: Floats,
    skips: Floats,
    others: Floats,
    more_clicks: float,
    more_skips: float,
    slice_every: int,
    rng: np.random.Generator,
) -> None:
    """One step for each of `values[first::stride]` given `others`.

    The conditional of values[i] = x is x^(clicks[i] + more_clicks) (1 - x)^more_skips times the product over j of
    (1 - x others[j])^skips[i, j]; `more` is the Beta prior's part. Every
    `slice_every`-th step is a slice, from a random one on.
    """
    turn = int(slice_every * rng.random())
    for i in range(first, values.size, stride):
        x = min(max(values[i], LEAST), MOST)
        seen, seen_twice = more_skips, more_skips
        for j in range(others.size):
            each = skips[i, j] * others[j]
            seen += each
            seen_twice += each * others[j]
        if seen <= 0.0:  # nothing tells against it: x^clicks alone
            values[i] = rng.random() ** (1.0 / (1.0 + clicks[i] + more_clicks))
            continue
        power = clicks[i] + more_clicks + 2.0 / 3.0  # in the cube root's coordinate
        # right to the second order in x, and when all skips are at one position exactly
        mode = power / (seen + power * (seen_twice / seen))
        far, curvature = math.inf, 1.0
        for _ in range(_NEWTON_STEPS):
            if not mode < 1.0:
                far = math.inf
                break
            # in log x: the slope is `gap`, and it falls at the rate `curvature`
            share = more_skips * mode / (1.0 - mode)
            gap, curvature = power - share, share / (1.0 - mode)
            for j in range(others.size):
                chance = mode * others[j]
                odds = 1.0 / (1.0 - chance)
                share = skips[i, j] * chance * odds
                gap -= share
                curvature += share * odds
            step = gap / curvature
            far = gap * step
            mode *= max(1.0 + step, 0.25)
            if far < _NEAR:
                break
        sharpness = 3.0 * math.sqrt(curvature)  # of the cube root, relative to its mode
        scale = 1.0 / sharpness
        turn += 1
        if not far < _NEAR or not mode * (1.0 + _ROOM * scale) ** 3 < 1.0 or turn >= slice_every:
            turn = 0 if turn >= slice_every else turn
            values[i] = _slice(x, clicks[i] + more_clicks, more_skips, skips, i, others, rng)
            continue
        z = rng.standard_normal()
        root = 1.0 + scale * z
        y = mode * root * root * root
        if root <= 0.0 or y < LEAST or y >= 1.0:
            continue
        z_now = (cube_root(x / mode) - 1.0) * sharpness
        proposed = 0.5 * (z * z - z_now * z_now)  # the ratio of the proposal's densities in the cube root
        log_u = -rng.standard_exponential()
        # the log-ratio by series, each sum with terms of one sign
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
        if log_u < proposed + _rise(y, x, power, more_skips, skips, i, others):
            values[i] = y


@kernel
def _slice(
    x: float, clicks: float, more_skips: float, skips: Floats, i: int, others: Floats, rng: np.random.Generator
) -> float:
    """A slice step: a bracket of a width that fits, stepped out, then shrunk (Neal 2003, figures 3 and 5)."""
    least = -rng.standard_exponential()
    width = _width(clicks, more_skips, skips, i, others)
    low = x - width * rng.random()
    high = low + width
    while low > 0.0 and _rise(low, x, clicks, more_skips, skips, i, others) > least:
        low -= width
    while high < 1.0 and _rise(high, x, clicks, more_skips, skips, i, others) > least:
        high += width
    low, high = max(low, 0.0), min(high, 1.0)
    for _ in range(_TRIES):
        y = low + (high - low) * rng.random()
        if LEAST <= y <= MOST and _rise(y, x, clicks, more_skips, skips, i, others) > least:
            return y
        if y < x:
            low = y
        else:
            high = y
    return x


@kernel(inline=True)
def _width(clicks: float, more_skips: float, skips: Floats, i: int, others: Floats) -> float:
    """Four standard deviations of a Beta law with so many clicks and skips, stretched as skips at dim positions do."""
    seen, skipped = 1.0 + more_skips, 1.0 + more_skips
    for j in range(others.size):
        seen += skips[i, j] * others[j]
        skipped += skips[i, j]
    total = 1.0 + clicks + skipped
    width = 4.0 * math.sqrt((1.0 + clicks) * skipped / total) / total * skipped / seen
    return min(max(width, 1e-3), 1.0)  # a floor, so that stepping out is never long


@kernel
def _rise(y: float, x: float, clicks: float, more_skips: float, skips: Floats, i: int, others: Floats) -> float:
    """How much the log of the conditional rises from x to y."""
    rise = clicks * math.log(y / x)
    if more_skips > 0.0:
        rise += more_skips * math.log((1.0 - y) / (1.0 - x))
    for j in range(others.size):
        rise += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
    return rise
