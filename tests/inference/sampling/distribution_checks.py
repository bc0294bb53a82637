"""Compare draws with the law that they should follow."""

from collections.abc import Iterator
from functools import cache

import numpy as np
from scipy.stats import kstwo

from slotwise.checks import Floats
from tests.inference.sampling.exact_posterior import Exact, Marginal

# The draws are thinned until successive ones are nearly independent. The tests assert that correlations are below
# CORRELATED. A correlation of 0.05 that decays geometrically reduces the effective sample size by at most a tenth.
CORRELATED = 0.05
EFFECTIVE_SHARE = 0.9

# One comparison is a false alarm with probability 1e-7 (Kolmogorov-Smirnov) or 2e-9 (six standard errors: rarer, since
# means of skewed laws have heavier tails than the Gaussian). This folder makes fewer than 2,000: 2e-4 in all.
ALARM = 1e-7
STANDARD_ERRORS = 6.0


def disagreements(theta: Floats, kappa: Floats, law: Exact, free_from: int) -> list[str]:
    """The thetas and free kappas whose draws differ from the law in their mean, standard deviation or K-S distance."""
    messages = []
    for name, draws, marginal in _variables(theta, kappa, law, free_from):
        messages += [f"{name}: {message}" for message in _disagreements(draws, marginal)]
    return messages


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
    """The mean of nearly independent values, in standard errors."""
    return float(values.mean() / values.std() * np.sqrt(EFFECTIVE_SHARE * len(values)))


def ks_distance(levels: Floats) -> float:
    """The Kolmogorov-Smirnov distance of sorted levels from the uniform law."""
    steps = np.arange(len(levels) + 1) / len(levels)
    return float(max((steps[1:] - levels).max(), (levels - steps[:-1]).max()))


@cache
def ks_limit(n: int) -> float:
    """The Kolmogorov-Smirnov distance that n nearly independent draws exceed with probability ALARM."""
    return float(kstwo.isf(ALARM, int(EFFECTIVE_SHARE * n)))


def correlations(theta: Floats, kappa: Floats, law: Exact, free_from: int) -> Floats:
    """The largest autocorrelation of each variable at a lag of one, two or three draws."""
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
