"""Common parts of the policies that take kappa from an oracle or plug in an estimate of kappa."""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.estimation.running_estimate import (
    KappaSource,
    RunningEstimate,
    grown_estimate,
    initial_estimate_from,
    kappa_source_error,
)
from slotwise.inference.estimation.svd import Fill
from slotwise.jit import kernel
from slotwise.policies._common import Choose, count_display


class Params(NamedTuple):
    """Settings."""

    model: Model  # the true model; only with kappa = oracle, the policy reads its kappa
    kappa: KappaSource = KappaSource.ORACLE
    fill: Fill = Fill.ONE


class State(NamedTuple):
    """Counts, the estimate of kappa, and the last scores of the items."""

    counts: CountArrays
    estimate: RunningEstimate
    theta: Floats


Init = Callable[[Any, int, int, np.random.Generator], State]
Grow = Callable[[Any, State, int, int, np.random.Generator], State]


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return kappa_source_error(params.kappa, params.model)


def init_with_kappa(policy_name: str) -> Init:
    """Build `init` for the policy with this `__name__`. Its Params must have all fields of this file's Params."""

    @kernel(depends=(sys.modules[policy_name],))
    def init(params: Any, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
        estimate = initial_estimate_from(params.kappa, params.model, n_items, n_positions)
        return State(empty(n_items, n_positions), estimate, np.zeros(n_items))

    return init


def grow_with_kappa(policy_name: str) -> Grow:
    """Build `grow` for the policy with this `__name__`. It keeps what was learnt, and adds items and positions."""

    @kernel(depends=(sys.modules[policy_name],))
    def grow(params: Any, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
        counts = grown(state.counts, n_items, n_positions)
        return State(counts, grown_estimate(state.estimate, n_items, n_positions), np.zeros(n_items))

    return grow


def choose_with_kappa(policy_name: str) -> Choose:
    """Build `choose` for the policy with this `__name__`.

    It shows the best display under the policy's `score` and the estimate of kappa.
    """
    policy = sys.modules[policy_name]

    @kernel(inline=True, depends=(policy,))
    def choose(params: Any, state: State, rng: np.random.Generator, display: Ints) -> None:
        estimate = state.estimate
        policy.score(params, state, rng, state.theta, estimate.kappa)
        arrange(state.theta, estimate.kappa, display)

    return choose


init = init_with_kappa(__name__)
grow = grow_with_kappa(__name__)
update = count_display(__name__)
