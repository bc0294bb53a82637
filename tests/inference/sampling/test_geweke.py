"""Geweke's joint test: parameters and clicks are drawn alternately, and the parameters must follow the prior.

If theta and kappa follow the prior, and the clicks follow theta and kappa, then theta and kappa still follow the prior
after any number of steps that leave the posterior invariant. A step that is wrong for some counts drifts away.
"""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import beta

from slotwise.checks import Floats
from slotwise.counts import CountArrays, Counts
from slotwise.inference.sampling.mixing import SLICE_EVERY
from tests.inference.sampling.exact_posterior import Exact, exact
from tests.inference.sampling.law_checks import (
    CORRELATED,
    STANDARD_ERRORS,
    correlations,
    disagreements,
    standard_errors,
)
from tests.inference.sampling.posterior_cases import FIRST, NONE
from tests.inference.sampling.reference_chains import (
    BROKEN_LOG_ODDS,
    BROKEN_METROPOLIS,
    BROKEN_MIXING,
    ITEM_FORGOTTEN,
    LOG_ODDS,
    METROPOLIS,
    MIXING,
    PLAIN_LOG_ODDS,
    PLAIN_METROPOLIS,
    PLAIN_MIXING,
    ChainRun,
    Defect,
    Kind,
    Step,
    record,
)

N, L = 2, 2
DRAWS, FEWER = 10_000, 3000
DISPLAYS = np.array([[3.0, 5.0], [1.0, 4.0]])
UNIFORM = {free_from: exact(np.zeros((N, L)), np.zeros((N, L)), free_from) for free_from in (FIRST, NONE)}
LEVELS = {free_from: Exact(UNIFORM[free_from].theta * 2, UNIFORM[free_from].kappa) for free_from in (FIRST, NONE)}
WIDTHS_AND_PASSES: dict[Kind, tuple[tuple[float, ...], int]] = {  # widths, and passes at each
    Kind.METROPOLIS: ((0.3, 0.6), 16),
    Kind.PLAIN_METROPOLIS: ((0.3, 0.6), 16),
    Kind.LOG_ODDS: ((1.5, 3.0), 16),
    Kind.PLAIN_LOG_ODDS: ((1.5, 3.0), 16),
    Kind.MIXING: ((SLICE_EVERY,), 16),
    Kind.PLAIN_MIXING: ((1.0,), 16),
}
BROKEN = [
    (step, free_from)
    for step, free_from in product([*BROKEN_METROPOLIS, *BROKEN_LOG_ODDS, *BROKEN_MIXING], (FIRST, NONE))
    if not (step.defect == Defect.WRONG_EXPONENT and free_from == FIRST)  # where there is no scale to draw
]


def _name(step: Step) -> str:
    return f"{step.kind.name}-{step.defect.name}" if step.defect else step.kind.name


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize("step", [METROPOLIS, LOG_ODDS, MIXING], ids=_name)
def test_the_prior_comes_out_again(step: Step, free_from: int) -> None:
    """Law: uniform and independent, by mean, standard deviation, K-S, and the mean product of every pair.

    10,000 draws, thinned until their correlations are below 0.05; thresholds of six standard errors and of
    the K-S distance of probability 1e-7 (0.030). 30 comparisons for each sampler: false alarms 3e-6 in all.
    """
    theta, kappa = _joint(step, free_from)
    assert correlations(theta, kappa, UNIFORM[free_from], free_from).max() < CORRELATED
    assert not disagreements(theta, kappa, UNIFORM[free_from], free_from)
    assert not _dependences(theta, kappa, free_from)


@pytest.mark.parametrize(("step", "free_from"), BROKEN, ids=[f"{_name(step)}-{first}" for step, first in BROKEN])
def test_it_does_not_with_a_broken_step(step: Step, free_from: int) -> None:
    """The negative controls."""
    assert disagreements(*_joint(step, free_from), UNIFORM[free_from], free_from)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize("step", [PLAIN_METROPOLIS, PLAIN_LOG_ODDS, PLAIN_MIXING], ids=_name)
def test_it_does_with_the_same_step_when_whole(step: Step, free_from: int) -> None:
    assert not disagreements(*_joint(step, free_from, FEWER), UNIFORM[free_from], free_from)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_the_prior_of_a_prior_comes_out_again(free_from: int) -> None:
    """Law: 1/a and 1/b uniform, theta ~ Beta(a, b), so that theta's level in it is uniform; and all independent.

    Draws, thresholds: as above. 58 comparisons in both references: false alarms 3e-6.
    """
    levels, kappa = _hierarchical(MIXING, free_from)
    assert correlations(levels, kappa, LEVELS[free_from], free_from).max() < CORRELATED
    assert not disagreements(levels, kappa, LEVELS[free_from], free_from)
    assert not _dependences(levels, kappa, free_from)


def test_it_does_not_when_an_item_is_forgotten() -> None:
    """The negative control, and the same step when whole."""
    assert disagreements(*_hierarchical(ITEM_FORGOTTEN, FIRST, FEWER), LEVELS[FIRST], FIRST)
    assert not disagreements(*_hierarchical(PLAIN_METROPOLIS, FIRST, FEWER), LEVELS[FIRST], FIRST)


def _joint(step: Step, free_from: int, draws: int = DRAWS) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(8)
    theta, kappa = rng.random((draws, N)), rng.random((draws, L))
    kappa[0, :free_from] = 1
    record(step, _nothing(), ChainRun(free_from, *WIDTHS_AND_PASSES[step.kind], displays=DISPLAYS), rng, theta, kappa)
    return theta, kappa


def _hierarchical(step: Step, free_from: int, draws: int = DRAWS) -> tuple[Floats, Floats]:
    """Levels of theta in its law, then 1/a and 1/b; and kappa."""
    rng = np.random.default_rng(9)
    priors = 1 / (1 - rng.random((draws, 2)))
    theta, kappa = rng.beta(*priors[0], size=(draws, N)), rng.random((draws, L))
    kappa[0, :free_from] = 1
    widths, passes = WIDTHS_AND_PASSES[step.kind]
    chain_run = ChainRun(free_from, widths, 4 * passes, learnt=True, displays=DISPLAYS)
    record(step, _nothing(), chain_run, rng, theta, kappa, priors)
    return np.hstack([beta.cdf(theta, priors[:, :1], priors[:, 1:]), 1 / priors]), kappa


def _nothing() -> CountArrays:
    return Counts(np.zeros((N, L)), np.zeros((N, L))).arrays()


def _dependences(theta: Floats, kappa: Floats, free_from: int) -> list[tuple[int, int]]:
    variables = np.hstack([theta, kappa[:, free_from:]]) - 0.5
    return [
        (a, b)
        for a, b in combinations(range(variables.shape[1]), 2)
        if abs(standard_errors(variables[:, a] * variables[:, b])) > STANDARD_ERRORS
    ]
