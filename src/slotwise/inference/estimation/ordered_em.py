"""Find the most likely theta and kappa for a known order of visibilities, by expectation-maximisation on counts.

Given the examinations, kappa has the likelihood of independent proportions. The most likely decreasing proportions are
found by pooling neighbours that are out of order (Ayer et al. 1955). The maximisation step is therefore exact, and the
likelihood never decreases.
"""

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.estimation.em import em_pass
from slotwise.jit import kernel

START_MARGIN = 1e-4  # values start at least this far below 1, because EM cannot leave 1 even if later counts demand it


@kernel
def most_likely(
    counts: CountArrays, positions: Ints, passes: int, tolerance: float, theta: Floats, kappa: Floats
) -> int:
    """Improve theta and kappa in place until all changes are below `tolerance`. Returns the number of passes.

    `positions` lists the positions by decreasing visibility. Only the products theta_i kappa_l are determined.
    """
    workspace = np.empty(kappa.size)
    for item in range(theta.size):
        theta[item] = min(theta[item], 1.0 - START_MARGIN)
    for position in range(kappa.size):
        kappa[position] = min(kappa[position], 1.0 - START_MARGIN)
    for done in range(passes):
        change = em_pass(counts, 0.0, theta, kappa, workspace)
        pool(counts, positions, kappa, workspace)
        if change < tolerance:
            return done + 1
    return passes


@kernel
def pool(counts: CountArrays, positions: Ints, kappa: Floats, displays: Floats) -> None:
    """Make kappa decrease along `positions`. Neighbours that are out of order get their mean, weighted by displays.

    `displays` (L) is overwritten.
    """
    clicks, skips = counts.clicks, counts.skips
    for position in range(kappa.size):
        displays[position] = 1e-300
        for item in range(clicks.shape[0]):
            displays[position] += clicks[item, position] + skips[item, position]
    for last in range(1, kappa.size):
        first = last
        total, weight = kappa[positions[last]] * displays[positions[last]], displays[positions[last]]
        while first > 0 and kappa[positions[first - 1]] < total / weight:
            first -= 1
            total += kappa[positions[first]] * displays[positions[first]]
            weight += displays[positions[first]]
        for k in range(first, last + 1):
            if first < last:
                kappa[positions[k]] = total / weight
