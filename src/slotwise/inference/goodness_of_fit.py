"""Does the position-based model hold? Its fit against the saturated model, in which every cell has a rate of its own.

The statistic is the deviance, 2 sum S log(S / V p) + F log(F / V (1 - p)), p = theta kappa of largest likelihood. Where
clicks are many it is chi-squared with as many degrees of freedom as there are cells less free parameters. Where they
are few it is not: a cell in which two clicks are expected has a mean of 1.14 and not of 1, one with a tenth of a click
a mean of 0.47. So each cell's mean and variance are computed from its binomial law, what the parameters take away is
subtracted, and the deviance is held against the gamma law with that mean and variance. To first order this is the
correction of Williams (Biometrika 63, 1976); a chi-squared law is the limit.

Items and positions with fewer than `FEWEST` clicks are left out: what they take away is not known well enough. Nor is a
query tested that has fewer clicks than cells.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc  # type: ignore[import-untyped]

from slotwise.checks import Floats, Ints
from slotwise.counts import Counts
from slotwise.inference.estimation.batch import INSIDE, UNSEEN, Batch, fit_em, report
from slotwise.jit import kernel

FEWEST = 10.0  # clicks of an item, and of a position, to be tested
FALSE_SHARE = 0.05  # of the queries said to misfit, when the false discoveries are controlled at that rate
_MANY = 15.0  # clicks and skips expected in a cell, from which on two terms of a series give its moments
_NEGLIGIBLE = 1e-13  # probability of an outcome that is left out
_COLUMNS = 11


class Misfits(NamedTuple):
    """For each query: how far its counts are from a PBM. NaN where there is nothing to test."""

    deviance: Floats
    degrees: Ints  # cells less free parameters: of the chi-squared law that holds in the limit
    p_value: Floats  # the probability of a deviance as large, were the position-based model true
    size: Floats  # by how much click rates are off: the root of the mean squared relative error, noise taken away
    item: Ints  # the cell that adds most to the deviance
    position: Ints
    observed: Floats  # its click rate
    fitted: Floats


def misfits(queries: Sequence[Counts]) -> Misfits:
    """How far the counts of each query are from a PBM; the queries have the same number of positions."""
    batch = Batch.of(queries)
    _leave_out_rare(batch.clicks, batch.skips, batch.first)
    fit_em(batch, 0.0)
    report(batch)
    found = np.zeros((batch.passes.size, _COLUMNS))
    _compare_all(
        batch.clicks,
        batch.skips,
        batch.first,
        batch.theta,
        batch.kappa,
        batch.item_state,
        batch.position_state,
        batch.position_part,
        found,
    )
    deviance, mean, variance, weight, cells, free, clicks, item, position, observed, fitted = found.T
    told = (cells > free) & (clicks >= cells) & (mean > 0.0) & batch.converged
    mean = np.where(told, mean, 1.0)
    scale = np.maximum(variance / mean, 2.0)  # a deviance's tail is never lighter than exp(-x / 2), however few clicks
    tail = gammaincc(mean / scale, np.where(told, deviance, 0.0) / scale)
    size = np.sqrt(np.maximum(deviance - mean, 0.0) / np.where(told, weight, 1.0))
    return Misfits(
        deviance,
        (cells - free).astype(np.int64),
        np.where(told, tail, np.nan),
        np.where(told, size, np.nan),
        item.astype(np.int64),
        position.astype(np.int64),
        observed,
        fitted,
    )


def discoveries(p_values: Floats, share: float = FALSE_SHARE) -> NDArray[np.bool_]:
    """Which of many tests to believe, so that no more than `share` of those are false on average.

    Benjamini and Hochberg (1995): the k smallest p-values, for the largest k with p_(k) <= share k / m. When every null
    hypothesis is true, any at all is believed with probability `share`. NaN is no test.
    """
    told = np.flatnonzero(~np.isnan(p_values))
    ranked = told[np.argsort(p_values[told], kind="stable")]
    below = np.flatnonzero(p_values[ranked] <= share * np.arange(1, ranked.size + 1) / max(ranked.size, 1))
    believed = np.zeros(p_values.size, np.bool_)
    if below.size:
        believed[ranked[: below[-1] + 1]] = True
    return believed


@kernel
def _leave_out_rare(all_clicks: Floats, all_skips: Floats, first: Ints) -> None:
    """Forget items and positions with few clicks, until all that are left have enough."""
    for query in range(first.size - 1):
        clicks, skips = all_clicks[first[query] : first[query + 1]], all_skips[first[query] : first[query + 1]]
        changed = True
        while changed:
            changed = False
            for position in range(clicks.shape[1]):
                total = clicks[:, position].sum()
                if total < FEWEST and (total > 0.0 or skips[:, position].sum() > 0.0):
                    clicks[:, position] = 0.0
                    skips[:, position] = 0.0
                    changed = True
            for item in range(clicks.shape[0]):
                total = clicks[item].sum()
                if total < FEWEST and (total > 0.0 or skips[item].sum() > 0.0):
                    clicks[item] = 0.0
                    skips[item] = 0.0
                    changed = True


@kernel
def _compare_all(
    all_clicks: Floats,
    all_skips: Floats,
    first: Ints,
    all_theta: Floats,
    all_kappa: Floats,
    all_item_state: Ints,
    all_position_state: Ints,
    all_position_part: Ints,
    found: Floats,
) -> None:
    for query in range(first.size - 1):
        rows = slice(first[query], first[query + 1])
        clicks, kappa, row = all_clicks[rows], all_kappa[query], found[query]
        _sum_cells(clicks, all_skips[rows], all_theta[rows], kappa, row)
        _take_parameters(clicks, all_item_state[rows], all_position_state[query], all_position_part[query], row)


@kernel
def _sum_cells(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats, row: Floats) -> None:
    """Deviance, its mean and variance were the parameters known, and the cell that is furthest off."""
    worst = -1.0
    for item in range(theta.size):
        for position in range(kappa.size):
            views, chance = clicks[item, position] + skips[item, position], theta[item] * kappa[position]
            if views == 0.0 or not 0.0 < chance < 1.0:
                continue
            off = _deviance(clicks[item, position], skips[item, position], views * chance)
            mean, variance = _moments(views, chance)
            row[0] += off
            row[1] += mean
            row[2] += variance
            row[3] += views * chance / (1.0 - chance)
            row[4] += 1.0
            row[6] += clicks[item, position]
            if off > worst:
                worst, row[7], row[8] = off, item, position
                row[9], row[10] = clicks[item, position] / views, chance


@kernel
def _take_parameters(clicks: Floats, item_state: Ints, position_state: Ints, position_part: Ints, row: Floats) -> None:
    """Subtract what each free parameter takes away: the deviance of the total that it fits exactly."""
    for item in range(item_state.size):
        if item_state[item] == INSIDE:
            _take(clicks[item].sum(), 1.0, row)
    for position in range(position_state.size):
        if position_state[position] == INSIDE:
            _take(clicks[:, position].sum(), 1.0, row)
    for part in range(position_state.size):  # the scale of each part is fitted twice, by its items and its positions
        if position_part[part] == part and position_state[part] != UNSEEN:
            _take(np.inf, -1.0, row)


@kernel(inline=True)
def _take(clicks: float, times: float, row: Floats) -> None:
    mean = 1.0 + 1.0 / (6.0 * clicks)
    row[1] -= times * mean
    row[2] -= times * 2.0 * mean * mean
    row[5] += times


@kernel(inline=True)
def _deviance(clicks: float, skips: float, expected: float) -> float:
    off = 0.0
    if clicks > 0.0:
        off += clicks * math.log(clicks / expected)
    if skips > 0.0:
        off += skips * math.log(skips / (clicks + skips - expected))
    return 2.0 * max(off, 0.0)  # rounding may go below


@kernel
def _moments(views: float, chance: float) -> tuple[float, float]:
    """Mean and variance of the deviance of one cell under its binomial law."""
    views = max(np.rint(views), 1.0)
    expected = views * chance
    if min(expected, views - expected) > _MANY:
        mean = 1.0 + (1.0 / expected + 1.0 / (views - expected) - 1.0 / views) / 6.0
        return mean, 2.0 * mean * mean
    mode = min(math.floor((views + 1.0) * chance), views)
    odds = chance / (1.0 - chance)
    top = math.exp(_log_pmf(mode, views, chance))
    mean, square = 0.0, 0.0
    probability, clicks = top, mode
    while clicks <= views and probability > _NEGLIGIBLE:
        off = _deviance(clicks, views - clicks, expected)
        mean += probability * off
        square += probability * off * off
        probability *= odds * (views - clicks) / (clicks + 1.0)
        clicks += 1.0
    probability, clicks = top, mode
    while clicks > 0.0 and probability > _NEGLIGIBLE:
        probability *= clicks / (odds * (views - clicks + 1.0))
        clicks -= 1.0
        off = _deviance(clicks, views - clicks, expected)
        mean += probability * off
        square += probability * off * off
    return mean, square - mean * mean


@kernel
def _log_pmf(clicks: float, views: float, chance: float) -> float:
    ways = math.lgamma(views + 1.0) - math.lgamma(clicks + 1.0) - math.lgamma(views - clicks + 1.0)
    return ways + clicks * math.log(chance) + (views - clicks) * math.log1p(-chance)
