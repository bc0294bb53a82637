"""Draws against the law they should follow."""

from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.stats import kstwo

from slotwise.checks import Floats
from tests.inference.sampling.exact_posterior import Exact, Marginal

# The draws handed in are thinned until successive ones are nearly independent: CORRELATED is asserted, and a
# correlation of 0.05 that decays geometrically is worth no more than the loss of a tenth of the draws.
CORRELATED = 0.05
WORTH = 0.9

# One comparison is a false alarm with probability 1e-7 (Kolmogorov-Smirnov) or 2e-9 (six standard errors: rarer, since
# means of skewed laws have heavier tails than the Gaussian). This folder makes fewer than 2,000: 2e-4 in all.
ALARM = 1e-7
STANDARD_ERRORS = 6.0


def disagreements(theta: Floats, kappa: Floats, law: Exact, free_from: int) -> list[str]:
    """The thetas and free kappas whose draws do not look like the law, by mean, by standard deviation or by K-S."""
    found = []
    for name, draws, marginal in _variables(theta, kappa, law, free_from):
        found += [f"{name}: {what}" for what in _disagreements(draws, marginal)]
    return found


def _disagreements(draws: Floats, law: Marginal) -> Iterator[str]:
    squares = ((draws - law.mean) / law.sd) ** 2
    mean = standard_errors((draws - law.mean) / law.sd)
    sd = standard_errors(squares - 1)
    distance, limit = ks_distance(law.cdf(np.sort(draws))), ks_limit(len(draws))
    if abs(mean) > STANDARD_ERRORS:
        yield f"mean {draws.mean():.6g}, exact {law.mean:.6g}, {mean:+.1f} standard errors"
    if abs(sd) > STANDARD_ERRORS:
        yield f"sd {np.sqrt(squares.mean()) * law.sd:.6g}, exact {law.sd:.6g}, {sd:+.1f} standard errors"
    if distance > limit:
        yield f"K-S distance {distance:.4f} > {limit:.4f}"


def standard_errors(values: Floats) -> float:
    """How far from 0 the mean of nearly independent values is."""
    return float(values.mean() / values.std() * np.sqrt(WORTH * len(values)))


def ks_distance(levels: Floats) -> float:
    """Between the uniform law and levels in increasing order."""
    steps = np.arange(len(levels) + 1) / len(levels)
    return float(max((steps[1:] - levels).max(), (levels - steps[:-1]).max()))


@cache
def ks_limit(n: int) -> float:
    """The distance that n nearly independent draws exceed with probability ALARM."""
    return float(kstwo.isf(ALARM, int(WORTH * n)))


def correlations(theta: Floats, kappa: Floats, law: Exact, free_from: int) -> Floats:
    """The largest correlation of each variable with itself one, two or three draws later."""
    return np.array(
        [
            max(np.corrcoef(draws[lag:], draws[:-lag])[0, 1] for lag in (1, 2, 3))
            for _, draws, _ in _variables(theta, kappa, law, free_from)
        ]
    )


def _variables(theta: Floats, kappa: Floats, law: Exact, free_from: int) -> Iterator[tuple[str, Floats, Marginal]]:
    for item, marginal in enumerate(law.theta):
        yield f"theta[{item}]", theta[:, item], marginal
    for position, marginal in enumerate(law.kappa):
        if position >= free_from:
            yield f"kappa[{position}]", kappa[:, position], marginal
