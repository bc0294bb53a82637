"""The draws of a page whose items have features. A draw also has a regression, from which new items start."""

from typing import Any, NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays
from slotwise.inference.sampling.draw_budget import CELLS_SWEPT, DRAWS, number_of_draws, steps
from slotwise.inference.sampling.ensemble import BURN_IN, LONG_BURN_IN
from slotwise.inference.sampling.ensemble_draws import EnsembleDraws
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY, Schedule
from slotwise.inference.sampling.regression.feature_draws import record_with_features
from slotwise.inference.sampling.regression.regression import Regression, regression_on, unrotated_effects
from slotwise.inference.sampling.template_draws import TemplateDraws

_LEAST_BURN_IN = 20  # sweeps of a chain that starts anywhere, on a very large page


class FeatureMemory(NamedTuple):
    """The last state of a chain. Thetas and kappas are NaN where items and positions are new."""

    theta: Floats
    kappa: Floats
    intercept: float  # eta at the centre
    centre: Floats  # d
    effects: Floats  # d
    scale: float


class FeatureEnsemble:
    """Draws from the posterior in which thetas scatter around a regression on features: `params.features`."""

    takes_shared_draws = False
    shares_prior = True
    planner = None

    def draw(
        self, params: Any, counts: CountArrays, memory: FeatureMemory | None, far: bool, rng: np.random.Generator
    ) -> tuple[EnsembleDraws, FeatureMemory]:
        """Continue the chain in `memory`."""
        n_items, n_positions = counts.clicks.shape
        regression = regression_on(params.features.values, n_items)
        theta, kappa = _start(memory, regression, n_positions, rng)
        cells = n_items * n_positions
        settling, slice_every = BURN_IN, SLICE_EVERY
        if far or memory is None:
            settling, slice_every = max(_LEAST_BURN_IN, min(LONG_BURN_IN, CELLS_SWEPT // cells)), 1
        draws = EnsembleDraws.empty(number_of_draws(DRAWS, cells), n_items, n_positions, regression.parameters.size)
        for step in steps(settling, cells):
            schedule = Schedule(step, 1, slice_every, 0, params.learn)
            record_with_features(counts, theta, kappa, regression, schedule, draws.rows(0, 1), rng)
        done = 0
        for step in steps(len(draws.theta), cells * params.sweeps):
            schedule = Schedule(params.sweeps, 1, SLICE_EVERY, 0, params.learn)
            record_with_features(counts, theta, kappa, regression, schedule, draws.rows(done, done + step), rng)
            done += step
        return draws, _memory(theta, kappa, regression)

    def select(self, memory: FeatureMemory | None, rows: Ints, columns: Ints) -> FeatureMemory | None:
        """The chain with these items and positions. It is NaN where they are new."""
        if memory is None:
            return None
        theta = np.where(rows < 0, np.nan, memory.theta[rows])
        return memory._replace(theta=theta, kappa=np.where(columns < 0, np.nan, memory.kappa[columns]))

    def draw_given(
        self, params: Any, counts: CountArrays, shared: TemplateDraws, rng: np.random.Generator
    ) -> EnsembleDraws:
        """Never called: the pages of a template have different features."""
        raise NotImplementedError


def _start(
    memory: FeatureMemory | None, regression: Regression, n_positions: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The thetas and kappas that a chain starts from. The regression gets its parameters."""
    theta, kappa = rng.random(len(regression.features)), rng.random(n_positions)
    if memory is not None:
        for values, known in ((theta, memory.theta), (kappa, memory.kappa)):
            values[:] = np.where(np.isnan(known), values, known)
        regression.parameters[0], regression.parameters[1:] = memory.intercept, memory.effects
        regression.centre[:], regression.scale[0] = memory.centre, memory.scale
    return theta, kappa


def _memory(theta: Floats, kappa: Floats, regression: Regression) -> FeatureMemory:
    effects, intercept = unrotated_effects(regression), float(regression.parameters[0])
    return FeatureMemory(theta, kappa, intercept, regression.centre, effects, float(regression.scale[0]))
