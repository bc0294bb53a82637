"""Standard errors of a fit from the observed information: the curvature of the log-likelihood at its maximum."""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.estimation.curvature import Objective, Workspace, derivatives, factorise
from slotwise.inference.estimation.newton import most_visible
from slotwise.jit import kernel


@kernel
def log_errors(
    objective: Objective, theta: Floats, kappa: Floats, work: Workspace, theta_errors: Floats, kappa_errors: Floats
) -> None:
    """Fill in the standard errors of log theta and log kappa for a scale where each component's largest kappa is 1.

    The errors follow from the inverse of the observed information, by the delta method for log(theta_i kappa_r) and
    log(kappa_l / kappa_r), where r is the most visible position of the component. The error of a value that is fixed at
    0 or 1 is NaN. The error of a value that the counts do not determine is infinite.
    """
    counts, prior = objective.counts, objective.prior
    item_components, position_components = objective.item_components, objective.position_components
    item_clicks, position_clicks = counts.item_clicks, counts.position_clicks
    item_fixed, item_gradient, item_curvature = work.item_fixed, work.item_gradient, work.item_curvature
    position_fixed, position_gradient = work.position_fixed, work.position_gradient
    cross, system, pivots, contrast = work.cross, work.system, work.pivots, work.position_step
    derivatives(objective, theta, kappa, work)
    n_positions = kappa.size
    for item in range(theta.size):
        at_one = theta[item] >= 1.0 and item_gradient[item] > 1e-6 * item_clicks[item]
        item_fixed[item] = theta[item] == 0.0 or at_one
        theta_errors[item] = np.nan
    for position in range(n_positions):
        at_one = kappa[position] >= 1.0 and position_gradient[position] > 1e-6 * position_clicks[position]
        position_fixed[position] = kappa[position] == 0.0 or at_one
        kappa_errors[position] = np.nan
    for component in range(n_positions):
        top = most_visible(component, position_components, kappa)
        if top >= 0 and prior == 0.0:
            position_fixed[top] = True  # without a prior this fixes the scale
    factorise(prior, theta, kappa, work)
    for position in range(n_positions):
        top = most_visible(position_components[position], position_components, kappa)
        if position == top:
            kappa_errors[position] = 0.0
        elif not position_fixed[position]:
            for other in range(n_positions):
                contrast[other] = 0.0
            contrast[position] += 1.0
            contrast[top] -= 1.0
            kappa_errors[position] = math.sqrt(_variance(system, pivots, contrast))
    for item in range(theta.size):
        if not item_fixed[item] and item_curvature[item] > 0.0 and item_components[item] >= 0:
            for position in range(n_positions):
                contrast[position] = -cross[item, position] / item_curvature[item]
            contrast[most_visible(item_components[item], position_components, kappa)] += 1.0
            variance = _variance(system, pivots, contrast)
            theta_errors[item] = math.sqrt(1.0 / item_curvature[item] + variance)


@kernel(inline=True)
def _variance(system: Floats, pivots: Floats, contrast: Floats) -> float:
    """x^T (L D L^T)^-1 x for x = `contrast`. It is computed as a sum of squares, so that nothing cancels.

    `contrast` is overwritten.
    """
    total = 0.0
    for k in range(pivots.size):
        for j in range(k):
            contrast[k] -= system[k, j] * contrast[j]
        if pivots[k] > 0.0:
            total += contrast[k] * contrast[k] / pivots[k]
        elif abs(contrast[k]) > 1e-9:
            return np.inf
    return total
