"""The mixing sampler follows the posterior for all counts and priors."""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.artanh_series import beyond_first, cube_root, remainder
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY
from tests.inference.sampling.distribution_checks import CORRELATED, correlations, disagreements
from tests.inference.sampling.posterior_cases import (
    COUNTS_2X2,
    DATA,
    ENDS,
    FIRST,
    MIXING_CASES,
    NONE,
    Case,
    last_state,
    near_ends,
)
from tests.inference.sampling.reference_chains import (
    BROKEN_MIXING,
    MIXING,
    PLAIN_MIXING,
    ChainRun,
    Defect,
    Step,
    record,
)

CONTROLS = ["few, kappa_1 = 1", "few", "near zero"]
BROKEN = [
    (step, name)
    for step, name in itertools.product(BROKEN_MIXING, CONTROLS)
    if not (step.defect == Defect.WRONG_EXPONENT and "kappa_1" in name)  # with kappa_1 = 1 the scale is fixed
]


@pytest.mark.parametrize("case", MIXING_CASES.values(), ids=MIXING_CASES)
def test_draws_follow_the_exact_posterior(case: Case) -> None:
    """Law: the exact posterior. Each theta and free kappa is compared by mean, standard deviation and K-S.

    20,000 draws. Between two draws are four full sweeps and four sweeps of half the coordinates, so correlations are
    below 0.05. Thresholds: six standard errors, and the K-S distance of probability 1e-7 (0.022). 132 variables, 396
    comparisons: false alarms 2e-5.
    """
    theta, kappa = case.chain(MIXING, seed=1)
    assert correlations(theta, kappa, case.law, case.free_from).max() < CORRELATED
    assert not disagreements(theta, kappa, case.law, case.free_from)


@pytest.mark.parametrize(("step", "name"), BROKEN, ids=[f"{step.defect.name}-{name}" for step, name in BROKEN])
def test_draws_of_a_broken_move_do_not_follow_the_posterior(step: Step, name: str) -> None:
    """The negative controls: one of the three moves has a wrong ratio, the two others are correct."""
    case = MIXING_CASES[name]
    assert disagreements(*case.chain(step, seed=1, draws=6000), case.law, case.free_from)


@pytest.mark.parametrize("name", CONTROLS)
def test_the_plain_implementation_follows_the_posterior(name: str) -> None:
    """Only the defects make the negative controls fail."""
    case = MIXING_CASES[name]
    assert not disagreements(*case.chain(PLAIN_MIXING, seed=1, draws=6000), case.law, case.free_from)


def test_a_wrong_prior_is_detected() -> None:
    """The negative control of the cases with a Beta prior: draws under Beta(2, 3), the law under a uniform prior."""
    case, law = MIXING_CASES["few, Beta(2, 3)"], MIXING_CASES["few"].law
    assert disagreements(*case.chain(MIXING, seed=1), law, NONE)


@pytest.mark.parametrize("counts", COUNTS_2X2.values(), ids=COUNTS_2X2)
@pytest.mark.parametrize("free_from", [FIRST, NONE])
def test_a_chain_started_at_an_end_moves(counts: tuple[list[list[int]], list[list[int]]], free_from: int) -> None:
    """Every theta and every kappa starts at exactly 0 or 1: after 30 sweeps all have moved away, under every prior."""
    priors = ((1.0, 1.0), (2.0, 3.0))
    for (theta_start, kappa_start), prior, learnt, slice_every in itertools.product(
        ENDS, priors, (False, True), (1, SLICE_EVERY)
    ):
        theta, kappa = last_state(MIXING, *counts, free_from, slice_every, 30, theta_start, kappa_start, prior, learnt)
        assert (np.abs(theta - theta_start) > 1e-6).all(), (theta_start, kappa_start, prior)
        assert (np.abs(kappa - kappa_start) > 1e-6)[free_from:].all(), (theta_start, kappa_start, prior)


@pytest.mark.parametrize("slice_every", [1, SLICE_EVERY])
def test_a_chain_leaves_the_wrong_end_with_1e12_counts(slice_every: int) -> None:
    theta, _ = last_state(MIXING, np.full((2, 2), 1e12), np.zeros((2, 2)), FIRST, slice_every, 100, 0.0, 1.0)
    assert (theta > 1 - 1e-6).all()
    theta, _ = last_state(MIXING, np.zeros((2, 2)), np.full((2, 2), 1e12), FIRST, slice_every, 100, 1.0, 1.0)
    assert (theta < 1e-6).all()


@pytest.mark.parametrize(("slice_every", "sweeps"), [(1, 8), (SLICE_EVERY, 600)])
def test_draws_are_always_in_the_unit_interval_and_always_move(slice_every: int, sweeps: int) -> None:
    """150 random designs of 1 x 1 to 4 x 4, connected or not: counts of 0.1 to 1e12, starts at and near the ends.

    A chain that starts far from the mode moves only by a slice step. One step in 32 is a slice step, and 450 steps
    include none with probability 6e-7.
    """
    rng = np.random.default_rng(5)
    for _ in range(150):
        n_items, n_positions = rng.integers(1, 5, size=2)
        counts = Counts(
            _random_counts(rng, (n_items, n_positions)), _random_counts(rng, (n_items, n_positions))
        ).arrays()
        theta, kappa = near_ends(rng, (2, n_items)), near_ends(rng, (2, n_positions))
        beta, free_from, learnt = 1 / (1 - rng.random((2, 2))), int(rng.integers(2)), bool(rng.integers(2))
        kappa[:, :free_from] = 1
        before = theta.copy(), kappa.copy()
        labels = components(counts) if rng.random() < 0.5 else None
        run = ChainRun(free_from, (slice_every,), sweeps, learnt, restart=True, components=labels)
        record(MIXING, counts, run, rng, theta, kappa, beta)
        for values, start, first in ((theta, before[0], 0), (kappa, before[1], free_from)):
            assert ((values >= 0) & (values <= 1)).all(), (counts, values)
            assert (values != start)[:, first:].all(), (counts, values)
        assert (beta >= 1).all(), beta
        assert (kappa[:, :free_from] == 1).all()


def _random_counts(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    whole = rng.random() < 0.5
    counts = 10 ** rng.uniform(-1, rng.choice([2, 6, 12]), size=shape) * (rng.random(shape) < rng.uniform(0.2, 1.0))
    return np.round(counts) if whole else counts


def test_the_error_of_the_artanh_series_is_within_its_bound() -> None:
    """log(u/v) = 2 artanh(z) by three terms and a bound of the remainder. Tests of the law would miss a wrong bound."""
    for z in 10 ** np.linspace(-2, np.log10(0.7), 50):
        error = 2 * np.arctanh(z) / z - 2 * (1 + beyond_first(z * z))
        assert -1e-15 <= error <= remainder(z * z) + 1e-15
        assert error > 0.5 * remainder(z * z) - 1e-14  # the bound is tight


def test_cube_roots() -> None:
    """To nine digits; close to 1, where narrow conditionals need it, to nearly full precision."""
    for r in [*10 ** np.linspace(-190, 5, 99), *np.linspace(0.4, 2.2, 99)]:
        assert cube_root(r) == pytest.approx(np.cbrt(r), rel=1e-9)
    for step in 10 ** np.linspace(-9, -3, 50):
        assert cube_root(1 + step) == pytest.approx(np.cbrt(1 + step), rel=1e-15)


def _states(sweeps: int) -> list[list[float]]:
    """The states of chains after this number of sweeps: theta, kappa and the prior."""
    states = []
    for data in DATA.values():
        shape = data.clicks.shape
        theta, kappa, beta = np.full((1, shape[0]), 0.3), np.full((1, shape[1]), 1.0), np.full((1, 2), 1.5)
        counts, rng = Counts(data.clicks, data.skips).arrays(), np.random.default_rng(11)
        record(MIXING, counts, ChainRun(data.free_from, (SLICE_EVERY,), sweeps, learnt=True), rng, theta, kappa, beta)
        states.append([*theta[0], *kappa[0], *beta[0]])
    return states


def test_plain_python_and_compiled_code_give_identical_states() -> None:
    script = (
        "import json; from tests.inference.sampling.test_mixing_sampler import _states; print(json.dumps(_states(30)))"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    root = Path(__file__).parents[3]
    plain = subprocess.run([sys.executable, "-c", script], env=environment, cwd=root, capture_output=True, check=True)
    assert json.loads(plain.stdout) == _states(30)
