"""theta and kappa from the best rank-one approximation of the click rates M = S / V (the paper, section 5.1).

With zeta, u, v the largest singular value and its vectors: theta = v_1 zeta u and kappa = v / v_1, so that kappa_1 = 1
and theta kappa^T = zeta u v^T. Both are clipped to [0, 1]. Where v_1 vanishes nobody clicks at the first position,
and the most visible one takes its place.
"""

from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel

_TINY = 1e-9


class Fill(IntEnum):
    """What stands in M for an item never shown at a position: optimistic 1, or the click rate over all cells."""

    ONE = 0
    MEAN = 1


def svd(clicks: Floats, skips: Floats, fill: int = Fill.ONE) -> tuple[Floats, Floats]:
    """theta (..., N) and kappa (..., L) of any number of queries at once, their counts stacked as (..., N, L)."""
    u, zeta, vt = np.linalg.svd(filled_rates(clicks, skips, fill), full_matrices=False)
    # M has no negative entries, so |u| and |v| are leading vectors too: no sign to fix, even where zeta is a tie
    u, v, zeta = np.abs(u[..., :, 0]), np.abs(vt[..., 0, :]), zeta[..., :1]
    v = np.where(zeta > 0.0, v, 1.0)  # no clicks at all: theta = 0, and every kappa is as good as any other
    reference = np.where(v[..., :1] > _TINY, v[..., :1], v.max(axis=-1, keepdims=True))
    return np.minimum(reference * zeta * u, 1.0), np.minimum(v / reference, 1.0)


def filled_rates(clicks: Floats, skips: Floats, fill: int) -> Floats:
    """M = S / V of stacked queries, what `click_rates` does for one."""
    views = clicks + skips
    shown = views.sum(axis=(-2, -1), keepdims=True)
    mean = np.where(shown > 0.0, clicks.sum(axis=(-2, -1), keepdims=True) / np.where(shown > 0.0, shown, 1.0), 0.5)
    never = 1.0 if fill == Fill.ONE else mean
    return np.where(views > 0.0, clicks / np.where(views > 0.0, views, 1.0), never)


@kernel(inline=True)
def click_rates(tally: CountArrays, fill: int, rates: Floats) -> None:
    """Fill `rates` with M = S / V."""
    clicks, skips = tally.clicks, tally.skips
    clicked, shown = 0.0, 0.0
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            clicked += clicks[item, position]
            shown += clicks[item, position] + skips[item, position]
    never = 1.0 if fill == Fill.ONE else (clicked / shown if shown > 0.0 else 0.5)
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            views = clicks[item, position] + skips[item, position]
            rates[item, position] = clicks[item, position] / views if views > 0.0 else never


@kernel(inline=True)
def rank_one(rates: Floats, iterations: int, theta: Floats, kappa: Floats) -> None:
    """Improve (theta, kappa) by power iterations on `rates`, from where theta is: online a few are enough.

    Not from kappa: clipped at 1 it has forgotten how much more visible than the first a position seemed to be.
    M has no negative entries, so its leading vectors have none either and the sign needs no fixing.
    """
    n_items, n_positions = rates.shape
    for item in range(n_items):
        theta[item] = max(theta[item], _TINY)  # from an exact 0 no iteration could ever come back
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
