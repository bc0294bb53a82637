"""A Beta(a, b) prior of theta whose a and b are learnt from the items. A priori, 1/a and 1/b are uniform on (0, 1].

So a, b >= 1. These Beta laws have no pole, the uniform law is one of them, and every conditional law stays log-concave.
If a is fixed at 1, the density decreases or is flat. Then attractive items can be rare, but they cannot be more likely
than unattractive ones.
"""

import math
from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.coordinates import LEAST, MOST
from slotwise.inference.sampling.slice_bracket import shrink
from slotwise.jit import kernel

_TRIES = 200
_SMALL = 1e-100  # far above the smallest float, so that one more factor cannot underflow
_SMALLEST = 1e-9  # the least 1/a and 1/b: below this, logarithms of the gamma function lose their digits


class Learnt(IntEnum):
    """Which parameters of the prior are learnt."""

    NOTHING = 0
    BOTH = 1
    FALLING = 2  # b alone


@kernel
def learn(beta: Floats, learnt: int, theta: Floats, rng: np.random.Generator) -> None:
    """Take one slice step for b given a and theta. If both are learnt, a or b is updated at random."""
    which = 0 if learnt == Learnt.BOTH and rng.random() < 0.5 else 1
    log_sum, product = 0.0, 1.0
    for item in range(theta.size):
        value = min(max(theta[item], LEAST), MOST)
        product *= value if which == 0 else 1.0 - value
        if product < _SMALL:  # one logarithm for many factors
            log_sum += math.log(product)
            product = 1.0
    beta[which] = _slice(beta[which], beta[1 - which], log_sum + math.log(product), theta.size, rng)


@kernel
def _slice(a: float, b: float, log_sum: float, n_items: int, rng: np.random.Generator) -> float:
    """Take a slice step for a by shrinking (Neal 2003, figure 5). By symmetry, the same function serves for b.

    The density in 1/a is B(a, b)^-n exp((a - 1) log_sum).
    """
    now, low, high = 1.0 / a, 0.0, 1.0
    least = _log_density(a, b, log_sum, n_items) - rng.standard_exponential()
    for _ in range(_TRIES):
        u = max(low + (high - low) * rng.random(), _SMALLEST)
        if _log_density(1.0 / u, b, log_sum, n_items) > least:
            return 1.0 / u
        low, high = shrink(low, high, u, now)
    return a


@kernel(inline=True)
def _log_density(a: float, b: float, log_sum: float, n_items: int) -> float:
    """The log-density of 1/a, up to a constant."""
    return n_items * (math.lgamma(a + b) - math.lgamma(a)) + a * log_sum
