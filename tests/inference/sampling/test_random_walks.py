"""Both random walks, the paper's and the one on log-odds, follow the posterior for all counts."""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

from tests.inference.sampling.distribution_checks import CORRELATED, correlations, disagreements
from tests.inference.sampling.posterior_cases import (
    COUNTS_2X2,
    ENDS,
    FIRST,
    LOG_ODDS_CASES,
    METROPOLIS_CASES,
    NONE,
    Case,
    last_state,
)
from tests.inference.sampling.reference_chains import (
    BROKEN_LOG_ODDS,
    BROKEN_METROPOLIS,
    LOG_ODDS,
    METROPOLIS,
    PLAIN_LOG_ODDS,
    PLAIN_METROPOLIS,
    Step,
)


class Walk(NamedTuple):
    """A sampler, with the cases that it is tested on."""

    step: Step
    plain: Step  # the same walk in a plain implementation
    broken: list[Step]  # plain implementations with a defect
    cases: dict[str, Case]
    controls: list[str]  # the cases in which the defects are visible
    widths_from_ends: list[float]
    sweeps_from_ends: int
    extreme_widths: tuple[float, ...]


WALKS = {
    "metropolis": Walk(
        METROPOLIS,
        PLAIN_METROPOLIS,
        BROKEN_METROPOLIS,
        METROPOLIS_CASES,
        ["few, kappa_1 = 1", "few", "near zero, kappa_1 = 1"],
        [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1000.0],
        300,
        (1e-300, 1e-17, 1e-12, 1e-6, 1e-3, 0.4, 1.0, 1e3, 1e6, 1e300),
    ),
    "log_odds": Walk(
        LOG_ODDS,
        PLAIN_LOG_ODDS,
        BROKEN_LOG_ODDS,
        LOG_ODDS_CASES,
        ["no counts", "few, kappa_1 = 1", "near one"],
        [0.3, 1.0, 3.0, 30.0, 300.0],  # the way back from an end is 35 long: a width of 0.01 needs millions of sweeps
        1000,
        (1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e300),
    ),
}
EVERY_CASE = [
    pytest.param(walk.step, case, id=f"{name}-{case_name}")
    for name, walk in WALKS.items()
    for case_name, case in walk.cases.items()
]
EVERY_CONTROL = [
    pytest.param(walk, walk.cases[control], id=f"{name}-{control}")
    for name, walk in WALKS.items()
    for control in walk.controls
]
every_walk = pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS)
every_counts = pytest.mark.parametrize("counts", COUNTS_2X2.values(), ids=COUNTS_2X2)


@pytest.mark.parametrize(("step", "case"), EVERY_CASE)
def test_thinned_draws_follow_the_exact_posterior(step: Step, case: Case) -> None:
    """Law: the exact posterior. Each theta and free kappa is compared by mean, standard deviation and K-S.

    3,000 to 20,000 draws, thinned until their correlations are below 0.05. Thresholds: six standard errors, and
    the K-S distance of probability 1e-7 (0.048 for 4,000 draws). False alarms: 1e-5 for the paper's walk, with 74
    variables and 222 comparisons, and 5e-6 for the walk on log-odds, with 47 variables and 141 comparisons.
    """
    theta, kappa = case.chain(step, seed=1)
    assert correlations(theta, kappa, case.law, case.free_from).max() < CORRELATED
    assert not disagreements(theta, kappa, case.law, case.free_from)


@pytest.mark.parametrize(
    ("step", "case"),
    [
        pytest.param(step, walk.cases[control], id=f"{step.defect.name}-{control}")
        for walk in WALKS.values()
        for step in walk.broken
        for control in walk.controls
    ],
)
def test_a_broken_step_does_not_follow_it(step: Step, case: Case) -> None:
    """The negative controls: the same check detects a wrong ratio, and a missing truncation or Jacobian correction."""
    assert disagreements(*case.chain(step, seed=1), case.law, case.free_from)


@pytest.mark.parametrize(("walk", "case"), EVERY_CONTROL)
def test_the_step_that_was_broken_follows_it_when_whole(walk: Walk, case: Case) -> None:
    """Only the defects make the negative controls fail."""
    assert not disagreements(*case.chain(walk.plain, seed=1), case.law, case.free_from)


@every_walk
@every_counts
@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_a_chain_started_at_an_end_moves(
    walk: Walk, counts: tuple[list[list[int]], list[list[int]]], free_from: int
) -> None:
    """Every theta and kappa starts at exactly 0 or 1. After a few hundred sweeps, all have moved away."""
    for (theta_at, kappa_at), sigma in itertools.product(ENDS, walk.widths_from_ends):
        theta, kappa = last_state(walk.step, *counts, free_from, sigma, walk.sweeps_from_ends, theta_at, kappa_at)
        assert (np.abs(theta - theta_at) > 1e-6).all(), (theta_at, kappa_at, sigma)
        assert (np.abs(kappa - kappa_at) > 1e-6)[free_from:].all(), (theta_at, kappa_at, sigma)


@every_walk
@every_counts
@pytest.mark.parametrize("times", [1.0, 1e6, 1e12])
def test_draws_are_never_outside_and_never_nan(
    walk: Walk, counts: tuple[list[list[int]], list[list[int]]], times: float
) -> None:
    clicks, skips = times * np.array(counts[0]), times * np.array(counts[1])
    starts = [*ENDS, (0.5, 0.5)]
    for start, sigma, free_from in itertools.product(starts, walk.extreme_widths, (FIRST, NONE)):
        theta, kappa = last_state(walk.step, clicks, skips, free_from, sigma, 20, *start)
        assert ((theta >= 0) & (theta <= 1)).all(), (start, sigma)
        assert ((kappa >= 0) & (kappa <= 1)).all(), (start, sigma)
