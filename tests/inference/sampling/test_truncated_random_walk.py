"""The paper's random walk: it follows the ridge of the posterior, and decides exactly as Algorithm 2.

test_random_walks has the tests that it shares with the walk on log-odds.
"""

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.inference.sampling.truncated_random_walk import log_bound
from slotwise.jit import kernel
from tests.inference.sampling.distribution_checks import disagreements
from tests.inference.sampling.posterior_cases import (
    DATA,
    FIRST,
    METROPOLIS_CASES,
    NONE,
    Case,
    Data,
    last_state,
    near_ends,
)
from tests.inference.sampling.reference_chains import (
    METROPOLIS,
    PLAIN_METROPOLIS,
    Defect,
    Kind,
    Step,
)

RIDGE = Case(DATA["a million"], (1e-3, 5e-4, 3e-4), 40)


def test_draws_follow_the_exact_posterior_all_along_the_ridge() -> None:
    """Law, thresholds: as in test_random_walks, 4,000 draws, 6 variables, false alarms 2e-6.

    After a million displays, no random walk of reasonable length gets from one end of the ridge theta kappa = constant
    to the other. So every draw is the end of its own walk, which starts at a point along the ridge drawn from the exact
    law. The walk is long enough to reach the law across the ridge.
    """
    theta, kappa = _ridge_draws(METROPOLIS)
    assert not disagreements(theta, kappa, RIDGE.law, NONE)


def test_a_wrong_ratio_is_detected_on_the_ridge() -> None:
    theta, kappa = _ridge_draws(Step(Kind.PLAIN_METROPOLIS, Defect.SKIPS_FORGOTTEN))
    assert disagreements(theta, kappa, RIDGE.law, NONE)


def _ridge_draws(step: Step) -> tuple[Floats, Floats]:
    """Draws of walks.

    Across the ridge they start at the mode; along it they start at draws of the exact law of kappa_1.
    """
    law = RIDGE.law
    along = law.kappa[0].quantile(np.random.default_rng(2).random(RIDGE.draws))[:, None]
    theta = np.minimum([marginal.scaled for marginal in law.theta] / along, 1)
    kappa = [marginal.scaled for marginal in law.kappa] * along
    RIDGE.walk(step, 3, theta, kappa, restart=True)
    return theta, kappa


@pytest.mark.parametrize("case", METROPOLIS_CASES.values(), ids=METROPOLIS_CASES)
def test_bounds_change_no_decision_in_the_posterior(case: Case) -> None:
    """With the same random numbers, the sampler and a plain implementation of Algorithm 2 have the same states."""
    ours, plain = (case.chain(step, seed=4, draws=300) for step in (METROPOLIS, PLAIN_METROPOLIS))
    _same(ours, plain)


def _same(ours: tuple[Floats, Floats], plain: tuple[Floats, Floats]) -> None:
    for our_values, plain_values in zip(ours, plain, strict=True):
        np.testing.assert_array_equal(our_values, plain_values)


def test_bounds_change_no_decision_from_random_states() -> None:
    """The same holds from states that no chain reaches: 64,000 sweeps for 400 random counts and widths."""
    rng = np.random.default_rng(5)
    moved = []
    for _ in range(400):
        n_items, n_positions = rng.integers(1, 5, size=2)
        clicks, skips = _random_counts(rng, (n_items, n_positions)), _random_counts(rng, (n_items, n_positions))
        width = 10 ** rng.uniform(-6, 3)
        theta, kappa = near_ends(rng, (40, n_items)), near_ends(rng, (40, n_positions))
        case = Case(Data(clicks, skips, int(rng.integers(2))), (width,), 4)
        ours, plain = (theta.copy(), kappa.copy()), (theta.copy(), kappa.copy())
        case.walk(METROPOLIS, 6, *ours, restart=True)
        case.walk(PLAIN_METROPOLIS, 6, *plain, restart=True)
        _same(ours, plain)
        moved.append((ours[0] != theta).mean())
    assert 0.2 < np.mean(moved) < 0.9  # some proposals were accepted, some rejected


def test_bounds_change_no_decision_where_they_are_tightest() -> None:
    """For proposals from 2.2 widths below 1 to near 1, the ratio of the masses is nearly 2, the most the bounds allow.

    With a likelihood ratio near 1/2, bounds that allow 0.6 instead of log 2 would reject some of 200,000 such steps.
    """
    width, visibility = 0.01, 0.9
    theta, kappa = np.full((200_000, 1), 1 - 2.2 * width), np.full((200_000, 1), visibility)
    skips = 0.65 / np.log((1 - visibility * theta[:1]) / (1 - visibility))
    case = Case(Data(np.zeros((1, 1)), skips, FIRST), (width,), 1)
    ours, plain = (theta.copy(), kappa.copy()), (theta.copy(), kappa.copy())
    case.walk(METROPOLIS, 6, *ours, restart=True)
    case.walk(PLAIN_METROPOLIS, 6, *plain, restart=True)
    _same(ours, plain)


def _random_counts(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return np.round(10 ** rng.uniform(-1, 6, size=shape) * (rng.random(shape) < 0.7))


@kernel
def _log_bounds(a: Floats, b: Floats, bounds: Floats) -> None:
    for k in range(a.size):
        bounds[k] = log_bound(a[k], b[k])


def _bounds(a: Floats, b: Floats) -> Floats:
    bounds = np.empty(a.size)
    _log_bounds(a, b, bounds)
    return bounds


def test_log_bound_is_above_the_logarithm() -> None:
    """For ratios from 1e-200 to 1e200, and for ratios within rounding of 1."""
    apart = np.concatenate([10.0 ** np.linspace(-200, -8, 5000), np.linspace(0.001, 0.999, 5000)])
    near = 1 - 10.0 ** np.linspace(-16, -1, 5000)
    for larger in (1.0, 0.37, 2.0**-53):
        large = np.full(15_001, larger)
        small = larger * np.concatenate([apart, near, [1.0]])
        # log1p is exact near 1, where the logarithm of the quotient is not
        logs = np.where(small > large / 2, np.log1p(np.maximum((small - large) / large, -0.5)), np.log(small / large))
        assert (_bounds(small, large) >= logs - 1e-12 * np.abs(logs)).all()
        assert (_bounds(large, small) >= -logs - 1e-12 * np.abs(logs)).all()


def test_log_bound_is_close_near_one() -> None:
    """Within 1 % for ratios from 1/2 to 2; a loose bound would reject nothing."""
    ratios = np.linspace(0.5, 2.0, 99)
    np.testing.assert_allclose(_bounds(ratios, np.ones(99)), np.log(ratios), rtol=0.01)


@pytest.mark.parametrize("sigma", [1e-3, 1.0, 1e3])
def test_a_chain_leaves_the_wrong_end_with_1e12_counts(sigma: float) -> None:
    theta, _ = last_state(METROPOLIS, np.full((2, 2), 1e12), np.zeros((2, 2)), FIRST, sigma, 100, 0.0, 1.0)
    assert (theta > 1e-6).all()
    theta, _ = last_state(METROPOLIS, np.zeros((2, 2)), np.full((2, 2), 1e12), FIRST, sigma, 100, 1.0, 1.0)
    assert (theta < 1 - 1e-6).all()
