"""Runs a compiled policy next to a plain-Python implementation that keeps its own state."""

import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, Protocol

import numpy as np
import pytest

from slotwise.clickmodels._click_model import ClickModel
from slotwise.policies._policy_module import make_params
from slotwise.simulation.simulate import generators

LARGE = 1e9  # the bound of what was never observed


class PlainPolicy(Protocol):
    """A slow reading of the pseudo-code. `t` is the round, from 1."""

    def choose(self, t: int, rng: np.random.Generator, /) -> list[int]: ...

    def update(self, display: list[int], clicks: list[int], /) -> None: ...

    def values(self, display: list[int], /) -> list[float]:
        """What is compared: the items, or their scores if equal scores are common."""


def replay(
    module: ModuleType,
    plain_class: Callable[[int, int], PlainPolicy],
    model: ClickModel,
    rounds: int,
    seed: int = 4,
    see_visitor: Callable[[Any], None] = lambda _: None,
    **params: Any,
) -> list[list[int]]:
    """The displays of the compiled policy, each compared with that of the plain one.

    If visitors differ, `see_visitor` is called with the current one before every round.
    """
    visitors, rng = generators(seed, run=0)
    truth, best = model.arrays(), model.best_display()
    settings = make_params(module, params, truth)
    state = module.init(settings, model.n_items, model.n_positions, rng)
    plain, plain_rng = plain_class(model.n_items, model.n_positions), np.random.Generator(np.random.PCG64())
    display, clicks = np.empty(model.n_positions, np.int64), np.empty(model.n_positions, np.int64)
    displays = []
    for t in range(1, rounds + 1):
        if hasattr(truth, "context"):
            model.kernels.draw_context(truth, visitors, best)
            see_visitor(truth)
        plain_rng.bit_generator.state = rng.bit_generator.state
        expected = plain.choose(t, plain_rng)
        module.choose(settings, state, rng, display)
        agrees = plain.values(display.tolist()) == pytest.approx(plain.values(expected), abs=1e-8)
        assert agrees, f"round {t}: {display.tolist()} instead of {expected}"
        model.kernels.click(truth, display, visitors, clicks)
        module.update(settings, state, display, clicks)
        plain.update(display.tolist(), clicks.tolist())
        displays.append(display.tolist())
    return displays


def largest(scores: list[float], number: int) -> list[int]:
    """The indices of the largest scores; the lower index wins ties."""
    return sorted(range(len(scores)), key=lambda k: -scores[k])[:number]


def divergence(p: float, q: float) -> float:
    first = 0.0 if p == 0.0 else math.inf if q == 0.0 else p * math.log(p / q)
    second = 0.0 if p == 1.0 else math.inf if q == 1.0 else (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return first + second


def kl_bound(mean: float, number: float, threshold: float) -> float:
    """max{q >= mean : number d(mean, q) <= threshold}, by bisection."""
    low, high = mean, 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if number * divergence(mean, middle) <= threshold else (low, middle)
    return low
