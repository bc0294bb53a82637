"""Slot TS with features of the items: a new item starts where the features of similar items put it.

Like `slot_ts`, it follows Algorithm 1 of Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with
Thompson Sampling". `inference.sampling.regression` learns the prior of theta, an exponential regression on the
features, together with theta and kappa. Its Langevin steps are those of Roberts and Tweedie (1996).
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels._click_model import NO_FEATURES, ItemFeatures
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule
from slotwise.inference.sampling.regression.regression import Regression, regression_on, take_parameters
from slotwise.inference.sampling.regression.sampler import sample_with_features
from slotwise.jit import kernel
from slotwise.policies._common import choose_by_score, count_display
from slotwise.policies._feature_ensemble import FeatureEnsemble


class Params(NamedTuple):
    """Settings."""

    sweeps: int = 1  # sweeps of the sampler per round
    stride: int = 2  # a sweep updates every stride-th item and position, and begins with a random one
    learn: bool = True  # false: the regression stays as it is in the state
    features: ItemFeatures = NO_FEATURES  # a row of numbers per item; a simulation takes them from its click model


class State(NamedTuple):
    """Counts, and the last sample as a warm start. Without the sample, a short burn-in would be needed again."""

    counts: CountArrays
    theta: Floats
    kappa: Floats
    regression: Regression


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if params.sweeps < 1:
        return f"sweeps = {params.sweeps!r} is not a whole number of at least 1"
    if params.stride < 1:
        return f"stride = {params.stride!r} is not a whole number of at least 1"
    return None


def check_state(state: State) -> str | None:
    """An error message if a state loaded from a file is invalid, else None. The loader checks the counts."""
    for name, values in (("theta", state.theta), ("kappa", state.kappa)):
        if not ((values >= 0.0) & (values <= 1.0)).all():
            return f"{name} is not in [0, 1]"
    return None if (state.regression.scale > 0.0).all() else "the scale of the regression is not above 0"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    regression = regression_on(params.features.values, n_items)
    return State(empty(n_items, n_positions), rng.random(n_items), rng.random(n_positions), regression)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same state with more items and positions. The next sweep draws the regression and the new values again."""
    theta, kappa = rng.random(n_items), rng.random(n_positions)
    copy(state.theta, theta[: state.theta.size])
    copy(state.kappa, kappa[: state.kappa.size])
    regression = regression_on(params.features.values, n_items)
    take_parameters(regression, state.regression)
    return State(grown(state.counts, n_items, n_positions), theta, kappa, regression)


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Draw (theta, kappa) from the posterior."""
    last_theta, last_kappa = state.theta, state.kappa
    schedule = Schedule(params.sweeps, params.stride, SLICE_EVERY, 0, params.learn)
    sample_with_features(state.counts, last_theta, last_kappa, state.regression, schedule, rng)
    copy(last_theta, theta)
    copy(last_kappa, kappa)


choose = choose_by_score(__name__)  # the best display under a posterior draw (Alg. 1)
update = count_display(__name__)
ENSEMBLE = FeatureEnsemble()
