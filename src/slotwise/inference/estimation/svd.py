"""theta and kappa from the best rank-one approximation of the click rates M = S / V (the paper, section 5.1).

zeta is the largest singular value, with the vectors u and v. Then theta = v_1 zeta u and kappa = v / v_1, so that
kappa_1 = 1 and theta kappa^T = zeta u v^T. Both are clipped to [0, 1]. If v_1 is 0, the first position has no clicks,
and the most visible position becomes the reference instead.
"""

from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel

_TINY = 1e-9


class Fill(IntEnum):
    """The entry of M for an item never shown at a position: 1, which is optimistic, or the click rate of all cells."""

    ONE = 0
    MEAN = 1


def svd(clicks: Floats, skips: Floats, fill: int = Fill.ONE) -> tuple[Floats, Floats]:
    """theta (..., N) and kappa (..., L) of any number of queries at once, with counts stacked as (..., N, L)."""
    u, zeta, vt = np.linalg.svd(filled_rates(clicks, skips, fill), full_matrices=False)
    # M has no negative entries, so |u| and |v| are leading vectors too, even if zeta is not unique
    u, v, zeta = np.abs(u[..., :, 0]), np.abs(vt[..., 0, :]), zeta[..., :1]
    v = np.where(zeta > 0.0, v, 1.0)  # no clicks at all: theta = 0, and every kappa fits equally well
    reference = np.where(v[..., :1] > _TINY, v[..., :1], v.max(axis=-1, keepdims=True))
    return np.minimum(reference * zeta * u, 1.0), np.minimum(v / reference, 1.0)


def filled_rates(clicks: Floats, skips: Floats, fill: int) -> Floats:
    """M = S / V of stacked queries; `click_rates` computes the same for one query."""
    views = clicks + skips
    total = views.sum(axis=(-2, -1), keepdims=True)
    mean = np.where(total > 0.0, clicks.sum(axis=(-2, -1), keepdims=True) / np.where(total > 0.0, total, 1.0), 0.5)
    fill_rate = 1.0 if fill == Fill.ONE else mean
    return np.where(views > 0.0, clicks / np.where(views > 0.0, views, 1.0), fill_rate)


@kernel(inline=True)
def click_rates(counts: CountArrays, fill: int, rates: Floats) -> None:
    """Fill `rates` with M = S / V."""
    clicks, skips = counts.clicks, counts.skips
    total_clicks, total_views = 0.0, 0.0
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            total_clicks += clicks[item, position]
            total_views += clicks[item, position] + skips[item, position]
    mean = total_clicks / total_views if total_views > 0.0 else 0.5
    fill_rate = 1.0 if fill == Fill.ONE else mean
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            views = clicks[item, position] + skips[item, position]
            rates[item, position] = clicks[item, position] / views if views > 0.0 else fill_rate


@kernel(inline=True)
def rank_one(rates: Floats, iterations: int, theta: Floats, kappa: Floats) -> None:
    """Improve (theta, kappa) by power iterations on `rates` that start at theta. In a policy, a few are enough.

    They do not start at kappa: it is clipped at 1, so it does not show how much more visible than the first position
    another one is. M has no negative entries, so its leading vectors have none either, and their signs are determined.
    """
    n_items, n_positions = rates.shape
    for item in range(n_items):
        theta[item] = max(theta[item], _TINY)  # an iteration cannot leave an exact 0
    for _ in range(iterations):
        length = 0.0
        for position in range(n_positions):
            total = 0.0
            for item in range(n_items):
                total += rates[item, position] * theta[item]
            kappa[position] = total
            length += total * total
        length = np.sqrt(length)
        for position in range(n_positions):
            kappa[position] = kappa[position] / length if length > 0.0 else 1.0
        for item in range(n_items):
            total = 0.0
            for position in range(n_positions):
                total += rates[item, position] * kappa[position]
            theta[item] = total
    # kappa is v now and theta is M v = zeta u; scaled by v_1, both are clipped to [0, 1] as probabilities
    reference = kappa[0]
    if reference <= _TINY:
        for position in range(n_positions):
            reference = max(reference, kappa[position])
    for item in range(n_items):
        theta[item] = min(reference * theta[item], 1.0)
    for position in range(n_positions):
        kappa[position] = min(kappa[position] / reference, 1.0)
