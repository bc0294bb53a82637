"""Geweke's joint test of the sampler with features: parameters and clicks are drawn alternately.

The parameters must follow the prior. See `test_geweke`.
"""

import math

import numpy as np
from scipy import stats

from slotwise.checks import Floats
from slotwise.counts import empty
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule
from slotwise.inference.sampling.regression.regression import (
    INTERCEPT_MEAN,
    INTERCEPT_SD,
    note_informed,
    regression_on,
)
from slotwise.inference.sampling.regression.sampler import sample_with_features
from slotwise.jit import kernel
from tests.inference.sampling.distribution_checks import STANDARD_ERRORS, ks_distance, ks_limit, standard_errors

N, L, D, DRAWS, SWEEPS = 5, 2, 2, 3000, 90
DISPLAYS = np.array([[3.0, 5.0], [1.0, 4.0], [6.0, 0.0], [2.0, 2.0], [0.0, 0.0]])  # the last item is never shown
FEATURES = np.array([[1.0, 0.2], [-1.0, 0.1], [0.5, -1.0], [0.0, 1.0], [2.0, 2.0]])


@kernel
def redraw_clicks(counts, displays, theta, kappa, rng):
    counts.item_clicks[:] = 0.0
    counts.position_clicks[:] = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            clicks = 0.0
            for _ in range(int(displays[item, position])):
                clicks += rng.random() < theta[item] * kappa[position]
            counts.clicks[item, position] = clicks
            counts.skips[item, position] = displays[item, position] - clicks
            counts.skips_by_position[position, item] = displays[item, position] - clicks
            counts.item_clicks[item] += clicks
            counts.position_clicks[position] += clicks


@kernel
def fill(broken, counts, displays, theta, kappa, regression, schedule, rng, out):
    for row in range(out.shape[0]):
        for _ in range(schedule.sweeps):
            redraw_clicks(counts, displays, theta, kappa, rng)
            one = Schedule(1, schedule.stride, schedule.slice_every, 0, 1)
            sample_with_features(counts, theta, kappa, regression, one, rng)
            if broken:  # a random walk of one kappa without an acceptance step
                kappa[0] = min(kappa[0] * math.exp(0.3 * rng.standard_normal()), 0.999)
        for item in range(theta.size):
            b = 1.0 + math.exp(-regression.etas[item])
            out[row, item] = math.exp(b * math.log(1.0 - theta[item]))  # uniform, because theta is Beta(1, b)
        for position in range(kappa.size):
            out[row, theta.size + position] = kappa[position]
        rest = theta.size + kappa.size
        out[row, rest] = regression.scale[0]
        out[row, rest + 1] = regression.parameters[0]
        for j in range(1, regression.parameters.size):
            out[row, rest + 1 + j] = regression.parameters[j] / regression.scale[0]


def levels(broken: bool, draws: int) -> Floats:
    """The CDF of each parameter's prior at its draws: uniform and independent if the sampler is right."""
    rng, counts, regression = np.random.default_rng(5), empty(N, L), regression_on(FEATURES, N)
    counts.clicks[:] = DISPLAYS  # only which items have counts matters here
    note_informed(regression, counts)
    theta, kappa = 0.1 + 0.2 * rng.random(N), rng.random(L)
    out = np.empty((draws, N + L + 2 + D))
    schedule = Schedule(SWEEPS, 1, SLICE_EVERY, 0, 1)
    fill(broken, counts, DISPLAYS, theta, kappa, regression, schedule, rng, out)
    out[:, N + L] = stats.halfnorm.cdf(out[:, N + L], scale=1 / math.sqrt(D))
    out[:, N + L + 1] = stats.norm.cdf(out[:, N + L + 1], INTERCEPT_MEAN, INTERCEPT_SD)
    out[:, N + L + 2 :] = stats.norm.cdf(out[:, N + L + 2 :])
    return out


def disagreements(drawn: Floats) -> list[int]:
    """The parameters whose levels are not uniform, by K-S, mean and variance, or that depend on another one."""
    found = [k for k, column in enumerate(drawn.T) if ks_distance(np.sort(column)) > ks_limit(len(drawn))]
    centred = drawn - 0.5
    for a in range(drawn.shape[1]):
        found += [a] * (abs(standard_errors(centred[:, a])) > STANDARD_ERRORS)
        for b in range(a + 1):
            expected = 1 / 12 if a == b else 0.0
            if abs(standard_errors(centred[:, a] * centred[:, b] - expected)) > STANDARD_ERRORS:
                found.append(a)
    return found


def test_parameters_follow_the_prior() -> None:
    """Law: the prior. 3,000 draws, 90 sweeps apart. 11 K-S tests at 1e-7, 77 means at six standard errors: 2e-6."""
    drawn = levels(False, DRAWS)
    correlations = [np.corrcoef(column[1:], column[:-1])[0, 1] for column in drawn.T]
    assert max(correlations) < 0.15
    assert not disagreements(drawn)


def test_a_move_without_an_acceptance_step_is_detected() -> None:
    """The negative control."""
    assert disagreements(levels(True, 1500))
