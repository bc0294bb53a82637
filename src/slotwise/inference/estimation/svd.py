"""Estimate theta and kappa by the best rank-one approximation of the click rates M = S / V (the paper, section 5.1).

Let zeta be the largest singular value, and u and v its vectors. Then theta = v_1 zeta u and kappa = v / v_1, so that
kappa_1 = 1 and theta kappa^T = zeta u v^T. If v_1 is 0, the first position has no clicks, and the most visible position
becomes the reference instead. Theta and kappa can exceed 1. Rankings use them without a cap, because values capped at 1
would tie.
"""

from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel

PSEUDO_COUNT = 0.1  # p of the authors' greedy and epsilon-greedy
PLUG_IN_PSEUDO_COUNT = 0.5  # p of the authors' BC-MPTS and PBM-TS
_TINY = 1e-9
_TOLERANCE = 1e-6  # relative


class Fill(IntEnum):
    """The entry of M for an item at a position where it was never shown: 1, or the click rate of all cells.

    1 is optimistic. The authors' public code uses M = (S + p) / (V + p), which is 1 for such a cell too. That code also
    scales the largest kappa to 1.
    """

    ONE = 0
    MEAN = 1
    AUTHORS = 2


def svd(
    clicks: Floats, skips: Floats, fill: int = Fill.ONE, pseudo_count: float = PSEUDO_COUNT
) -> tuple[Floats, Floats]:
    """Return theta (..., N) and kappa (..., L) of any number of queries, whose counts are stacked as (..., N, L).

    `pseudo_count` is p in the authors' fill.
    """
    u, zeta, vt = np.linalg.svd(filled_rates(clicks, skips, fill, pseudo_count), full_matrices=False)
    # M has no negative entries, so |u| and |v| are leading vectors too, even if zeta is not unique
    u, v, zeta = np.abs(u[..., :, 0]), np.abs(vt[..., 0, :]), zeta[..., :1]
    v = np.where(zeta > 0.0, v, 1.0)  # without any click, theta = 0 and every kappa fits equally well
    largest = v.max(axis=-1, keepdims=True)
    reference = np.where((v[..., :1] > _TINY) & (fill != Fill.AUTHORS), v[..., :1], largest)
    return reference * zeta * u, v / reference


def filled_rates(clicks: Floats, skips: Floats, fill: int, pseudo_count: float = PSEUDO_COUNT) -> Floats:
    """The matrices M of stacked queries. `click_rates` computes the matrix of one query."""
    views = clicks + skips
    if fill == Fill.AUTHORS:
        return np.asarray((clicks + pseudo_count) / (views + pseudo_count))
    total = views.sum(axis=(-2, -1), keepdims=True)
    mean = np.where(total > 0.0, clicks.sum(axis=(-2, -1), keepdims=True) / np.where(total > 0.0, total, 1.0), 0.5)
    fill_rate = 1.0 if fill == Fill.ONE else mean
    return np.where(views > 0.0, clicks / np.where(views > 0.0, views, 1.0), fill_rate)


@kernel(inline=True)
def click_rates(counts: CountArrays, fill: int, pseudo_count: float, rates: Floats) -> None:
    """Fill `rates` with the matrix M."""
    clicks, skips = counts.clicks, counts.skips
    pseudo = pseudo_count if fill == Fill.AUTHORS else 0.0
    fill_rate = _mean_rate(counts) if fill == Fill.MEAN else 1.0
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            views = clicks[item, position] + skips[item, position]
            rates[item, position] = (clicks[item, position] + pseudo) / (views + pseudo) if views > 0.0 else fill_rate


@kernel(inline=True)
def _mean_rate(counts: CountArrays) -> float:
    """The click rate of all cells together, or 1/2 if there are no counts."""
    clicks, skips = counts.clicks, counts.skips
    total_clicks, total_views = 0.0, 0.0
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            total_clicks += clicks[item, position]
            total_views += clicks[item, position] + skips[item, position]
    return total_clicks / total_views if total_views > 0.0 else 0.5


@kernel(inline=True)
def rank_one(rates: Floats, iterations: int, by_largest: bool, theta: Floats, kappa: Floats) -> int:
    """Improve (theta, kappa) by power iterations on `rates` until they converge. They start at `theta`.

    Returns the number of iterations, which is at most `iterations`. During a run, a few are enough. With `by_largest`,
    the largest kappa is scaled to 1 instead of kappa_1. M has no negative entries, so its leading vectors have none
    either, and their signs are determined.
    """
    n_items, n_positions = rates.shape
    largest = 0.0
    for item in range(n_items):
        largest = max(largest, theta[item])
    for item in range(n_items):  # an iteration cannot leave an exact 0
        theta[item] = max(theta[item] / largest, _TINY) if largest > 0.0 else 1.0
    done, converged = 0, False
    while done < iterations and not converged:
        done += 1
        for position in range(n_positions):
            kappa[position] = 0.0
        for item in range(n_items):  # in this order, reads are contiguous
            for position in range(n_positions):
                kappa[position] += rates[item, position] * theta[item]
        length = 0.0
        for position in range(n_positions):
            length += kappa[position] * kappa[position]
        length = np.sqrt(length)
        for position in range(n_positions):
            kappa[position] = kappa[position] / length if length > 0.0 else 1.0
        converged = True
        for item in range(n_items):
            total = 0.0
            for position in range(n_positions):
                total += rates[item, position] * kappa[position]
            # the change is relative, because a value that starts near 0 may have to grow by orders of magnitude
            converged = converged and abs(total - theta[item]) <= _TOLERANCE * total
            theta[item] = total
    # kappa is v now and theta is M v = zeta u
    reference = kappa[0]
    if by_largest or reference <= _TINY:
        for position in range(n_positions):
            reference = max(reference, kappa[position])
    for item in range(n_items):
        theta[item] *= reference
    for position in range(n_positions):
        kappa[position] /= reference
    return done
