"""Metropolis-Hastings on the posterior of a PBM by a random walk on log-odds, as the paper's conclusion suggests.

In log-odds there are no ends to cut the Gaussian off at, so Algorithm 2 needs no truncated proposal; what it needs
instead is the Jacobian of the change of variable. A width is a relative one here: near 0 and near 1 steps are small.
"""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel

# The walk takes place between these: log-odds of -34.7 to 34.7. What the posterior has beyond matters from 1e14 counts
# on. Nearer to 1 a float has too few digits left for its log-odds, and from nearer to 0 no walk would ever come back.
_LEAST, _MOST = 2.0**-50, 1.0 - 2.0**-50


@kernel(inline=True)
def sample(
    tally: CountArrays,
    theta: Floats,
    kappa: Floats,
    free_from: int,
    sigma: float,
    sweeps: int,
    rng: np.random.Generator,
) -> None:
    """Move (theta, kappa) by `sweeps` passes: a step for each item, then one for each position from `free_from` on."""
    item_clicks, skips = tally.item_clicks, tally.skips
    position_clicks, skips_by_position = tally.position_clicks, tally.skips_by_position
    for _ in range(sweeps):
        walk(theta, 0, item_clicks, skips, kappa, sigma, rng)
        walk(kappa, free_from, position_clicks, skips_by_position, theta, sigma, rng)


@kernel(inline=True)
def walk(
    values: Floats,
    first: int,
    clicks: Floats,
    skips: Floats,
    others: Floats,
    sigma: float,
    rng: np.random.Generator,
) -> None:
    """One random-walk step for each of `values[first:]` given `others`: logit(y) = logit(x) + sigma N(0, 1).

    The conditional of values[i] = x (Eq. 5 for theta, Eq. 6 for kappa) is x^clicks[i] times the product over j
    of (1 - x others[j])^skips[i, j].
    """
    for i in range(first, values.size):
        x = min(max(values[i], _LEAST), _MOST)
        # as odds; beyond the ends y is refused, at infinity too, of which the bound makes a number
        odds = x / (1.0 - x) * math.exp(min(sigma * rng.standard_normal(), 100.0))
        y = odds / (1.0 + odds)
        if not _LEAST <= y <= _MOST:
            continue
        # the Jacobian y (1 - y) / (x (1 - x)): one more click, and a skip that was surely seen
        ratio = (clicks[i] + 1.0) * math.log(y / x) + math.log((1.0 - y) / (1.0 - x))
        for j in range(others.size):
            ratio += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
        if -rng.standard_exponential() < ratio:  # accept with probability min(1, ratio), Alg. 2 line 8
            values[i] = y
