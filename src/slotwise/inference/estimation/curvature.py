"""The gradient and the factorised Hessian of the penalised log-likelihood in log theta and log kappa."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.jit import kernel

_FLAT = 1e-12  # a pivot below this share of its diagonal counts as no curvature


class Objective(NamedTuple):
    """The function to maximise for one query: the log-likelihood of its counts plus the log-density of the prior."""

    counts: CountArrays
    prior: float  # every theta and kappa has a Beta(prior + 1, prior + 1) prior; 0 is maximum likelihood
    item_components: Ints  # N: component labels, as `label_components` fills them
    position_components: Ints  # L


class Workspace(NamedTuple):
    """Arrays for Newton's method. They are allocated once for any number of queries.

    Gradients are derivatives of the penalised log-likelihood in log theta or log kappa. Curvatures are minus the second
    derivatives, and `cross` holds minus the mixed derivatives.
    """

    examinations: Floats  # L
    item_gradient: Floats  # N
    position_gradient: Floats  # L
    item_curvature: Floats  # N
    cross: Floats  # N x L
    item_fixed: NDArray[np.bool_]  # N: the values that a step leaves unchanged
    position_fixed: NDArray[np.bool_]  # L
    system: Floats  # L x L
    pivots: Floats  # L
    item_step: Floats  # N
    position_step: Floats  # L
    new_theta: Floats  # N
    new_kappa: Floats  # L


@kernel
def workspace(n_items: int, n_positions: int) -> Workspace:
    """A workspace for queries of up to `n_items` items."""
    return Workspace(
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


@kernel(inline=True)
def derivatives(objective: Objective, theta: Floats, kappa: Floats, work: Workspace) -> None:
    """Fill gradients, curvatures and mixed derivatives at (theta, kappa)."""
    counts, prior = objective.counts, objective.prior
    skips, item_clicks, position_clicks = counts.skips, counts.item_clicks, counts.position_clicks
    item_gradient, position_gradient = work.item_gradient, work.position_gradient
    item_curvature, cross = work.item_curvature, work.cross
    for position in range(kappa.size):
        position_gradient[position] = position_clicks[position] + _prior_gradient(prior, kappa[position])
    for item in range(theta.size):
        gradient = item_clicks[item] + _prior_gradient(prior, theta[item])
        curvature = _prior_curvature(prior, theta[item])
        for position in range(kappa.size):
            chance = theta[item] * kappa[position]
            weight = 0.0
            if chance > 0.0 and skips[item, position] > 0.0:
                inverse = 1.0 / (1.0 - chance)
                expected = skips[item, position] * chance * inverse
                weight = expected * inverse
                gradient -= expected
                position_gradient[position] -= expected
            cross[item, position] = weight
            curvature += weight
        item_gradient[item], item_curvature[item] = gradient, curvature


@kernel(inline=True)
def _prior_gradient(prior: float, value: float) -> float:
    """Derivative of prior (log x + log(1 - x)) in log x."""
    return prior * (1.0 - 2.0 * value) / (1.0 - value) if prior > 0.0 else 0.0


@kernel(inline=True)
def _prior_curvature(prior: float, value: float) -> float:
    return prior * value / ((1.0 - value) * (1.0 - value)) if prior > 0.0 else 0.0


@kernel(inline=True)
def factorise(prior: float, theta: Floats, kappa: Floats, work: Workspace) -> None:
    """Eliminate the items from the Newton system, and factorise the remaining system of the positions as L D L^T.

    Each diagonal entry is the sum of positive terms: the off-diagonal entries of its row and the excess over them. If
    it were computed as a difference, it would be lost in rounding where the counts link positions only weakly.
    """
    item_fixed, item_curvature, cross, system = work.item_fixed, work.item_curvature, work.cross, work.system
    n_positions = kappa.size
    for position in range(n_positions):
        for other in range(position):
            system[position, other] = 0.0
        system[position, position] = _prior_curvature(prior, kappa[position])
    for item in range(theta.size):
        if item_fixed[item]:
            for position in range(n_positions):
                system[position, position] += cross[item, position]
        elif item_curvature[item] > 0.0:
            inverse = 1.0 / item_curvature[item]
            own = _prior_curvature(prior, theta[item])
            for position in range(n_positions):
                share = cross[item, position] * inverse
                system[position, position] += share * own
                for other in range(position):
                    product = share * cross[item, other]
                    system[position, other] -= product
                    system[position, position] += product
                    system[other, other] += product
    _decompose(system, work.position_fixed, work.pivots)


@kernel(inline=True)
def _decompose(system: Floats, fixed: NDArray[np.bool_], pivots: Floats) -> None:
    """Turn the lower triangle into L and fill `pivots` with D.

    The pivot of a fixed value is infinite. A pivot without curvature is 0.
    """
    n = pivots.size
    for k in range(n):
        pivots[k] = system[k, k]
    for k in range(n):
        pivot = system[k, k]
        least = _FLAT * pivots[k]
        if fixed[k] or pivot <= least:
            pivots[k] = np.inf if fixed[k] else 0.0
            for m in range(k + 1, n):
                system[m, k] = 0.0
            continue
        pivots[k] = pivot
        for m in range(n - 1, k, -1):  # from the bottom up, so that column k is still unscaled above row m
            ratio = system[m, k] / pivot
            for j in range(k + 1, m + 1):
                system[m, j] -= ratio * system[j, k]
            system[m, k] = ratio
