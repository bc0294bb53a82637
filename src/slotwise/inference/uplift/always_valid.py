"""Intervals that stay valid although people look at them every day.

An ordinary interval is right at one time that is fixed in advance. If you look every day and stop at the first
significant result, you are wrong far more often. The mixture sequential probability ratio test (Johari, Koomen, Pekelis
and Walsh 2022, Always valid inference: continuous monitoring of A/B tests) gives intervals that contain the true value
at all times together with the stated probability. The estimate is taken as normal with a known variance, and the
mixture over possible true values is normal with mean 0 and standard deviation `tau`.
"""

import math

_HALVINGS = 80  # of the range in which the deciding variance is searched


def half_width(variance: float, tau: float, level: float) -> float:
    """Half of the width of the interval around an estimate with this variance."""
    if variance == 0.0:
        return 0.0
    alpha, total = 1.0 - level, variance + tau**2
    return math.sqrt(variance * total / tau**2 * math.log(total / (variance * alpha**2)))


def probability_positive(estimate: float, variance: float, tau: float) -> float:
    """The posterior probability that the true value is above 0. The prior is the mixture of the interval."""
    if variance == 0.0:
        return 0.5 if estimate == 0.0 else float(estimate > 0.0)
    z = estimate * tau / math.sqrt(variance * (variance + tau**2))
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def deciding_variance(estimate: float, tau: float, level: float) -> float:
    """The largest variance at which the interval around this estimate excludes 0. It is 0 for an estimate of 0."""
    size = abs(estimate)
    if size < 1e-6:
        return 0.0
    low, high = 0.0, size**2  # the half-width exceeds the standard error at every useful level, and grows with it
    for _ in range(_HALVINGS):  # scipy could do this, but the service would load it only for this
        middle = (low + high) / 2.0
        low, high = (middle, high) if half_width(middle, tau, level) < size else (low, middle)
    return low
