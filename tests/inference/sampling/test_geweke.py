"""Geweke's joint test: parameters and clicks are drawn alternately, and the parameters must follow the prior.

If theta and kappa follow the prior, and the clicks follow theta and kappa, then theta and kappa still follow the prior
after any number of steps that leave the posterior invariant. With a step that is wrong for some counts, they do not.
"""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import beta

from slotwise.checks import Floats
from slotwise.counts import CountArrays, Counts
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY
from tests.inference.sampling.distribution_checks import (
    CORRELATED,
    STANDARD_ERRORS,
    correlations,
    disagreements,
    standard_errors,
)
from tests.inference.sampling.exact_posterior import Exact, exact
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
N_DRAWS, FEWER_DRAWS = 10_000, 3000
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
    if not (step.defect == Defect.WRONG_EXPONENT and free_from == FIRST)  # with kappa_1 = 1 the scale is not drawn
]


def _name(step: Step) -> str:
    return f"{step.kind.name}-{step.defect.name}" if step.defect else step.kind.name


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize("step", [METROPOLIS, LOG_ODDS, MIXING], ids=_name)
def test_parameters_follow_the_prior(step: Step, free_from: int) -> None:
    """Law: uniform and independent; the test compares mean, standard deviation, K-S, and mean products of all pairs.


    10,000 draws, thinned until their correlations are below 0.05. Thresholds: six standard errors, and the K-S
    distance of probability 1e-7 (0.030). 30 comparisons for each sampler: false alarms 3e-6 in all.
    """
    theta, kappa = _joint(step, free_from)
    assert correlations(theta, kappa, UNIFORM[free_from], free_from).max() < CORRELATED
    assert not disagreements(theta, kappa, UNIFORM[free_from], free_from)
    assert not _dependences(theta, kappa, free_from)


@pytest.mark.parametrize(("step", "free_from"), BROKEN, ids=[f"{_name(step)}-{first}" for step, first in BROKEN])
def test_parameters_of_a_broken_step_do_not_follow_the_prior(step: Step, free_from: int) -> None:
    """The negative controls."""
    assert disagreements(*_joint(step, free_from), UNIFORM[free_from], free_from)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize("step", [PLAIN_METROPOLIS, PLAIN_LOG_ODDS, PLAIN_MIXING], ids=_name)
def test_parameters_of_the_plain_step_without_a_defect_follow_the_prior(step: Step, free_from: int) -> None:
    assert not disagreements(*_joint(step, free_from, FEWER_DRAWS), UNIFORM[free_from], free_from)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_a_learnt_prior_follows_its_hyperprior(free_from: int) -> None:
    """Law: 1/a and 1/b are uniform, and theta ~ Beta(a, b), so that its CDF at theta is uniform; all are independent.

    Draws and thresholds are as above. There are 58 comparisons for both references together; false alarms 3e-6.
    """
    levels, kappa = _hierarchical(MIXING, free_from)
    assert correlations(levels, kappa, LEVELS[free_from], free_from).max() < CORRELATED
    assert not disagreements(levels, kappa, LEVELS[free_from], free_from)
    assert not _dependences(levels, kappa, free_from)


def test_a_prior_learnt_without_the_first_item_is_detected() -> None:
    """The negative control, and the same step without the defect."""
    assert disagreements(*_hierarchical(ITEM_FORGOTTEN, FIRST, FEWER_DRAWS), LEVELS[FIRST], FIRST)
    assert not disagreements(*_hierarchical(PLAIN_METROPOLIS, FIRST, FEWER_DRAWS), LEVELS[FIRST], FIRST)


def _joint(step: Step, free_from: int, draws: int = N_DRAWS) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(8)
    theta, kappa = rng.random((draws, N)), rng.random((draws, L))
    kappa[0, :free_from] = 1
    record(step, _no_counts(), ChainRun(free_from, *WIDTHS_AND_PASSES[step.kind], displays=DISPLAYS), rng, theta, kappa)
    return theta, kappa


def _hierarchical(step: Step, free_from: int, draws: int = N_DRAWS) -> tuple[Floats, Floats]:
    """The CDF of Beta(a, b) at each theta, then 1/a and 1/b; and kappa."""
    rng = np.random.default_rng(9)
    priors = 1 / (1 - rng.random((draws, 2)))
    theta, kappa = rng.beta(*priors[0], size=(draws, N)), rng.random((draws, L))
    kappa[0, :free_from] = 1
    widths, passes = WIDTHS_AND_PASSES[step.kind]
    chain_run = ChainRun(free_from, widths, 4 * passes, learnt=True, displays=DISPLAYS)
    record(step, _no_counts(), chain_run, rng, theta, kappa, priors)
    return np.hstack([beta.cdf(theta, priors[:, :1], priors[:, 1:]), 1 / priors]), kappa


def _no_counts() -> CountArrays:
    return Counts(np.zeros((N, L)), np.zeros((N, L))).arrays()


def _dependences(theta: Floats, kappa: Floats, free_from: int) -> list[tuple[int, int]]:
    variables = np.hstack([theta, kappa[:, free_from:]]) - 0.5
    return [
        (a, b)
        for a, b in combinations(range(variables.shape[1]), 2)
        if abs(standard_errors(variables[:, a] * variables[:, b])) > STANDARD_ERRORS
    ]
