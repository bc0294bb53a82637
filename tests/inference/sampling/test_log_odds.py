"""The random walk on log-odds follows the posterior, whatever the counts."""

import itertools

import numpy as np
import pytest

from tests.inference.sampling.law_checks import CORRELATED, correlations, disagreements
from tests.inference.sampling.posterior_cases import COUNTS_2X2, ENDS, FIRST, LOG_ODDS_CASES, NONE, Case, walked
from tests.inference.sampling.reference_chains import BROKEN_LOG_ODDS, LOG_ODDS, PLAIN_LOG_ODDS, Step

CONTROLS = ["nothing shown", "few, kappa_1 = 1", "near one"]


@pytest.mark.parametrize("case", LOG_ODDS_CASES.values(), ids=LOG_ODDS_CASES)
def test_thinned_draws_follow_the_exact_posterior(case: Case) -> None:
    """Law: the exact posterior, each theta and each free kappa by its mean, its standard deviation and K-S.

    4,000 to 20,000 draws, thinned until their correlations are below 0.05. Thresholds: six standard errors, and
    the K-S distance of probability 1e-7 (0.048 for 4,000 draws). 47 variables, 141 comparisons: false alarms 5e-6.
    """
    theta, kappa = case.chain(LOG_ODDS, seed=1)
    assert correlations(theta, kappa, case.law, case.free_from).max() < CORRELATED
    assert not disagreements(theta, kappa, case.law, case.free_from)


@pytest.mark.parametrize("name", CONTROLS)
@pytest.mark.parametrize("step", BROKEN_LOG_ODDS, ids=[step.defect.name for step in BROKEN_LOG_ODDS])
def test_without_the_jacobian_it_does_not(step: Step, name: str) -> None:
    """The negative control."""
    case = LOG_ODDS_CASES[name]
    assert disagreements(*case.chain(step, seed=1), case.law, case.free_from)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_plain_reading_with_the_jacobian_does(name: str) -> None:
    """So that the control is about its defect alone."""
    case = LOG_ODDS_CASES[name]
    assert not disagreements(*case.chain(PLAIN_LOG_ODDS, seed=1), case.law, case.free_from)


@pytest.mark.parametrize("counts", COUNTS_2X2.values(), ids=COUNTS_2X2)
@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_a_chain_started_at_an_end_moves(counts: tuple[list[list[int]], list[list[int]]], free_from: int) -> None:
    """Every theta and every kappa at exactly 0 or exactly 1: after 1,000 sweeps all are elsewhere.

    Widths from 0.3 to 300: the way back from an end is 35 long, so that one of 0.01 needs millions of sweeps.
    """
    for (theta_at, kappa_at), sigma in itertools.product(ENDS, (0.3, 1.0, 3.0, 30.0, 300.0)):
        theta, kappa = walked(LOG_ODDS, *counts, free_from, sigma, 1000, theta_at, kappa_at)
        assert (np.abs(theta - theta_at) > 1e-6).all(), (theta_at, kappa_at, sigma)
        assert (np.abs(kappa - kappa_at) > 1e-6)[free_from:].all(), (theta_at, kappa_at, sigma)


@pytest.mark.parametrize("times", [1.0, 1e6, 1e12])
@pytest.mark.parametrize("counts", COUNTS_2X2.values(), ids=COUNTS_2X2)
def test_draws_are_never_outside_and_never_nan(counts: tuple[list[list[int]], list[list[int]]], times: float) -> None:
    clicks, skips = times * np.array(counts[0]), times * np.array(counts[1])
    for ends, sigma, free_from in itertools.product(
        [*ENDS, (0.5, 0.5)], (1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e300), (FIRST, NONE)
    ):
        theta, kappa = walked(LOG_ODDS, clicks, skips, free_from, sigma, 20, *ends)
        assert ((theta >= 0) & (theta <= 1)).all(), (ends, sigma)
        assert ((kappa >= 0) & (kappa <= 1)).all(), (ends, sigma)
