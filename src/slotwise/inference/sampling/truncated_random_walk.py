"""Metropolis-Hastings on the posterior of a PBM (Algorithm 2): the paper's truncated random walk.

Most proposals are rejected. So each proposal is first compared with upper bounds of its acceptance ratio that need no
logarithm. The bounds reject only proposals that the exact test rejects too, so the law is the same as in Algorithm 2.
"""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.coordinates import LEAST, MOST, Conditionals
from slotwise.inference.sampling.log_bound import log_bound
from slotwise.inference.sampling.random_walk_sweeps import sample_by_steps
from slotwise.inference.sampling.truncated_normal import draw, mass
from slotwise.jit import kernel

# |log(mass(x) / mass(y))| <= log 2; the margin keeps rounding errors from rejecting a valid proposal
_LOG_2 = math.log(2.0) + 1e-6


@kernel(inline=True)
def step_all(values: Floats, first: int, laws: Conditionals, sigma: float, rng: np.random.Generator) -> None:
    """Take one random-walk step for each of `values[first:]`.

    This is one long function because calls are slow, as `jit.kernel` explains.
    """
    clicks, skips, others = laws.clicks, laws.skips, laws.others
    for i in range(first, values.size):
        x = min(max(values[i], LEAST), MOST)
        y = draw(x, sigma, rng)  # Alg. 2 lines 5-7
        log_u = -rng.standard_exponential()
        # The first bound takes one dot product. As a function of o = others[j], log((1-yo)/(1-xo)) lies below its
        # tangent at 0 if y > x, and below its chord on [0, 1] if y < x.
        weighted_skips = 0.0
        for j in range(others.size):
            weighted_skips += skips[i, j] * others[j]
        slope = x - y if y > x else log_bound(1.0 - y, 1.0 - x)
        bound = clicks[i] * log_bound(y, x) + _LOG_2
        if bound + weighted_skips * slope < log_u:
            continue
        # The second bound takes one division for each term.
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


sample = sample_by_steps(__name__)  # Alg. 2 lines 4-18
