"""Parameters and visitors drawn in turn (Geweke's joint test): the prior must come out again.

If theta and kappa follow the prior and the clicks follow theta and kappa, then after a step that leaves the posterior
as it is they still follow the prior, round after round. A step that is wrong for any counts at all drifts away.
"""

from itertools import combinations

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.counts import Counts

from .cases import FIRST, NONE
from .chains import Step, record
from .exact import exact
from .laws import CORRELATED, STANDARD_ERRORS, correlations, disagreements, standard_errors

N, L, DRAWS = 2, 2, 10_000
SHOWN = np.array([[3.0, 5.0], [1.0, 4.0]])
PRIOR = {free_from: exact(np.zeros((N, L)), np.zeros((N, L)), free_from) for free_from in (FIRST, NONE)}


@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_the_prior_comes_out_again(free_from: int) -> None:
    """Law: uniform and independent, by mean, standard deviation, K-S, and the mean product of every pair.

    10,000 draws, thinned until their correlations are below 0.05; thresholds of six standard errors and of
    the K-S distance of probability 1e-7 (0.030). 30 comparisons in both references: false alarms 1e-6.
    """
    theta, kappa = _joint(Step.SAMPLER, free_from)
    assert correlations(theta, kappa, PRIOR[free_from], free_from).max() < CORRELATED
    assert not disagreements(theta, kappa, PRIOR[free_from], free_from)
    assert not _dependences(theta, kappa, free_from)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize("step", [Step.ONE_MORE_CLICK, Step.SKIPS_FORGOTTEN, Step.NO_CORRECTION])
def test_it_does_not_with_a_broken_step(step: Step, free_from: int) -> None:
    """The negative controls."""
    assert disagreements(*_joint(step, free_from), PRIOR[free_from], free_from)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_it_does_with_the_same_step_when_whole(free_from: int) -> None:
    assert not disagreements(*_joint(Step.PLAIN, free_from), PRIOR[free_from], free_from)


def _joint(step: Step, free_from: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(8)
    theta, kappa = rng.random((DRAWS, N)), rng.random((DRAWS, L))
    kappa[0, :free_from] = 1
    tally = Counts(np.zeros((N, L)), np.zeros((N, L))).tally()
    record(int(step), tally, free_from, np.array([0.3, 0.6]), 16, SHOWN, False, rng, theta, kappa)
    return theta, kappa


def _dependences(theta: Floats, kappa: Floats, free_from: int) -> list[tuple[int, int]]:
    variables = np.hstack([theta, kappa[:, free_from:]]) - 0.5
    return [
        (a, b)
        for a, b in combinations(range(variables.shape[1]), 2)
        if abs(standard_errors(variables[:, a] * variables[:, b])) > STANDARD_ERRORS
    ]
