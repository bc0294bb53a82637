"""The coordinates of a PBM's posterior, and the conditional law of each coordinate given all others."""

from typing import NamedTuple

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel

# samplers move a value at least this far from 0 and 1, because a logarithm would be infinite at 0 and 1 themselves
LEAST, MOST = 1e-200, 1.0 - 2.0**-53


class ChainState(NamedTuple):
    """The current values of a Markov chain. Samplers change the arrays in place."""

    theta: Floats
    kappa: Floats
    beta: Floats  # a and b of the Beta(a, b) prior of theta


class BetaFactor(NamedTuple):
    """The factor x^clicks (1 - x)^skips of a density. A Beta(a, b) prior has clicks = a - 1 and skips = b - 1."""

    clicks: float
    skips: float


class Conditionals(NamedTuple):
    """The conditional laws of all thetas given kappa (Eq. 5), or of all kappas given theta (Eq. 6).

    Under uniform priors, the density of the i-th theta or kappa at the value v is proportional to v^clicks[i] times the
    product over j of (1 - v others[j])^skips[i, j].
    """

    clicks: Floats
    skips: Floats
    others: Floats


@kernel(inline=True)
def given_kappa(counts: CountArrays, kappa: Floats) -> Conditionals:
    """The conditional laws of the thetas."""
    return Conditionals(counts.item_clicks, counts.skips, kappa)


@kernel(inline=True)
def given_theta(counts: CountArrays, theta: Floats) -> Conditionals:
    """The conditional laws of the kappas."""
    return Conditionals(counts.position_clicks, counts.skips_by_position, theta)
