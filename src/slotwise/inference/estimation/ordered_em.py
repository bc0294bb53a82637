"""The most likely (theta, kappa) among those whose visibilities decrease, by expectation-maximisation on counts.

Given the looks, the likelihood of kappa is that of independent shares, and the most likely decreasing shares are found
by pooling neighbours that are out of order (Ayer et al. 1955). The maximisation stays exact, so the likelihood never
falls.
"""

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.estimation.em import em_pass
from slotwise.jit import kernel

OFF_ONE = 1e-4  # EM cannot leave 1, whatever the counts say later: so it starts a little below


@kernel
def most_likely(
    tally: CountArrays, positions: Ints, passes: int, tolerance: float, theta: Floats, kappa: Floats, room: Floats
) -> int:
    """Improve theta and kappa from where they are, until nothing changes by `tolerance`; the passes it took.

    `positions` are the positions by decreasing visibility. Only products theta_i kappa_l are determined.
    """
    for item in range(theta.size):
        theta[item] = min(theta[item], 1.0 - OFF_ONE)
    for position in range(kappa.size):
        kappa[position] = min(kappa[position], 1.0 - OFF_ONE)
    for done in range(passes):
        change = em_pass(tally, 0.0, theta, kappa, room)
        pool(tally, positions, kappa, room)
        if change < tolerance:
            return done + 1
    return passes


@kernel
def pool(tally: CountArrays, positions: Ints, kappa: Floats, room: Floats) -> None:
    """Make kappa decrease along `positions`: neighbours out of order get their mean, weighted by displays."""
    clicks, skips = tally.clicks, tally.skips
    for position in range(kappa.size):
        room[position] = 1e-300
        for item in range(clicks.shape[0]):
            room[position] += clicks[item, position] + skips[item, position]
    for last in range(1, kappa.size):
        first = last
        total, weight = kappa[positions[last]] * room[positions[last]], room[positions[last]]
        while first > 0 and kappa[positions[first - 1]] < total / weight:
            first -= 1
            total += kappa[positions[first]] * room[positions[first]]
            weight += room[positions[first]]
        for k in range(first, last + 1):
            if first < last:
                kappa[positions[k]] = total / weight
