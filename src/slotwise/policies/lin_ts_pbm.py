"""LinTS-PBM: Thompson sampling for the position-based model, with attractiveness a linear function of features.

Ermis, Ernst, Stein and Zappella 2020, "Learning to Rank in the Position Based Model with Bandit Feedback".
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels._click_model import NO_FEATURES, NO_KAPPA, ItemFeatures, TrueKappa
from slotwise.copying import copy
from slotwise.jit import kernel
from slotwise.policies._linear_model import LinearModel, draw_weights, factorise, fit, no_data, observe_item, scores

NEEDS_FEATURES = True
_GROWTH = 1.03  # kappa is estimated again when the rounds have grown by this factor
_PASSES = 5  # of the estimation, each of which begins with the last estimate
_VARIANCE = 0.25  # of the prior of each kappa, around 1: late positions are tried, until clicks tell


class KappaKnowledge(IntEnum):
    """Where kappa comes from: the true model, or an estimate."""

    ORACLE = 0
    LEARNT = 1


class Params(NamedTuple):
    """Settings."""

    kappa: KappaKnowledge = KappaKnowledge.LEARNT
    sigma: float = 0.5  # the standard deviation of a click, as the regression assumes it
    features: ItemFeatures = NO_FEATURES  # a simulation takes them from its click model
    true_kappa: TrueKappa = NO_KAPPA  # that of the click model; only with kappa = oracle, the policy reads it


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if not 0.0 < params.sigma < math.inf:
        return f"sigma = {params.sigma!r} is not a number above 0"
    if params.kappa == KappaKnowledge.ORACLE and params.true_kappa.values.size == 0:
        return "kappa = oracle needs a click model with kappas; choose kappa = learnt"
    return None


class Shown(NamedTuple):
    """What was shown and clicked at each position, summed over all rounds."""

    products: Floats  # L x d x d: the sum of the outer products of the features
    clicked: Floats  # L x d: the sum of the features of what was clicked


class State(NamedTuple):
    """The regression for the current kappas, what a new estimate of them needs, and the draws of the last round."""

    model: LinearModel
    kappa: Floats
    shown: Shown
    rounds: Floats  # two numbers: the rounds so far, and the round after which kappa is estimated again
    weights: Floats
    draws: Floats


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round. The prior of the weights is standard normal."""
    d = params.features.values.shape[1]
    kappa = np.ones(n_positions)
    if params.kappa == KappaKnowledge.ORACLE:
        copy(params.true_kappa.values, kappa)
    shown = Shown(np.zeros((n_positions, d, d)), np.zeros((n_positions, d)))
    return State(no_data(d, 1.0), kappa, shown, np.array([0.0, 10.0]), np.zeros(d), np.zeros(n_items))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Draw the weights of the features, and show the best display under this draw and the current kappas."""
    draw_weights(state.model, rng, state.weights)
    scores(params.features.values, state.weights, state.draws)
    arrange(state.draws, state.kappa, display)


@kernel(inline=True)
def update(params: Params, state: State, display: Ints, clicks: Ints) -> None:
    """Learn from all positions: a regression of the clicks on kappa times the features."""
    features, kappa, rounds = params.features.values, state.kappa, state.rounds
    weight = 1.0 / (params.sigma * params.sigma)
    for position in range(display.size):
        clicked = 1.0 if clicks[position] > 0 else 0.0
        observe_item(state.model, features, display[position], kappa[position], weight, clicked)
    rounds[0] += 1.0
    if params.kappa == KappaKnowledge.LEARNT:
        remember(state.shown, features, display, clicks)
        if rounds[0] >= rounds[1]:
            rounds[1] = _GROWTH * rounds[0]
            estimate(state, params.sigma)
            return
    fit(state.model)


@kernel
def remember(shown: Shown, features: Floats, display: Ints, clicks: Ints) -> None:
    """Add a round to the sums."""
    products, clicked = shown.products, shown.clicked
    for position in range(display.size):
        item = display[position]
        for i in range(features.shape[1]):
            if clicks[position] > 0:
                clicked[position, i] += features[item, i]
            for k in range(features.shape[1]):
                products[position, i, k] += features[item, i] * features[item, k]


@kernel
def estimate(state: State, sigma: float) -> None:
    """Fit the weights and the kappas in turn by least squares. The largest kappa is 1.

    Ermis et al. estimate kappa by expectation maximisation; least squares fits the regression that follows.
    """
    model, kappa, shown = state.model, state.kappa, state.shown
    weight, n_features = 1.0 / (sigma * sigma), model.sums.size
    products, clicked, sums, mean = shown.products, shown.clicked, model.sums, model.mean
    for _ in range(_PASSES):
        for i in range(n_features):
            sums[i] = 0.0
            for k in range(n_features):
                model.factor[i, k] = 1.0 if i == k else 0.0
            for position in range(kappa.size):
                sums[i] += weight * kappa[position] * clicked[position, i]
                for k in range(n_features):
                    model.factor[i, k] += weight * kappa[position] ** 2 * products[position, i, k]
        factorise(model.factor)
        fit(model)
        largest = 1e-9
        for position in range(kappa.size):
            looked, found = 1.0 / _VARIANCE, 1.0 / _VARIANCE
            for i in range(n_features):
                found += weight * mean[i] * clicked[position, i]
                for k in range(n_features):
                    looked += weight * mean[i] * products[position, i, k] * mean[k]
            kappa[position] = max(found / looked, 0.0)
            largest = max(largest, kappa[position])
        for position in range(kappa.size):
            kappa[position] /= largest
