"""Runs a compiled policy next to a plain-Python implementation, with the same random numbers and visitors."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import slotwise as sw
from slotwise.clickmodels import pbm
from slotwise.policies._policy_module import make_params
from slotwise.simulation.simulate import generators

Plain = Callable[[np.ndarray, np.ndarray, int, np.random.Generator], list[int]]


def best_first(scores: np.ndarray, kappa: np.ndarray) -> list[int]:
    """The items by decreasing score on positions by decreasing kappa; the lower index wins ties."""
    items = sorted(range(len(scores)), key=lambda item: -scores[item])
    display = [0] * len(kappa)
    for rank, position in enumerate(sorted(range(len(kappa)), key=lambda position: -kappa[position])):
        display[position] = items[rank]
    return display


def replay(
    module: ModuleType, plain: Plain, model: sw.PBM, rounds: int, seed: int = 4, **params: Any
) -> list[list[int]]:
    """Displays of the compiled policy, each compared with that of `plain(S, F, t, rng)`."""
    visitors, rng = generators(seed, run=0)
    settings = make_params(module, params, model.arrays())
    state = module.init(settings, model.theta.size, model.kappa.size, rng)
    other_rng = np.random.Generator(np.random.PCG64())
    display, clicks = np.empty(model.kappa.size, np.int64), np.empty(model.kappa.size, np.int64)
    displays = []
    for t in range(1, rounds + 1):
        other_rng.bit_generator.state = rng.bit_generator.state
        expected = plain(state.counts.clicks.copy(), state.counts.skips.copy(), t, other_rng)
        module.choose(settings, state, rng, display)
        assert display.tolist() == list(expected), f"round {t}: {display.tolist()} instead of {list(expected)}"
        pbm.click(model.arrays(), display, visitors, clicks)
        module.update(settings, state, display, clicks)
        displays.append(display.tolist())
    return displays
