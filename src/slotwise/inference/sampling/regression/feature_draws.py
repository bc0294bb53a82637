"""Draws of a page whose items have features: the draws of theta and kappa, and those of the regression."""

import math

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws, Float32s
from slotwise.inference.sampling.mixing_sampler import Schedule
from slotwise.inference.sampling.regression.regression import Regression, note_informed, unrotated_effects
from slotwise.inference.sampling.regression.sampler import feature_work, sweep_with_features
from slotwise.jit import kernel

LOWEST_ETA, HIGHEST_ETA = -100.0, 100.0  # so that every b is finite


@kernel
def record_with_features(
    counts: CountArrays,
    theta: Floats,
    kappa: Floats,
    regression: Regression,
    schedule: Schedule,
    draws: EnsembleDraws,
    rng: np.random.Generator,
) -> None:
    """Fill the draws from a chain, and change the chain in place. Between two draws come the sweeps of the schedule."""
    note_informed(regression, counts)
    work = feature_work(counts, theta, kappa)
    parameters, centre = regression.parameters, regression.centre
    thetas, kappas, betas, regressions = draws.theta, draws.kappa, draws.beta, draws.regression
    for draw in range(thetas.shape[0]):
        sweep_with_features(work, regression, schedule, rng)
        for item in range(theta.size):
            thetas[draw, item] = theta[item]
        for position in range(kappa.size):
            kappas[draw, position] = work.chain.kappa[position + 1]
        effects, intercept = unrotated_effects(regression), parameters[0]
        for j in range(effects.size):
            regressions[draw, 1 + j] = effects[j]
            intercept -= centre[j] * effects[j]
        regressions[draw, 0] = intercept
        betas[draw, 1] = 1.0 + math.exp(-min(max(parameters[0], LOWEST_ETA), HIGHEST_ETA))
    for position in range(kappa.size):
        kappa[position] = work.chain.kappa[position + 1]


def prior_skips(regression: Floats, features: Floats) -> Floats:
    """b - 1 of the Beta(1, b) prior of each item, in each draw: M x N. Features are N x d."""
    etas = regression[:, :1] + regression[:, 1:] @ features.T
    return np.asarray(np.exp(-np.clip(etas, LOWEST_ETA, HIGHEST_ETA)))


def draw_new_thetas(regression: Floats, features: Floats, rng: np.random.Generator) -> Float32s:
    """A theta of each item without counts, given each draw of the regression: M x N."""
    draws = np.empty((len(regression), len(features)), np.float32)
    for draw in range(len(regression)):
        skips = prior_skips(regression[draw : draw + 1], features)[0]
        draws[draw] = -np.expm1(-rng.standard_exponential(skips.size) / (1.0 + skips))
    return draws
