"""Metropolis-Hastings by a random walk on log-odds, as the conclusion of the paper suggests.

Log-odds are unbounded, so the proposal is not truncated as in Algorithm 2. Instead, the acceptance ratio includes the
Jacobian of the change of variable. Steps are small near 0 and near 1.
"""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.coordinates import Conditionals
from slotwise.inference.sampling.random_walk_sweeps import sample_by_steps
from slotwise.jit import kernel

# The walk stays between these values, that is, between log-odds of -34.7 and 34.7. The posterior's mass beyond them
# matters only with 1e14 counts or more. Closer to 1, a float has too few digits for its log-odds. Closer to 0, the walk
# would never return.
_LEAST, _MOST = 2.0**-50, 1.0 - 2.0**-50


@kernel(inline=True)
def step_all(values: Floats, first: int, laws: Conditionals, sigma: float, rng: np.random.Generator) -> None:
    """Take one random-walk step for each of `values[first:]`: logit(y) = logit(x) + sigma N(0, 1)."""
    clicks, skips, others = laws.clicks, laws.skips, laws.others
    for i in range(first, values.size):
        x = min(max(values[i], _LEAST), _MOST)
        # y as odds. The exponent is capped so that no infinity arises; a y out of range is rejected.
        odds = x / (1.0 - x) * math.exp(min(sigma * rng.standard_normal(), 100.0))
        y = odds / (1.0 + odds)
        if not _LEAST <= y <= _MOST:
            continue
        # the Jacobian y (1 - y) / (x (1 - x)) acts as one more click, and one more skip at visibility 1
        ratio = (clicks[i] + 1.0) * math.log(y / x) + math.log((1.0 - y) / (1.0 - x))
        for j in range(others.size):
            ratio += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
        if -rng.standard_exponential() < ratio:  # accept with probability min(1, ratio), Alg. 2 line 8
            values[i] = y


sample = sample_by_steps(__name__)
