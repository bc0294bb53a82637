"""Which features matter: draws of their effects from the posterior."""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule
from slotwise.inference.sampling.regression.feature_draws import record_with_features
from slotwise.inference.sampling.regression.regression import regression_on

_BURN_IN, _THIN = 500, 4


class Effect(NamedTuple):
    """How much the logarithm of an item's typical theta rises with a feature: the posterior mean, and an interval."""

    mean: float
    low: float
    high: float


def feature_effects(counts: Counts, features: Floats, level: float = 0.9, draws: int = 1000) -> list[Effect]:
    """The effect of each column of `features`. The same counts always give the same intervals."""
    rng = np.random.default_rng(0)
    n_items, n_positions = counts.clicks.shape
    regression, theta, kappa = regression_on(features, n_items), rng.random((n_items,)), rng.random((n_positions,))
    arrays, drawn = counts.arrays(), EnsembleDraws.empty(draws, n_items, n_positions, 1 + features.shape[1])
    record_with_features(arrays, theta, kappa, regression, Schedule(_BURN_IN, 1, 1, 0, 1), drawn.rows(0, 1), rng)
    record_with_features(arrays, theta, kappa, regression, Schedule(_THIN, 1, SLICE_EVERY, 0, 1), drawn, rng)
    return effects_of(drawn.regression, level)


def effects_of(regression: Floats, level: float) -> list[Effect]:
    """The effect of each feature, from draws of the regression."""
    drawn = regression[:, 1:]
    low, high = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return [Effect(*(float(number) for number in row)) for row in zip(drawn.mean(axis=0), low, high, strict=True)]
