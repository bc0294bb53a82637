"""Chains to hold against the exact posterior: the samplers' own, and plain readings of them to break.

Adding a sampler: a `Kind`, its line in `_recorder`, its `Step`, and a schedule in `cases`.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.sampling import log_odds, metropolis, mixing
from slotwise.inference.sampling.ridges import Ridges
from slotwise.inference.sampling.truncnorm import draw, mass
from slotwise.jit import kernel

NEVER_SHOWN = np.zeros((0, 0))  # for `record`: the counts stay as they are
LEAST, MOST = 1e-200, 1.0 - 2.0**-53


class Kind(IntEnum):
    """What a chain is moved by: each is compiled by itself, and only where it is used."""

    METROPOLIS = 0
    LOG_ODDS = 1
    MIXING = 2  # here a width is how rarely a slice is taken
    PLAIN_METROPOLIS = 3  # Algorithm 2 to the letter: the whole ratio for every proposal
    PLAIN_LOG_ODDS = 4
    PLAIN_MIXING = 5  # the three moves of the well-mixing sampler, each by its definition


class Defect(IntEnum):
    """What is wrong with a plain reading."""

    NOTHING = 0
    ONE_MORE_CLICK = 1  # x^(clicks+1) in the acceptance ratio
    SKIPS_FORGOTTEN = 2  # one factor (1 - x other)^skips left out of it
    NO_CORRECTION = 3  # without the ratio of the truncated Gaussians' masses
    NO_JACOBIAN = 4  # a walk on log-odds as if the density were in log-odds
    NO_PROPOSAL = 5  # an independent proposal without the ratio of its densities
    NO_SLIDE_JACOBIAN = 6  # a walk along a ridge as if the density were in logarithms
    WRONG_EXPONENT = 7  # the scale drawn by exp((n_items - n_positions + 1) delta)
    ITEM_FORGOTTEN = 8  # the prior learnt from all items but the first


class Step(NamedTuple):
    """What moves a chain."""

    kind: Kind
    defect: Defect = Defect.NOTHING


METROPOLIS, PLAIN_METROPOLIS = Step(Kind.METROPOLIS), Step(Kind.PLAIN_METROPOLIS)
LOG_ODDS, PLAIN_LOG_ODDS = Step(Kind.LOG_ODDS), Step(Kind.PLAIN_LOG_ODDS)
MIXING, PLAIN_MIXING = Step(Kind.MIXING), Step(Kind.PLAIN_MIXING)
BROKEN_METROPOLIS = [
    Step(Kind.PLAIN_METROPOLIS, defect)
    for defect in (Defect.ONE_MORE_CLICK, Defect.SKIPS_FORGOTTEN, Defect.NO_CORRECTION)
]
ITEM_FORGOTTEN = Step(Kind.PLAIN_METROPOLIS, Defect.ITEM_FORGOTTEN)
BROKEN_LOG_ODDS = [Step(Kind.PLAIN_LOG_ODDS, Defect.NO_JACOBIAN)]
BROKEN_MIXING = [
    Step(Kind.PLAIN_MIXING, defect) for defect in (Defect.NO_PROPOSAL, Defect.NO_SLIDE_JACOBIAN, Defect.WRONG_EXPONENT)
]


def record(
    step: Step,
    tally: CountArrays,
    free_from: int,
    widths: tuple[float, ...],
    passes: int,
    rng: np.random.Generator,
    theta: Floats,
    kappa: Floats,
    beta: Floats | None = None,
    learnt: bool = False,
    shown: Floats = NEVER_SHOWN,
    restart: bool = False,
    parts: tuple[Ints, Ints] | None = None,
) -> None:
    """Fill the rows of `theta`, `kappa` and `beta` with states that are `passes` x all `widths` sweeps apart.

    The chain starts from the first row; with `restart` every row is a start of its own. When `shown` has a number
    for each item and position, the counts are drawn anew before every sweep, as so many displays of it. `beta` is the
    prior of theta, for samplers that know one, uniform unless told; `learnt` when it moves too. `parts` are the labels
    of items and positions in a design that is not connected.
    """
    betas = np.ones((len(theta), 2)) if beta is None else beta
    items, positions = parts or (np.zeros(theta.shape[1], np.int64), np.zeros(kappa.shape[1], np.int64))
    ridges = Ridges(np.zeros(theta.shape[1], np.int64), items, positions)
    way = learnt, free_from, np.array(widths, dtype=np.float64), passes, shown, restart, rng
    _recorder(int(step.kind))(int(step.defect), tally, ridges, *way, theta, kappa, betas)


@cache
def _recorder(kind: int) -> Callable[..., None]:
    """For one `Kind`, as a plain number: numba then leaves out the branches of the others."""

    @kernel
    def fill(
        defect: int,
        tally: CountArrays,
        ridges: Ridges,
        learnt: bool,
        free_from: int,
        widths: Floats,
        passes: int,
        shown: Floats,
        restart: bool,
        rng: np.random.Generator,
        theta: Floats,
        kappa: Floats,
        beta: Floats,
    ) -> None:
        for row in range(theta.shape[0]):
            now_theta, now_kappa, now_beta = theta[row], kappa[row], beta[row]
            if row > 0 and not restart:
                _copy(theta[row - 1], now_theta)
                _copy(kappa[row - 1], now_kappa)
                _copy(beta[row - 1], now_beta)
            for turn in range(passes * widths.size):
                width = widths[turn % widths.size]
                if shown.size > 0:
                    _visit(tally, shown, now_theta, now_kappa, rng)
                if kind == 0:
                    metropolis.sample(tally, now_theta, now_kappa, free_from, width, 1, rng)
                elif kind == 1:
                    log_odds.sample(tally, now_theta, now_kappa, free_from, width, 1, rng)
                elif kind == 2:
                    how = (ridges, 1 + turn % 2, int(width), 1)  # all coordinates and half of them, in turn
                    mixing.sample(tally, now_theta, now_kappa, now_beta, learnt, free_from, *how, rng)
                elif kind == 3:
                    a, b = now_beta
                    _walk(defect, now_theta, 0, tally.item_clicks, tally.skips, now_kappa, a, b, width, rng)
                    s, f = tally.position_clicks, tally.skips_by_position
                    _walk(defect, now_kappa, free_from, s, f, now_theta, 1.0, 1.0, width, rng)
                    if learnt:
                        _learn(defect, now_beta, now_theta, rng)
                elif kind == 4:
                    _odds_walk(defect, now_theta, 0, tally.item_clicks, tally.skips, now_kappa, width, rng)
                    s, f = tally.position_clicks, tally.skips_by_position
                    _odds_walk(defect, now_kappa, free_from, s, f, now_theta, width, rng)
                elif kind == 5:
                    _redraw(defect, now_theta, 0, tally.item_clicks, tally.skips, now_kappa, rng)
                    s, f = tally.position_clicks, tally.skips_by_position
                    _redraw(defect, now_kappa, free_from, s, f, now_theta, rng)
                    for position in range(free_from, now_kappa.size):
                        _slide(defect, tally, now_theta, now_kappa, position, ridges.homes, rng)
                    if free_from == 0:
                        _rescale(defect, now_theta, now_kappa, rng)

    return fill


@kernel
def _copy(source: Floats, target: Floats) -> None:
    for k in range(source.size):
        target[k] = source[k]


@kernel
def _visit(tally: CountArrays, shown: Floats, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    """Set the counts to those of visitors who see each item so many times at each position."""
    for item in range(theta.size):
        tally.item_clicks[item] = 0.0
    for position in range(kappa.size):
        tally.position_clicks[position] = 0.0
        for item in range(theta.size):
            clicks = 0.0
            for _ in range(int(shown[item, position])):
                clicks += rng.random() < theta[item] * kappa[position]
            tally.clicks[item, position] = clicks
            tally.item_clicks[item] += clicks
            tally.position_clicks[position] += clicks
            tally.skips[item, position] = tally.skips_by_position[position, item] = shown[item, position] - clicks


@kernel
def _walk(
    defect: int,
    values: Floats,
    first: int,
    clicks: Floats,
    skips: Floats,
    others: Floats,
    a: float,
    b: float,
    sigma: float,
    rng: np.random.Generator,
) -> None:
    """Algorithm 2, for values that are Beta(a, b) a priori."""
    for i in range(first, values.size):
        x = min(max(values[i], LEAST), MOST)
        y = draw(x, sigma, rng)
        log_u = -rng.standard_exponential()
        ratio = (clicks[i] + (a - 1.0) + (defect == Defect.ONE_MORE_CLICK)) * math.log(y / x)
        if defect != Defect.NO_CORRECTION:
            ratio += math.log(mass(x, sigma) / mass(y, sigma))
        for j in range(defect == Defect.SKIPS_FORGOTTEN, others.size):
            ratio += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
        if b > 1.0:
            ratio += (b - 1.0) * math.log((1.0 - y) / (1.0 - x))
        if log_u < ratio:
            values[i] = y


@kernel
def _learn(defect: int, beta: Floats, theta: Floats, rng: np.random.Generator) -> None:
    """A proposal from the prior, 1/a and 1/b uniform, taken by the ratio of the likelihoods of theta."""
    a, b = 1.0 / (1.0 - rng.random()), 1.0 / (1.0 - rng.random())
    ratio = 0.0
    for item in range(defect == Defect.ITEM_FORGOTTEN, theta.size):
        ratio += _log_beta(theta[item], a, b) - _log_beta(theta[item], beta[0], beta[1])
    if -rng.standard_exponential() < ratio:
        beta[0], beta[1] = a, b


@kernel
def _log_beta(x: float, a: float, b: float) -> float:
    normalised = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return normalised + (a - 1.0) * math.log(x) + (b - 1.0) * math.log(1.0 - x)


@kernel
def _odds_walk(
    defect: int,
    values: Floats,
    first: int,
    clicks: Floats,
    skips: Floats,
    others: Floats,
    sigma: float,
    rng: np.random.Generator,
) -> None:
    for i in range(first, values.size):
        x = values[i]
        y = 1.0 / (1.0 + math.exp(math.log(1.0 / x - 1.0) - sigma * rng.standard_normal()))
        if not 0.0 < y < 1.0:
            continue
        ratio = _rise(x, y, clicks[i], skips, i, others)
        if defect != Defect.NO_JACOBIAN:
            ratio += math.log(y / x) + math.log((1.0 - y) / (1.0 - x))
        if -rng.standard_exponential() < ratio:
            values[i] = y


@kernel
def _rise(x: float, y: float, clicks: float, skips: Floats, i: int, others: Floats) -> float:
    """Log of the conditional's density at y over that at x."""
    rise = clicks * math.log(y / x)
    for j in range(others.size):
        rise += skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
    return rise


@kernel
def _redraw(
    defect: int,
    values: Floats,
    first: int,
    clicks: Floats,
    skips: Floats,
    others: Floats,
    rng: np.random.Generator,
) -> None:
    """A proposal that does not depend on x: y = m (1 + c z)^3, whose density is exp(-z^2 / 2) y^(-2/3)."""
    for i in range(first, values.size):
        x = values[i]
        low, high = 0.0, 0.999
        for _ in range(16):  # m: where clicks + 2/3 = sum of skips m other / (1 - m other)
            m = 0.5 * (low + high)
            gap = clicks[i] + 2.0 / 3.0
            curvature = 1e-3  # any number would do; it is never 0 like this
            for j in range(others.size):
                missed = 1.0 - m * others[j]
                gap -= skips[i, j] * m * others[j] / missed
                curvature += skips[i, j] * m * others[j] / (missed * missed)
            if gap > 0.0:
                low = m
            else:
                high = m
        c = 1.0 / (3.0 * math.sqrt(max(curvature, 1.0)))
        z = rng.standard_normal()
        root = 1.0 + c * z
        y = m * root * root * root
        if not 0.0 < y < 1.0:
            continue
        ratio = _rise(x, y, clicks[i], skips, i, others)
        if defect != Defect.NO_PROPOSAL:
            z_now = ((x / m) ** (1.0 / 3.0) - 1.0) / c
            ratio += 2.0 / 3.0 * math.log(y / x) + 0.5 * (z * z - z_now * z_now)
        if -rng.standard_exponential() < ratio:
            values[i] = y


@kernel
def _slide(
    defect: int,
    tally: CountArrays,
    theta: Floats,
    kappa: Floats,
    position: int,
    homes: Ints,
    rng: np.random.Generator,
) -> None:
    """Log kappa - delta at one position, log theta + delta for the items clicked more there than anywhere else."""
    delta = 2.0 / math.sqrt(1.0 + tally.position_clicks[position]) * rng.standard_normal()
    before = _log_likelihood(tally, theta, kappa)
    n_home = 0
    fits = kappa[position] * math.exp(-delta) < 1.0
    for item in range(theta.size):
        homes[item] = 1
        for other in range(kappa.size):
            if other != position and tally.clicks[item, other] >= tally.clicks[item, position]:
                homes[item] = 0
        n_home += homes[item]
        if homes[item] > 0 and theta[item] * math.exp(delta) >= 1.0:
            fits = False
    if not fits:
        return
    _shift(theta, kappa, position, homes, delta)
    ratio = _log_likelihood(tally, theta, kappa) - before
    if defect != Defect.NO_SLIDE_JACOBIAN:
        ratio += (n_home - 1) * delta
    if -rng.standard_exponential() >= ratio:
        _shift(theta, kappa, position, homes, -delta)


@kernel
def _shift(theta: Floats, kappa: Floats, position: int, homes: Ints, delta: float) -> None:
    kappa[position] *= math.exp(-delta)
    for item in range(theta.size):
        if homes[item] > 0:
            theta[item] *= math.exp(delta)


@kernel
def _log_likelihood(tally: CountArrays, theta: Floats, kappa: Floats) -> float:
    total = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            chance = theta[item] * kappa[position]
            total += tally.clicks[item, position] * math.log(chance)
            total += tally.skips[item, position] * math.log(1.0 - chance)
    return total


@kernel
def _rescale(defect: int, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    """All theta times exp(delta) and all kappa times exp(-delta), delta by exp((n_items - n_positions) delta)."""
    rate = theta.size - kappa.size + (defect == Defect.WRONG_EXPONENT)
    low, high = math.log(max(kappa)), -math.log(max(theta))
    if rate == 0:
        delta = low + (high - low) * rng.random()
    else:
        start, end = math.exp(rate * low), math.exp(rate * high)
        delta = math.log(start + (end - start) * rng.random()) / rate
    for item in range(theta.size):
        theta[item] = min(theta[item] * math.exp(delta), MOST)
    for position in range(kappa.size):
        kappa[position] = min(kappa[position] * math.exp(-delta), MOST)
