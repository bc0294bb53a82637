"""Standard errors of a fit, from the curvature of the log-likelihood at its optimum: the observed information."""

import math

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.estimation.curvature import Work, factor, slopes
from slotwise.inference.estimation.newton import most_visible
from slotwise.jit import kernel


@kernel
def log_errors(
    tally: CountArrays,
    prior: float,
    item_parts: Ints,
    position_parts: Ints,
    theta: Floats,
    kappa: Floats,
    work: Work,
    item_errors: Floats,
    position_errors: Floats,
) -> None:
    """Standard errors of log theta and log kappa once the largest kappa of each part of the graph is scaled to 1.

    From the inverse of the observed information, by the delta method for log(theta_i kappa_r) and
    log(kappa_l / kappa_r), r the part's most visible position. NaN for values held at 0 or 1, infinite where the
    counts do not tell.
    """
    item_held, item_pull, item_bend, item_clicks = work.item_held, work.item_pull, work.item_bend, tally.item_clicks
    position_held, position_pull, position_clicks = work.position_held, work.position_pull, tally.position_clicks
    cross, system, pivots, contrast = work.cross, work.system, work.pivots, work.position_step
    slopes(tally, prior, theta, kappa, work)
    n_positions = kappa.size
    for item in range(theta.size):
        pushed = theta[item] >= 1.0 and item_pull[item] > 1e-6 * item_clicks[item]
        item_held[item] = theta[item] == 0.0 or pushed
        item_errors[item] = np.nan
    for position in range(n_positions):
        pushed = kappa[position] >= 1.0 and position_pull[position] > 1e-6 * position_clicks[position]
        position_held[position] = kappa[position] == 0.0 or pushed
        position_errors[position] = np.nan
    for part in range(n_positions):
        top = most_visible(part, position_parts, kappa)
        if top >= 0 and prior == 0.0:
            position_held[top] = True  # without prior that is where the scale is fixed
    factor(prior, theta, kappa, work)
    for position in range(n_positions):
        top = most_visible(position_parts[position], position_parts, kappa)
        if position == top:
            position_errors[position] = 0.0
        elif not position_held[position]:
            for other in range(n_positions):
                contrast[other] = 0.0
            contrast[position] += 1.0
            contrast[top] -= 1.0
            position_errors[position] = math.sqrt(_variance(system, pivots, contrast))
    for item in range(theta.size):
        if not item_held[item] and item_bend[item] > 0.0 and item_parts[item] >= 0:
            for position in range(n_positions):
                contrast[position] = -cross[item, position] / item_bend[item]
            contrast[most_visible(item_parts[item], position_parts, kappa)] += 1.0
            spread = _variance(system, pivots, contrast)
            item_errors[item] = math.sqrt(1.0 / item_bend[item] + spread)


@kernel(inline=True)
def _variance(system: Floats, pivots: Floats, contrast: Floats) -> float:
    """x^T (L D L^T)^-1 x as a sum of squares, so that nothing cancels; overwrites x."""
    total = 0.0
    for k in range(pivots.size):
        for j in range(k):
            contrast[k] -= system[k, j] * contrast[j]
        if pivots[k] > 0.0:
            total += contrast[k] * contrast[k] / pivots[k]
        elif abs(contrast[k]) > 1e-9:
            return np.inf
    return total
