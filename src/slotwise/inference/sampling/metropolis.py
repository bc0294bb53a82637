"""Metropolis-Hastings on the posterior of a PBM (Algorithm 2): the paper's truncated random walk.

Most proposals are refused, so each is first held against upper bounds of its acceptance ratio that need no
logarithm. Bounds only ever refuse what the exact test would refuse: the law is the one of Algorithm 2.
"""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.log_bound import log_bound
from slotwise.inference.sampling.truncnorm import draw, mass
from slotwise.jit import kernel

# |log(mass(x) / mass(y))| <= log 2; a little more, so that rounding never refuses wrongly
_LOG_2 = math.log(2.0) + 1e-6
# a value is read as no nearer to 0 and 1 than this: at the ends themselves a logarithm would be infinite
_LEAST, _MOST = 1e-200, 1.0 - 2.0**-53


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
    """Move (theta, kappa) by `sweeps` passes of Algorithm 2, lines 4-18.

    A pass is a step for every item, then one for every position from `free_from` on.
    """
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
    """One random-walk step for each of `values[first:]` given `others`.

    The conditional of values[i] = x (Eq. 5 for theta, Eq. 6 for kappa) is x^clicks[i] times the product over j
    of (1 - x others[j])^skips[i, j]. One long body on purpose: see `jit.kernel` on what calls cost.
    """
    for i in range(first, values.size):
        x = min(max(values[i], _LEAST), _MOST)
        y = draw(x, sigma, rng)  # Alg. 2 lines 5-7
        log_u = -rng.standard_exponential()
        # first bound: one dot product. As a function of o = others[j], log((1-yo)/(1-xo)) lies below its
        # tangent at 0 when y > x, and below its chord on [0, 1] when y < x
        seen = 0.0
        for j in range(others.size):
            seen += skips[i, j] * others[j]
        slope = x - y if y > x else log_bound(1.0 - y, 1.0 - x)
        bound = clicks[i] * log_bound(y, x) + _LOG_2
        if bound + seen * slope < log_u:
            continue
        # second bound: one division for each term
        for j in range(others.size):
            bound += skips[i, j] * log_bound(1.0 - y * others[j], 1.0 - x * others[j])
        if bound < log_u:
            continue
        ratio = clicks[i] * math.log(y / x) + math.log(mass(x, sigma) / mass(y, sigma))
        for j in range(others.size):
            if skips[i, j] > 0.0:
                ratio += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
        if log_u < ratio:  # accept with probability min(1, ratio), Alg. 2 line 8
            values[i] = y
