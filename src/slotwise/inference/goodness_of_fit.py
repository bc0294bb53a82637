"""Goodness of fit: a test of the position-based model against the saturated model, where each cell has its own rate.

The statistic is the deviance, 2 sum S log(S / V p) + F log(F / V (1 - p)), where p = theta kappa maximises the
likelihood. With many clicks the deviance has a chi-squared law, whose degrees of freedom are the cells minus the free
parameters. With few clicks the deviance has another law. For example, the mean deviance of a cell is 1 in the limit of
many clicks, 1.14 with two expected clicks, and 0.47 with a tenth of a click. So the mean and variance of each cell's
deviance are computed from the binomial law of its clicks. Then the effect of each fitted parameter is subtracted. The
deviance is compared with the gamma law that has this mean and variance. To first order this is the correction of
Williams (Biometrika 63, 1976). In the limit of many clicks the gamma law is the chi-squared law.

Items and positions with fewer than `MIN_CLICKS` clicks are left out, because the effect of their parameters is not
known precisely enough. A query with fewer clicks than cells is not tested.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import Counts
from slotwise.inference.estimation.batch_fit import INTERIOR, UNOBSERVED, Batch, assess, fit_em, query_rows
from slotwise.jit import kernel

MIN_CLICKS = 10.0  # an item or a position with fewer clicks is left out of the test
MIN_WARNED_SIZE = 0.02  # smaller relative errors of click rates cause no warning, however significant they are
FALSE_DISCOVERY_RATE = 0.05  # the share of false reports among the queries reported not to fit
_SERIES_FROM = 15.0  # with this many expected clicks and skips or more, two terms of a series give a cell's moments
_NEGLIGIBLE = 1e-13  # outcomes of a smaller probability are left out
# the columns of the sums of each query; the last four columns describe the cell with the largest deviance
_DEVIANCE, _MEAN, _VARIANCE, _WEIGHT, _CELLS, _PARAMETERS, _CLICKS, _ITEM, _POSITION, _OBSERVED, _FITTED = range(11)
_N_COLUMNS = 11


class BatchGoodnessOfFit(NamedTuple):
    """The goodness of fit of each query. `p_value` and `size` are NaN if the query is not tested."""

    deviance: Floats
    degrees: Ints  # degrees of freedom of the chi-squared law in the limit: cells minus free parameters
    p_value: Floats  # the probability of a deviance at least as large if the position-based model is true
    size: Floats  # the root mean squared relative error of the click rates, without noise
    item: Ints  # the cell that contributes most to the deviance
    position: Ints
    observed: Floats  # its click rate
    fitted: Floats


def goodness_of_fit(queries: Sequence[Counts]) -> BatchGoodnessOfFit:
    """Test whether a PBM fits each query. The queries must have the same number of positions."""
    from scipy.special import gammaincc  # type: ignore[import-untyped] # takes 14 MB

    batch = Batch.of(queries)
    _drop_rare(batch)
    fit_em(batch, 0.0)
    assess(batch)
    sums = np.zeros((batch.passes.size, _N_COLUMNS))
    _sum_queries(batch, sums)
    deviance, mean, variance, weight, cells, parameters, clicks, item, position, observed, fitted = sums.T
    tested = (cells > parameters) & (clicks >= cells) & (mean > 0.0) & batch.converged
    mean = np.where(tested, mean, 1.0)
    scale = np.maximum(variance / mean, 2.0)  # the tail of a deviance is never lighter than exp(-x / 2)
    tail = gammaincc(mean / scale, np.where(tested, deviance, 0.0) / scale)
    size = np.sqrt(np.maximum(deviance - mean, 0.0) / np.where(tested, weight, 1.0))
    return BatchGoodnessOfFit(
        deviance,
        (cells - parameters).astype(np.int64),
        np.where(tested, tail, np.nan),
        np.where(tested, size, np.nan),
        item.astype(np.int64),
        position.astype(np.int64),
        observed,
        fitted,
    )


def discoveries(p_values: Floats, rate: float = FALSE_DISCOVERY_RATE) -> NDArray[np.bool_]:
    """Which null hypotheses to reject so that on average at most a share `rate` of the rejections is false.

    This is the procedure of Benjamini and Hochberg (1995). Sort the m p-values, and let k be the largest rank at which
    the p-value is at most rate * k / m. Then the hypotheses with the k smallest p-values are rejected. If every null
    hypothesis is true, the probability of any rejection is `rate`. A NaN does not count as a test.
    """
    tests = np.flatnonzero(~np.isnan(p_values))
    ranked = tests[np.argsort(p_values[tests], kind="stable")]
    below = np.flatnonzero(p_values[ranked] <= rate * np.arange(1, ranked.size + 1) / max(ranked.size, 1))
    rejected = np.zeros(p_values.size, np.bool_)
    if below.size:
        rejected[ranked[: below[-1] + 1]] = True
    return rejected


@kernel
def _drop_rare(batch: Batch) -> None:
    """Set the counts of items and positions with few clicks to 0, until all others have enough clicks."""
    for query in range(batch.passes.size):
        rows = query_rows(batch, query)
        clicks, skips = rows.clicks, rows.skips
        changed = True
        while changed:
            changed = False
            for position in range(clicks.shape[1]):
                total = clicks[:, position].sum()
                if total < MIN_CLICKS and (total > 0.0 or skips[:, position].sum() > 0.0):
                    clicks[:, position] = 0.0
                    skips[:, position] = 0.0
                    changed = True
            for item in range(clicks.shape[0]):
                total = clicks[item].sum()
                if total < MIN_CLICKS and (total > 0.0 or skips[item].sum() > 0.0):
                    clicks[item] = 0.0
                    skips[item] = 0.0
                    changed = True


@kernel
def _sum_queries(batch: Batch, sums: Floats) -> None:
    for query in range(batch.passes.size):
        rows = query_rows(batch, query)
        _sum_cells(rows.clicks, rows.skips, rows.theta, rows.kappa, sums[query])
        _subtract_parameters(rows.clicks, rows.item_state, rows.position_state, rows.position_component, sums[query])


@kernel
def _sum_cells(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats, sums: Floats) -> None:
    """Sum the deviance over the cells, and its mean and variance under known parameters.

    Also find the cell with the largest deviance.
    """
    worst = -1.0
    for item in range(theta.size):
        for position in range(kappa.size):
            views, chance = clicks[item, position] + skips[item, position], theta[item] * kappa[position]
            if views == 0.0 or not 0.0 < chance < 1.0:
                continue
            deviance = _deviance(clicks[item, position], skips[item, position], views * chance)
            mean, variance = _moments(views, chance)
            sums[_DEVIANCE] += deviance
            sums[_MEAN] += mean
            sums[_VARIANCE] += variance
            sums[_WEIGHT] += views * chance / (1.0 - chance)
            sums[_CELLS] += 1.0
            sums[_CLICKS] += clicks[item, position]
            if deviance > worst:
                worst, sums[_ITEM], sums[_POSITION] = deviance, item, position
                sums[_OBSERVED], sums[_FITTED] = clicks[item, position] / views, chance


@kernel
def _subtract_parameters(
    clicks: Floats, item_state: Ints, position_state: Ints, position_component: Ints, sums: Floats
) -> None:
    """Subtract from the moments the effect of each free parameter. A parameter fits one total of clicks exactly."""
    for item in range(item_state.size):
        if item_state[item] == INTERIOR:
            _subtract_parameter(clicks[item].sum(), 1.0, sums)
    for position in range(position_state.size):
        if position_state[position] == INTERIOR:
            _subtract_parameter(clicks[:, position].sum(), 1.0, sums)
    for component in range(position_state.size):  # items and positions both fit the scale of their component
        if position_component[component] == component and position_state[component] != UNOBSERVED:
            _subtract_parameter(np.inf, -1.0, sums)


@kernel(inline=True)
def _subtract_parameter(clicks: float, times: float, sums: Floats) -> None:
    mean = 1.0 + 1.0 / (6.0 * clicks)
    sums[_MEAN] -= times * mean
    sums[_VARIANCE] -= times * 2.0 * mean * mean
    sums[_PARAMETERS] += times


@kernel(inline=True)
def _deviance(clicks: float, skips: float, expected: float) -> float:
    half = 0.0
    if clicks > 0.0:
        half += clicks * math.log(clicks / expected)
    if skips > 0.0:
        half += skips * math.log(skips / (clicks + skips - expected))
    return 2.0 * max(half, 0.0)  # rounding may make it negative


@kernel
def _moments(views: float, chance: float) -> tuple[float, float]:
    """The mean and variance of one cell's deviance under the binomial law of its clicks."""
    views = max(np.rint(views), 1.0)
    expected = views * chance
    if min(expected, views - expected) > _SERIES_FROM:
        mean = 1.0 + (1.0 / expected + 1.0 / (views - expected) - 1.0 / views) / 6.0
        return mean, 2.0 * mean * mean
    mode = min(math.floor((views + 1.0) * chance), views)
    odds = chance / (1.0 - chance)
    top = math.exp(_log_pmf(mode, views, chance))
    mean, square = 0.0, 0.0
    probability, clicks = top, mode
    while clicks <= views and probability > _NEGLIGIBLE:
        deviance = _deviance(clicks, views - clicks, expected)
        mean += probability * deviance
        square += probability * deviance * deviance
        probability *= odds * (views - clicks) / (clicks + 1.0)
        clicks += 1.0
    probability, clicks = top, mode
    while clicks > 0.0 and probability > _NEGLIGIBLE:
        probability *= clicks / (odds * (views - clicks + 1.0))
        clicks -= 1.0
        deviance = _deviance(clicks, views - clicks, expected)
        mean += probability * deviance
        square += probability * deviance * deviance
    return mean, square - mean * mean


@kernel
def _log_pmf(clicks: float, views: float, chance: float) -> float:
    ways = math.lgamma(views + 1.0) - math.lgamma(clicks + 1.0) - math.lgamma(views - clicks + 1.0)
    return ways + clicks * math.log(chance) + (views - clicks) * math.log1p(-chance)
