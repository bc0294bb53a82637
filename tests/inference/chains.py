"""Chains to hold against the exact posterior: the sampler's own, and a plain reading of Algorithm 2 to break."""

import math
from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import Tally
from slotwise.inference.metropolis import sample
from slotwise.inference.truncnorm import draw, mass
from slotwise.jit import kernel

NEVER_SHOWN = np.zeros((0, 0))  # for `record`: the counts stay as they are


class Step(IntEnum):
    """Which Metropolis-Hastings step moves the chain."""

    SAMPLER = 0  # the one under test
    PLAIN = 1  # Algorithm 2 to the letter: the whole ratio for every proposal
    ONE_MORE_CLICK = 2  # PLAIN with a wrong acceptance ratio: x^(clicks+1)
    SKIPS_FORGOTTEN = 3  # PLAIN with a wrong acceptance ratio: one factor (1 - x other)^skips left out
    NO_CORRECTION = 4  # PLAIN without the ratio of the truncated Gaussians' masses


@kernel
def record(
    step: int,
    tally: Tally,
    free_from: int,
    widths: Floats,
    passes: int,
    shown: Floats,
    restart: bool,
    rng: np.random.Generator,
    theta: Floats,
    kappa: Floats,
) -> None:
    """Fill the rows of `theta` and `kappa` with states that are `passes` x all `widths` sweeps apart.

    The chain starts from the first row; with `restart` every row is a start of its own. When `shown` has a number
    for each item and position, the counts are drawn anew before every sweep, as so many displays of it.
    """
    for row in range(theta.shape[0]):
        now_theta, now_kappa = theta[row], kappa[row]
        if row > 0 and not restart:
            _copy(theta[row - 1], now_theta)
            _copy(kappa[row - 1], now_kappa)
        for turn in range(passes * widths.size):
            width = widths[turn % widths.size]
            if shown.size > 0:
                _visit(tally, shown, now_theta, now_kappa, rng)
            if step == Step.SAMPLER:
                sample(tally, now_theta, now_kappa, free_from, width, 1, rng)
            else:
                _walk(step, now_theta, 0, tally.item_clicks, tally.skips, now_kappa, width, rng)
                _walk(step, now_kappa, free_from, tally.position_clicks, tally.skips_by_position, now_theta, width, rng)


@kernel
def _copy(source: Floats, target: Floats) -> None:
    for k in range(source.size):
        target[k] = source[k]


@kernel
def _visit(tally: Tally, shown: Floats, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    """Set the counts to those of visitors who see each item so many times at each position."""
    for item in range(theta.size):
        tally.item_clicks[item] = 0.0
    for position in range(kappa.size):
        tally.position_clicks[position] = 0.0
        for item in range(theta.size):
            clicks = 0.0
            for _ in range(int(shown[item, position])):
                clicks += rng.random() < theta[item] * kappa[position]
            tally.item_clicks[item] += clicks
            tally.position_clicks[position] += clicks
            tally.skips[item, position] = tally.skips_by_position[position, item] = shown[item, position] - clicks


@kernel
def _walk(
    step: int,
    values: Floats,
    first: int,
    clicks: Floats,
    skips: Floats,
    others: Floats,
    sigma: float,
    rng: np.random.Generator,
) -> None:
    for i in range(first, values.size):
        x = min(max(values[i], 1e-200), 1.0 - 2.0**-53)
        y = draw(x, sigma, rng)
        log_u = -rng.standard_exponential()
        ratio = (clicks[i] + (step == Step.ONE_MORE_CLICK)) * math.log(y / x)
        if step != Step.NO_CORRECTION:
            ratio += math.log(mass(x, sigma) / mass(y, sigma))
        for j in range(step == Step.SKIPS_FORGOTTEN, others.size):
            ratio += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
        if log_u < ratio:
            values[i] = y
