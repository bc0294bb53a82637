"""The posterior as it is shown to people: which parts can be compared, and draws scaled within each."""

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.counts import Counts, Tally
from slotwise.inference.posterior import components, posterior

from .cases import FEW, NONE
from .exact import exact


def _tally(shown: list[list[int]]) -> Tally:
    """Half of the displays clicked: what was shown is all that matters."""
    half = np.array(shown) / 2
    return Counts(half, half).tally()


@pytest.mark.parametrize(
    ("shown", "items", "positions"),
    [
        ([[1, 1], [1, 1]], [0, 0], [0, 0]),
        ([[1, 0], [0, 1]], [0, 1], [0, 1]),
        ([[0, 1], [1, 0]], [1, 0], [0, 1]),
        ([[1, 0], [1, 1]], [0, 0], [0, 0]),
        ([[1, 0], [0, 0], [0, 1]], [0, -1, 1], [0, 1]),
        ([[0, 0], [0, 0]], [-1, -1], [0, 1]),
        ([[0, 1, 0], [0, 1, 0]], [1, 1], [0, 1, 2]),
        ([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], [0, 1, 0], [0, 1, 0, 1]),
        # a chain that is only found step by step, from the last position to the first
        ([[0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]], [0, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_components(shown: list[list[int]], items: list[int], positions: list[int]) -> None:
    found = components(_tally(shown))
    assert found[0].tolist() == items
    assert found[1].tolist() == positions


def test_means_agree_with_the_exact_ones() -> None:
    """Law: means of the posterior scaled to max kappa = 1, by integration. 20,000 correlated draws in 50 batches.

    Thresholds: seven standard errors of the batch means (a t of 49 degrees: 7e-9), themselves below 0.005.
    Five comparisons, false alarms 4e-8.
    """
    law = exact(*FEW, NONE)
    draws = posterior(Counts(*FEW).tally(), 20_000, np.random.default_rng(12))
    _agree(draws.theta, [marginal.scaled for marginal in law.theta])
    _agree(draws.kappa, [marginal.scaled for marginal in law.kappa])
    np.testing.assert_array_equal(draws.kappa.max(axis=1), 1)
    with pytest.raises(AssertionError):  # the negative control: the means that are not scaled
        _agree(draws.theta, [marginal.mean for marginal in law.theta])


def _agree(draws: Floats, means: list[float]) -> None:
    batches = draws.reshape(50, -1, draws.shape[1]).mean(axis=1)
    errors = batches.std(axis=0, ddof=1) / np.sqrt(50)
    assert (errors < 0.005).all()
    assert (np.abs(batches.mean(axis=0) - means) < 7 * errors).all()


def test_each_part_is_scaled_by_itself() -> None:
    draws = posterior(_tally([[40, 0, 20], [0, 60, 0], [30, 0, 10], [0, 0, 0]]), 2000, np.random.default_rng(13))
    np.testing.assert_array_equal(draws.kappa[:, [0, 2]].max(axis=1), 1)
    np.testing.assert_array_equal(draws.kappa[:, 1], 1)
    assert draws.theta[:, 1].mean() == pytest.approx(0.5, abs=0.05)  # a half of 60 clicked
    assert draws.theta[:, 3].std() == pytest.approx(12**-0.5, abs=0.05)  # nothing known, nothing scaled


def test_the_same_seed_gives_the_same_draws() -> None:
    first, second = (posterior(Counts(*FEW).tally(), 100, np.random.default_rng(14)) for _ in range(2))
    np.testing.assert_array_equal(first.theta, second.theta)
    np.testing.assert_array_equal(first.kappa, second.kappa)
