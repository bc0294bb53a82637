"""Gradient and Hessian of the penalised log-likelihood in log theta and log kappa, and the Hessian's factors."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel

_FLAT = 1e-12  # a pivot this small, against its diagonal: the counts do not bend in that direction


class Work(NamedTuple):
    """Room for Newton's method, allocated once for any number of queries.

    `pull` is the gradient of the penalised log-likelihood in log theta or log kappa, `bend` minus its second
    derivative, and `cross` minus the mixed derivatives.
    """

    looks: Floats  # L
    item_pull: Floats  # N
    position_pull: Floats  # L
    item_bend: Floats  # N
    cross: Floats  # N x L
    item_held: NDArray[np.bool_]  # N: what a step leaves where it is
    position_held: NDArray[np.bool_]  # L
    system: Floats  # L x L
    pivots: Floats  # L
    item_step: Floats  # N
    position_step: Floats  # L
    new_theta: Floats  # N
    new_kappa: Floats  # L


@kernel
def workspace(n_items: int, n_positions: int) -> Work:
    """Room for queries of up to that many items."""
    return Work(
        np.empty(n_positions),
        np.empty(n_items),
        np.empty(n_positions),
        np.empty(n_items),
        np.empty((n_items, n_positions)),
        np.empty(n_items, np.bool_),
        np.empty(n_positions, np.bool_),
        np.empty((n_positions, n_positions)),
        np.empty(n_positions),
        np.empty(n_items),
        np.empty(n_positions),
        np.empty(n_items),
        np.empty(n_positions),
    )


@kernel
def slopes(tally: CountArrays, prior: float, theta: Floats, kappa: Floats, work: Work) -> None:
    """First and second derivatives of the penalised log-likelihood in log theta and log kappa."""
    skips, item_clicks, position_clicks = tally.skips, tally.item_clicks, tally.position_clicks
    item_pull, position_pull, item_bend, cross = work.item_pull, work.position_pull, work.item_bend, work.cross
    for position in range(kappa.size):
        position_pull[position] = position_clicks[position] + _prior_pull(prior, kappa[position])
    for item in range(theta.size):
        pull, bend = item_clicks[item] + _prior_pull(prior, theta[item]), _prior_bend(prior, theta[item])
        for position in range(kappa.size):
            chance = theta[item] * kappa[position]
            weight = 0.0
            if chance > 0.0 and skips[item, position] > 0.0:
                missed = 1.0 / (1.0 - chance)
                lost = skips[item, position] * chance * missed
                weight = lost * missed
                pull -= lost
                position_pull[position] -= lost
            cross[item, position] = weight
            bend += weight
        item_pull[item], item_bend[item] = pull, bend


@kernel(inline=True)
def _prior_pull(prior: float, value: float) -> float:
    """Derivative of prior (log x + log(1 - x)) in log x."""
    return prior * (1.0 - 2.0 * value) / (1.0 - value) if prior > 0.0 else 0.0


@kernel(inline=True)
def _prior_bend(prior: float, value: float) -> float:
    return prior * value / ((1.0 - value) * (1.0 - value)) if prior > 0.0 else 0.0


@kernel
def factor(prior: float, theta: Floats, kappa: Floats, work: Work) -> None:
    """Eliminate the items from the Newton system and factor what is left for the positions as L D L^T.

    The diagonal is summed from positive terms, those off it and what the rows exceed them by: computed as a
    difference it would drown in rounding where counts link positions only weakly.
    """
    item_held, item_bend, cross, system = work.item_held, work.item_bend, work.cross, work.system
    n_positions = kappa.size
    for position in range(n_positions):
        for other in range(position):
            system[position, other] = 0.0
        system[position, position] = _prior_bend(prior, kappa[position])
    for item in range(theta.size):
        if item_held[item]:
            for position in range(n_positions):
                system[position, position] += cross[item, position]
        elif item_bend[item] > 0.0:
            inverse = 1.0 / item_bend[item]
            own = _prior_bend(prior, theta[item])
            for position in range(n_positions):
                share = cross[item, position] * inverse
                system[position, position] += share * own
                for other in range(position):
                    product = share * cross[item, other]
                    system[position, other] -= product
                    system[position, position] += product
                    system[other, other] += product
    _decompose(system, work.position_held, work.pivots)


@kernel(inline=True)
def _decompose(system: Floats, held: NDArray[np.bool_], pivots: Floats) -> None:
    """The lower triangle becomes L; pivots are D: infinite for what is held, 0 where nothing bends."""
    n = pivots.size
    for k in range(n):
        pivots[k] = system[k, k]
    for k in range(n):
        pivot = system[k, k]
        least = _FLAT * pivots[k]
        if held[k] or pivot <= least:
            pivots[k] = np.inf if held[k] else 0.0
            for m in range(k + 1, n):
                system[m, k] = 0.0
            continue
        pivots[k] = pivot
        for m in range(n - 1, k, -1):  # from below, so that column k is still unscaled above row m
            ratio = system[m, k] / pivot
            for j in range(k + 1, m + 1):
                system[m, j] -= ratio * system[j, k]
            system[m, k] = ratio
