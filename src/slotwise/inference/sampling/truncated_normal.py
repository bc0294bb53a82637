"""Draw from the Gaussian around x of width sigma, truncated to (0, 1). The time is constant for every sigma.

This is the proposal of Algorithm 2, lines 5-7. The plain rejection loop of Algorithm 2 needs about 2.5 sigma tries.
"""

import math

import numpy as np

from slotwise.jit import kernel

# Rejection from the Gaussian succeeds with probability mass(x), and from the uniform with sqrt(2 pi) sigma mass(x). At
# this sigma the two are equal, so the better one always succeeds with a probability of at least 0.49.
UNIFORM_FROM = 1.0 / math.sqrt(2.0 * math.pi)
_SQRT_HALF = math.sqrt(0.5)


@kernel(inline=True)
def draw(x: float, sigma: float, rng: np.random.Generator) -> float:
    """One draw in (0, 1). It is never exactly 0 or 1."""
    if sigma > UNIFORM_FROM:
        steepness = 0.5 / (sigma * sigma)
        while True:
            y = rng.random()
            # accept with probability exp(-(y-x)^2 / 2 sigma^2), without computing the exponential
            if (y - x) * (y - x) * steepness < rng.standard_exponential() and y > 0.0:
                return y
    while True:
        y = x + sigma * rng.standard_normal()
        if 0.0 < y < 1.0:
            return y


@kernel(inline=True)
def mass(x: float, sigma: float) -> float:
    """Twice the Gaussian's mass on [0, 1], that is, 2 Delta Phi_sigma(x). Callers use only ratios of masses."""
    scale = _SQRT_HALF / sigma
    return math.erf((1.0 - x) * scale) + math.erf(x * scale)
