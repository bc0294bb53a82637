"""A policy from outside the package that shows the displays of the oracle, but also draws unused random numbers."""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, add, empty
from slotwise.jit import kernel


class Params(NamedTuple):
    model: Model
    wasted: int = 3


class State(NamedTuple):
    counts: CountArrays


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    rng.random()
    return State(empty(n_items, n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: np.ndarray) -> None:
    for _ in range(params.wasted):
        rng.random()
    arrange(params.model.theta, params.model.kappa, display)


@kernel(inline=True)
def update(params: Params, state: State, display: np.ndarray, clicks: np.ndarray) -> None:
    add(state.counts, display, clicks)
