"""The power of a test on runs: how often it accepts a claim that is true, and how often one that is false."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats

SAMPLES = 400  # the standard error of a share of this many samples is at most 2.5 %


class World(NamedTuple):
    """Measured runs that are changed so that a claim is true or false."""

    description: str
    change: Callable[[Floats], Floats]


class RunTest(NamedTuple):
    """A test of a claim. Its data has one column for each run. What the rows are depends on the test."""

    holds: Callable[[Floats], bool]
    if_true: World
    if_false: World


class Power(NamedTuple):
    """The share of samples, each of `runs` runs, in which a test accepts the claim."""

    runs: int
    if_true: float
    if_false: float
    as_measured: float  # for the measured runs themselves; near 0 or 1 if another sample would give the same verdict


def power(test: RunTest, rows: Floats) -> Power:
    """The power of a test, by resampling the measured runs. The resampling seed is fixed."""
    runs = rows.shape[1]
    picks = np.random.default_rng(1).integers(0, runs, (SAMPLES, runs))

    def share(world: Floats) -> float:
        return float(np.mean([test.holds(world[:, pick]) for pick in picks]))

    return Power(runs, share(test.if_true.change(rows)), share(test.if_false.change(rows)), share(rows))
