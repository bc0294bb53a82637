"""A Beta(a, b) prior of theta that is itself learnt from the items: 1/a and 1/b are uniform on ]0, 1].

So a, b >= 1, the Beta laws without a pole: the uniform law is among them, and every conditional stays log-concave. With
a = 1 kept the density falls from 0 on, or is flat: items are as rare as they turn out to be, but never common.
"""

import math
from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.sampling.coordinate_step import LEAST, MOST
from slotwise.jit import kernel

_TRIES = 200
_SMALL = 1e-100  # far above the least number, so that one more factor does no harm
_SMALLEST = 1e-9  # of 1/a and 1/b: beyond it the logarithms of Gamma lose their digits


class Learnt(IntEnum):
    """What of the prior is learnt."""

    NOTHING = 0
    BOTH = 1
    FALLING = 2  # b alone


@kernel
def learn(beta: Floats, learnt: int, theta: Floats, rng: np.random.Generator) -> None:
    """One slice step for b given a and theta; or, when both are learnt, for whichever of them a coin says."""
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
    """A step for a by shrinking (Neal 2003, figure 5); by symmetry the same for b.

    The density in 1/a is B(a, b)^-n exp((a - 1) log_sum).
    """
    now, low, high = 1.0 / a, 0.0, 1.0
    least = _log_density(a, b, log_sum, n_items) - rng.standard_exponential()
    for _ in range(_TRIES):
        u = max(low + (high - low) * rng.random(), _SMALLEST)
        if _log_density(1.0 / u, b, log_sum, n_items) > least:
            return 1.0 / u
        if u < now:
            low = u
        else:
            high = u
    return a


@kernel(inline=True)
def _log_density(a: float, b: float, log_sum: float, n_items: int) -> float:
    """Up to what does not depend on a."""
    return n_items * (math.lgamma(a + b) - math.lgamma(a)) + a * log_sum
