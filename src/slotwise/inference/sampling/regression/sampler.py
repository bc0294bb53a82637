"""A sampler of the posterior of a PBM whose thetas follow a regression on features. It mixes like `mixing_sampler`.

Given the regression, the prior Beta(1, b_i) acts like b_i - 1 skips at a position that all visitors look at. So the
mixing sampler draws thetas and kappas on counts with one more position, whose kappa is fixed at 1. Then all thetas are
rescaled together with the intercept, and the regression is learnt. The design is assumed to be connected.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays, empty
from slotwise.inference.sampling.coordinates import MOST, ChainState
from slotwise.inference.sampling.mixing_sampler import Schedule, sample
from slotwise.inference.sampling.regression.regression import (
    INTERCEPT_MEAN,
    INTERCEPT_SD,
    Regression,
    draw_uninformed,
    learn_regression,
    note_informed,
)
from slotwise.inference.sampling.ridges import Ridges, single_component
from slotwise.inference.sampling.slice_bracket import shrink
from slotwise.jit import kernel

_TRIES = 200


@kernel
def with_prior_position(counts: CountArrays) -> CountArrays:
    """Counts with one more position, in front of all others, without counts."""
    n_items, n_positions = counts.clicks.shape
    larger = empty(n_items, n_positions + 1)
    for item in range(n_items):
        larger.item_clicks[item] = counts.item_clicks[item]
        for position in range(n_positions):
            larger.clicks[item, position + 1] = counts.clicks[item, position]
            larger.skips[item, position + 1] = counts.skips[item, position]
            larger.skips_by_position[position + 1, item] = counts.skips[item, position]
    for position in range(n_positions):
        larger.position_clicks[position + 1] = counts.position_clicks[position]
    return larger


class FeatureWork(NamedTuple):
    """What a sweep works on: the counts with the position of the prior, and a chain on them."""

    counts: CountArrays
    ridges: Ridges
    chain: ChainState


@kernel
def feature_work(counts: CountArrays, theta: Floats, kappa: Floats) -> FeatureWork:
    """The work space of a chain. It changes `theta` in place, and has its own kappas."""
    n_items, n_positions = counts.clicks.shape
    work = FeatureWork(
        with_prior_position(counts),
        single_component(n_items, n_positions + 1),
        ChainState(theta, np.ones(n_positions + 1), np.ones(2)),
    )
    for position in range(n_positions):
        work.chain.kappa[position + 1] = kappa[position]
    return work


@kernel
def sweep_with_features(
    work: FeatureWork, regression: Regression, schedule: Schedule, rng: np.random.Generator
) -> None:
    """Update theta, kappa and the regression. Unless the schedule learns, the etas stay as they are."""
    larger, theta = work.counts, work.chain.theta
    one = Schedule(1, schedule.stride, schedule.slice_every, 1, 0)
    for _ in range(schedule.sweeps):
        for item in range(theta.size):
            skips = math.exp(-regression.etas[item])
            larger.skips[item, 0] = skips
            larger.skips_by_position[0, item] = skips
        sample(larger, work.ridges, work.chain, one, rng)
        if schedule.learnt:
            rescale_with_intercept(theta, work.chain.kappa[1:], regression, rng)
            learn_regression(regression, theta, rng)
        draw_uninformed(regression, theta, rng)


@kernel
def sample_with_features(
    counts: CountArrays,
    theta: Floats,
    kappa: Floats,
    regression: Regression,
    schedule: Schedule,
    rng: np.random.Generator,
) -> None:
    """Update theta, kappa and the regression in place. No kappa is fixed, and all are uniform a priori."""
    note_informed(regression, counts)
    work = feature_work(counts, theta, kappa)
    sweep_with_features(work, regression, schedule, rng)
    for position in range(kappa.size):
        kappa[position] = work.chain.kappa[position + 1]


@kernel
def rescale_with_intercept(theta: Floats, kappa: Floats, regression: Regression, rng: np.random.Generator) -> None:
    """Add delta to the log theta of every informed item and to the intercept, and subtract it from every log kappa.

    No click probability changes, and small thetas keep their distance from the regression. delta takes a slice step
    (Neal 2003, figure 5).
    """
    informed, etas, parameters = regression.informed, regression.etas, regression.parameters
    theta_most, kappa_most = 0.0, 0.0
    for item in range(theta.size):
        if informed[item] == 1:
            theta_most = max(theta_most, theta[item])
    for position in range(kappa.size):
        kappa_most = max(kappa_most, kappa[position])
    if theta_most <= 0.0 or theta_most >= MOST or kappa_most <= 0.0:
        return
    low, high = math.log(kappa_most), -math.log(theta_most)
    least = _log_density_of_shift(0.0, theta, kappa, regression) - rng.standard_exponential()
    for _ in range(_TRIES):
        delta = low + (high - low) * rng.random()
        if theta_most * math.exp(delta) < MOST and _log_density_of_shift(delta, theta, kappa, regression) > least:
            up, down = math.exp(delta), math.exp(-delta)
            for item in range(theta.size):
                if informed[item] == 1:
                    theta[item] *= up
                etas[item] += delta
            for position in range(kappa.size):
                kappa[position] = min(kappa[position] * down, MOST)
            parameters[0] += delta
            return
        low, high = shrink(low, high, delta, 0.0)


@kernel
def _log_density_of_shift(delta: float, theta: Floats, kappa: Floats, regression: Regression) -> float:
    """The log-density of the shift: the volumes of theta and kappa, and the priors of theta and the intercept."""
    informed, etas, up, down = regression.informed, regression.etas, math.exp(delta), math.exp(-delta)
    intercept = regression.parameters[0] + delta - INTERCEPT_MEAN
    total = -kappa.size * delta - 0.5 * (intercept / INTERCEPT_SD) ** 2
    product = 1.0
    for item in range(theta.size):
        if informed[item] == 1:
            skips = math.exp(-etas[item]) * down
            total += delta + skips * math.log(1.0 - theta[item] * up)
            product *= 1.0 + skips
            if product > 1e100:  # one logarithm for many factors
                total += math.log(product)
                product = 1.0
    return float(total + math.log(product))
