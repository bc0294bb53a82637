"""The largest of many independent draws from a Beta law. Only these are drawn, so their number does not matter."""

import math
from statistics import NormalDist

import numpy as np

from slotwise.checks import Floats

NEARLY_NORMAL = 1e4  # if both parameters of a Beta law are larger, it is normal for all purposes
_LEAST, _MOST = 1e-30, 1.0 - 1e-16  # of a probability, so that all quantiles are finite
_STANDARD = NormalDist()


def load_quantiles(beta: Floats) -> None:
    """Load what draws from these laws need, M x 2. Background threads call this, because loading takes 0.1 seconds."""
    if not all(_is_simple(a, b) for a, b in beta.tolist()):
        import scipy.special  # type: ignore[import-untyped] # noqa: F401  # takes 14 MB


def largest_draws(beta: Floats, n: int, size: int, rng: np.random.Generator) -> Floats:
    """The largest of n independent draws from Beta(a, b), in decreasing order.

    The largest of n uniform draws has the law of exp(-E / n), where E is standard exponential. Given it, the n - 1
    others are uniform below it.
    """
    gaps = rng.standard_exponential(size) / np.arange(n, n - size, -1)
    above = np.clip(-np.expm1(-gaps.cumsum()), _LEAST, _MOST)  # the probability that a draw is larger
    a, b = beta.tolist()
    if a == 1.0:
        return np.asarray(-np.expm1(np.log(above) / b))
    if not _is_simple(a, b):
        from scipy.special import betainccinv

        return np.asarray(betainccinv(a, b, above))
    mean = a / (a + b)
    deviation = (mean * (1.0 - mean) / (a + b + 1.0)) ** 0.5
    return np.array([mean - deviation * _STANDARD.inv_cdf(probability) for probability in above.tolist()])


def exceeded(beta: Floats, theta: Floats) -> Floats:
    """The probability that a draw from each law, M x 2, is larger than each theta, M x K. It is below 1.

    It is the probability for `largest_draws`, which takes some laws as normal.
    """
    laws = zip(beta.tolist(), np.clip(theta, 0.0, 1.0), strict=True)
    found: Floats = np.array([_exceeded(a, b, row) for (a, b), row in laws])
    return found.clip(0.0, _MOST)


def _exceeded(a: float, b: float, theta: Floats) -> Floats:
    if a == 1.0:
        found: Floats = (1.0 - theta) ** b
        return found
    if not _is_simple(a, b):
        from scipy.special import betaincc

        return np.asarray(betaincc(a, b, theta))
    mean = a / (a + b)
    deviation = (mean * (1.0 - mean) / (a + b + 1.0)) ** 0.5
    return np.array([0.5 * math.erfc((value - mean) / deviation / math.sqrt(2.0)) for value in theta.tolist()])


def _is_simple(a: float, b: float) -> bool:
    """Whether the quantiles have a formula."""
    return a == 1.0 or min(a, b) > NEARLY_NORMAL
