"""The sweeps of a random-walk sampler, for any kind of step."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinates import given_kappa, given_theta
from slotwise.jit import kernel


class RandomWalk(NamedTuple):
    """Settings of a random-walk sampler."""

    sigma: float  # the width of a step
    sweeps: int  # a sweep is one step for every item, then one for every free position
    free_from: int  # the first position whose kappa is not fixed


Sample = Callable[[CountArrays, Floats, Floats, RandomWalk, np.random.Generator], None]


def sample_by_steps(module_name: str) -> Sample:
    """Build the kernel that updates (theta, kappa) in place by sweeps of the module's `step_all`."""
    steps = sys.modules[module_name]  # a closure over the module, not over the kernel (docs/numba.md says why)

    @kernel(inline=True, depends=(steps,))
    def sample(counts: CountArrays, theta: Floats, kappa: Floats, walk: RandomWalk, rng: np.random.Generator) -> None:
        of_theta, of_kappa = given_kappa(counts, kappa), given_theta(counts, theta)
        for _ in range(walk.sweeps):
            steps.step_all(theta, 0, of_theta, walk.sigma, rng)
            steps.step_all(kappa, walk.free_from, of_kappa, walk.sigma, rng)

    return sample
