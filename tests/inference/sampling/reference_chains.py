"""Chains to compare with the exact posterior: the samplers themselves, and plain implementations with known defects.

To add a sampler, add a `Kind`, its branch in `_recorder`, its `Step`, and its widths in `posterior_cases`.
"""

import math
from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.sampling import log_odds_random_walk, mixing_sampler, truncated_random_walk
from slotwise.inference.sampling.coordinates import LEAST, MOST, ChainState, Conditionals, given_kappa, given_theta
from slotwise.inference.sampling.random_walk_sweeps import RandomWalk
from slotwise.inference.sampling.ridges import Ridges
from slotwise.inference.sampling.truncated_normal import draw, mass
from slotwise.jit import kernel

FIXED_COUNTS = np.zeros((0, 0))  # for `record`: the counts stay as they are


class Kind(IntEnum):
    """The sampler of a chain; each is compiled separately, when it is first used."""

    METROPOLIS = 0
    LOG_ODDS = 1
    MIXING = 2  # here a width is `slice_every`
    PLAIN_METROPOLIS = 3  # Algorithm 2 as printed: the complete ratio for every proposal
    PLAIN_LOG_ODDS = 4
    PLAIN_MIXING = 5  # the three moves of the mixing sampler, each by its definition


class Defect(IntEnum):
    """The defect of a plain implementation."""

    NOTHING = 0
    ONE_MORE_CLICK = 1  # x^(clicks+1) in the acceptance ratio
    SKIPS_FORGOTTEN = 2  # one factor (1 - x other)^skips missing in it
    NO_CORRECTION = 3  # without the ratio of the truncated Gaussians' masses
    NO_JACOBIAN = 4  # a walk on log-odds without the Jacobian
    NO_PROPOSAL = 5  # an independence proposal without the ratio of its densities
    NO_SLIDE_JACOBIAN = 6  # a walk along a ridge without the Jacobian
    WRONG_EXPONENT = 7  # the scale has the density exp((n_items - n_positions + 1) delta)
    ITEM_FORGOTTEN = 8  # the prior is learnt from all items but the first


class Step(NamedTuple):
    """A sampler and its defect."""

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


class ChainRun(NamedTuple):
    """How `record` runs a chain."""

    free_from: int  # 1 when kappa_1 is fixed
    widths: tuple[float, ...]
    passes: int  # two successive rows are `passes` sweeps at each width apart
    learnt: bool = False  # whether the prior of theta is updated too
    displays: Floats = FIXED_COUNTS  # per item and position: before every sweep, draw the counts of this many displays
    restart: bool = False  # every row is the start of its own chain; otherwise the first row starts the only chain
    components: tuple[Ints, Ints] | None = None  # labels of items and positions; None for a connected design


def record(
    step: Step,
    counts: CountArrays,
    chain_run: ChainRun,
    rng: np.random.Generator,
    theta: Floats,
    kappa: Floats,
    beta: Floats | None = None,
) -> None:
    """Fill the rows of `theta`, `kappa` and `beta`, the prior of theta, with states of a chain.

    `beta` is for samplers that support a prior; None is the uniform prior.
    """
    rows = ChainState(theta, kappa, np.ones((len(theta), 2)) if beta is None else beta)
    labels = chain_run.components or (np.zeros(theta.shape[1], np.int64), np.zeros(kappa.shape[1], np.int64))
    ridges = Ridges(np.zeros(theta.shape[1], np.int64), *labels)
    run = _KernelRun(
        int(step.defect),
        chain_run.learnt,
        chain_run.free_from,
        np.array(chain_run.widths),
        chain_run.passes,
        chain_run.displays,
        chain_run.restart,
    )
    _recorder(int(step.kind))(run, counts, ridges, rng, rows)


class _KernelRun(NamedTuple):
    """A `ChainRun` and a defect, in the form that the kernels use."""

    defect: int
    learnt: bool
    free_from: int
    widths: Floats
    passes: int
    displays: Floats
    restart: bool


@cache
def _recorder(kind: int) -> Callable[..., None]:
    """The recorder of one `Kind`, passed as a plain number: numba then omits the branches of the other kinds."""

    @kernel
    def fill(run: _KernelRun, counts: CountArrays, ridges: Ridges, rng: np.random.Generator, rows: ChainState) -> None:
        defect, free_from, widths = run.defect, run.free_from, run.widths
        for row in range(rows.theta.shape[0]):
            theta, kappa, beta = rows.theta[row], rows.kappa[row], rows.beta[row]
            if row > 0 and not run.restart:
                _copy(rows.theta[row - 1], theta)
                _copy(rows.kappa[row - 1], kappa)
                _copy(rows.beta[row - 1], beta)
            of_theta, of_kappa = given_kappa(counts, kappa), given_theta(counts, theta)
            for sweep in range(run.passes * widths.size):
                width = widths[sweep % widths.size]
                if run.displays.size > 0:
                    _draw_counts(counts, run.displays, theta, kappa, rng)
                if kind == 0:
                    truncated_random_walk.sample(counts, theta, kappa, RandomWalk(width, 1, free_from), rng)
                elif kind == 1:
                    log_odds_random_walk.sample(counts, theta, kappa, RandomWalk(width, 1, free_from), rng)
                elif kind == 2:
                    stride = 1 + sweep % 2  # all coordinates and half of them, alternately
                    schedule = mixing_sampler.Schedule(1, stride, int(width), free_from, 1 if run.learnt else 0)
                    mixing_sampler.sample(counts, ridges, ChainState(theta, kappa, beta), schedule, rng)
                elif kind == 3:
                    _walk(defect, theta, 0, of_theta, (beta[0], beta[1]), width, rng)
                    _walk(defect, kappa, free_from, of_kappa, (1.0, 1.0), width, rng)
                    if run.learnt:
                        _learn(defect, beta, theta, rng)
                elif kind == 4:
                    _odds_walk(defect, theta, 0, of_theta, width, rng)
                    _odds_walk(defect, kappa, free_from, of_kappa, width, rng)
                elif kind == 5:
                    _redraw(defect, theta, 0, of_theta, rng)
                    _redraw(defect, kappa, free_from, of_kappa, rng)
                    for position in range(free_from, kappa.size):
                        _slide(defect, counts, theta, kappa, position, rng)
                    if free_from == 0:
                        _rescale(defect, theta, kappa, rng)

    return fill


@kernel
def _copy(source: Floats, target: Floats) -> None:
    for k in range(source.size):
        target[k] = source[k]


@kernel
def _draw_counts(counts: CountArrays, displays: Floats, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    """Draw the counts for the given number of displays of each item at each position."""
    for item in range(theta.size):
        counts.item_clicks[item] = 0.0
    for position in range(kappa.size):
        counts.position_clicks[position] = 0.0
        for item in range(theta.size):
            clicks = 0.0
            for _ in range(int(displays[item, position])):
                clicks += rng.random() < theta[item] * kappa[position]
            counts.clicks[item, position] = clicks
            counts.item_clicks[item] += clicks
            counts.position_clicks[position] += clicks
            skips = displays[item, position] - clicks
            counts.skips[item, position] = counts.skips_by_position[position, item] = skips


@kernel
def _walk(
    defect: int,
    values: Floats,
    first: int,
    laws: Conditionals,
    prior: tuple[float, float],
    sigma: float,
    rng: np.random.Generator,
) -> None:
    """One sweep of Algorithm 2, for values with a Beta prior."""
    clicks, skips, others = laws.clicks, laws.skips, laws.others
    a, b = prior
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
    """A proposal from the prior, 1/a and 1/b uniform, accepted by the ratio of the likelihoods of theta."""
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
    defect: int, values: Floats, first: int, laws: Conditionals, sigma: float, rng: np.random.Generator
) -> None:
    for i in range(first, values.size):
        x = values[i]
        y = 1.0 / (1.0 + math.exp(math.log(1.0 / x - 1.0) - sigma * rng.standard_normal()))
        if not 0.0 < y < 1.0:
            continue
        ratio = _rise(x, y, i, laws)
        if defect != Defect.NO_JACOBIAN:
            ratio += math.log(y / x) + math.log((1.0 - y) / (1.0 - x))
        if -rng.standard_exponential() < ratio:
            values[i] = y


@kernel
def _rise(x: float, y: float, i: int, laws: Conditionals) -> float:
    """The log of the conditional density of value i at y minus that at x."""
    rise, others = laws.clicks[i] * math.log(y / x), laws.others
    for j in range(others.size):
        rise += laws.skips[i, j] * math.log((1.0 - y * others[j]) / (1.0 - x * others[j]))
    return rise


@kernel
def _redraw(defect: int, values: Floats, first: int, laws: Conditionals, rng: np.random.Generator) -> None:
    """A proposal that does not depend on x: y = m (1 + c z)^3, whose density is exp(-z^2 / 2) y^(-2/3)."""
    clicks, skips, others = laws.clicks, laws.skips, laws.others
    for i in range(first, values.size):
        x = values[i]
        low, high = 0.0, 0.999
        for _ in range(16):  # m: where clicks + 2/3 = sum of skips m other / (1 - m other)
            m = 0.5 * (low + high)
            gap = clicks[i] + 2.0 / 3.0
            curvature = 1e-3  # any positive number works; it keeps the curvature above 0
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
        ratio = _rise(x, y, i, laws)
        if defect != Defect.NO_PROPOSAL:
            z_now = ((x / m) ** (1.0 / 3.0) - 1.0) / c
            ratio += 2.0 / 3.0 * math.log(y / x) + 0.5 * (z * z - z_now * z_now)
        if -rng.standard_exponential() < ratio:
            values[i] = y


@kernel
def _slide(
    defect: int, counts: CountArrays, theta: Floats, kappa: Floats, position: int, rng: np.random.Generator
) -> None:
    """Log kappa - delta at one position, log theta + delta for the items clicked more there than anywhere else."""
    delta = 2.0 / math.sqrt(1.0 + counts.position_clicks[position]) * rng.standard_normal()
    before = _log_likelihood(counts, theta, kappa)
    moved = np.ones(theta.size, np.int64)
    fits = kappa[position] * math.exp(-delta) < 1.0
    for item in range(theta.size):
        for other in range(kappa.size):
            if other != position and counts.clicks[item, other] >= counts.clicks[item, position]:
                moved[item] = 0
        if moved[item] > 0 and theta[item] * math.exp(delta) >= 1.0:
            fits = False
    if not fits:
        return
    _shift(theta, kappa, position, moved, delta)
    ratio = _log_likelihood(counts, theta, kappa) - before
    if defect != Defect.NO_SLIDE_JACOBIAN:
        ratio += (moved.sum() - 1) * delta
    if -rng.standard_exponential() >= ratio:
        _shift(theta, kappa, position, moved, -delta)


@kernel
def _shift(theta: Floats, kappa: Floats, position: int, moved: Ints, delta: float) -> None:
    kappa[position] *= math.exp(-delta)
    for item in range(theta.size):
        if moved[item] > 0:
            theta[item] *= math.exp(delta)


@kernel
def _log_likelihood(counts: CountArrays, theta: Floats, kappa: Floats) -> float:
    total = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            chance = theta[item] * kappa[position]
            total += counts.clicks[item, position] * math.log(chance)
            total += counts.skips[item, position] * math.log(1.0 - chance)
    return total


@kernel
def _rescale(defect: int, theta: Floats, kappa: Floats, rng: np.random.Generator) -> None:
    """All theta times exp(delta), all kappa times exp(-delta); delta has density exp((n_items - n_positions) delta)."""
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
