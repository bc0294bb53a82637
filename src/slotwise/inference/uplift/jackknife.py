"""Cluster-robust variances: the jackknife over clusters of visitors.

Visitors return, so their displays are correlated. Clusters of visitors are independent. The jackknife leaves out one
cluster at a time, and the spread of the estimates without it is their variance (Miller 1974, The jackknife: a review).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats


class ClusterTotals(NamedTuple):
    """What one variant earned: its displays, and a sum over them, of each cluster. The sum counts clicks or value."""

    displays: Floats
    earned: Floats


class Comparison(NamedTuple):
    """The rates of two variants, compared. A variance of infinity means that one cluster decides the estimate."""

    log_ratio: float
    log_ratio_variance: float
    difference: float
    difference_variance: float


def compare(first: ClusterTotals, second: ClusterTotals) -> Comparison:
    """Compare what two variants earned per display. Both must have displays, and earnings above zero.

    Entry k of both belongs to cluster k. A cluster may have displays of both variants; it is left out of both at once.
    """
    used = (first.displays > 0.0) | (second.displays > 0.0)
    first_rate, first_rates = _rates(first, used)
    second_rate, second_rates = _rates(second, used)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_ratios = np.log(first_rates) - np.log(second_rates)
    return Comparison(
        float(np.log(first_rate) - np.log(second_rate)),
        _variance(log_ratios),
        first_rate - second_rate,
        _variance(first_rates - second_rates),
    )


def _rates(totals: ClusterTotals, used: NDArray[np.bool_]) -> tuple[float, Floats]:
    """The rate of all clusters, and the rate without each of the used clusters."""
    displays, earned = totals.displays.sum(), totals.earned.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (earned - totals.earned[used]) / (displays - totals.displays[used])
    return float(earned / displays), without


def _variance(estimates: Floats) -> float:
    """The jackknife variance of an estimate, from the estimates without one cluster."""
    if estimates.size < 2 or not np.isfinite(estimates).all():
        return np.inf
    return float((estimates.size - 1) * estimates.var())
