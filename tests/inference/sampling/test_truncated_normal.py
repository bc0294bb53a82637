"""The truncated Gaussian proposal of the random walk: its law, its mass and its cost, for every width."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import truncnorm

from slotwise.checks import Floats
from slotwise.inference.sampling.truncated_normal import UNIFORM_FROM, draw, mass
from slotwise.jit import kernel
from tests.inference.sampling.distribution_checks import ks_distance, ks_limit

WIDTHS = [*10.0 ** np.arange(-6, 7), 0.05, 0.2, 0.3, UNIFORM_FROM, 1.001 * UNIFORM_FROM, 0.6, 3.0]
CENTRES = [0.0, 1e-9, 0.02, 0.3, 0.5, 0.97, 1.0 - 1e-9, 1.0]
DRAWS = 4000


@kernel
def _fill(x: float, sigma: float, rng: np.random.Generator, draws: Floats) -> None:
    for k in range(draws.size):
        draws[k] = draw(x, sigma, rng)


@kernel
def _weigh(x: Floats, sigma: float, masses: Floats) -> None:
    for k in range(x.size):
        masses[k] = mass(x[k], sigma)


def _draws(x: float, sigma: float, rng: np.random.Generator, n: int = DRAWS) -> Floats:
    draws = np.empty(n)
    _fill(x, sigma, rng, draws)
    return draws


def _law(x: float, sigma: float, draws: Floats) -> Floats:
    return truncnorm.cdf(draws, -x / sigma, (1 - x) / sigma, loc=x, scale=sigma)


@pytest.mark.parametrize("sigma", WIDTHS)
def test_draws_follow_the_truncated_gaussian(sigma: float) -> None:
    """Law: scipy's truncnorm. 4,000 independent draws, K-S at 1e-7 (0.048), 160 comparisons: false alarms 2e-5."""
    rng = np.random.default_rng(9)
    for x in CENTRES:
        draws = np.sort(_draws(x, sigma, rng))
        assert draws[0] > 0
        assert draws[-1] < 1
        assert ks_distance(_law(x, sigma, draws)) < ks_limit(DRAWS), x


@pytest.mark.parametrize(("x", "sigma"), [(1 - 2.0**-53, 1e-16), (1e-200, 1e-200), (0.5, 1e300), (1.0, 1e-16)])
def test_the_ends_are_never_drawn(x: float, sigma: float) -> None:
    """The ends are not drawn even where rounding makes them likely."""
    draws = _draws(x, sigma, np.random.default_rng(15))
    assert ((draws > 0) & (draws < 1)).all()


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_a_wrong_width_is_detected(factor: float) -> None:
    """The negative control: a width that is 20 % too small or 25 % too large fails the same check."""
    rng = np.random.default_rng(10)
    for sigma in (1e-6, 0.05, 0.2):
        draws = np.sort(_draws(0.3, factor * sigma, rng, 4 * DRAWS))
        assert ks_distance(_law(0.3, sigma, draws)) > ks_limit(4 * DRAWS)


@pytest.mark.parametrize("sigma", WIDTHS)
def test_a_draw_uses_few_random_numbers_for_every_width(sigma: float) -> None:
    """At least 49 % of the proposals are accepted, and each uses two random numbers: at most 4.1 per draw are expected.

    The mean over 2,000 draws must be below 5. Its standard error is below 0.08, so the limit is eleven standard errors
    away.
    """
    n = 2000
    for x in CENTRES:
        used, replay = np.random.PCG64(11), np.random.PCG64(11)
        _draws(x, sigma, np.random.Generator(used), n)
        after = used.random_raw()
        taken = np.flatnonzero(replay.random_raw(100 * n) == after)
        assert taken.size == 1, x
        assert taken[0] / n < 5, x


@pytest.mark.parametrize("sigma", WIDTHS)
def test_mass_ratios_are_those_of_the_gaussian(sigma: float) -> None:
    x = np.array(CENTRES)
    expected = ndtr((1 - x) / sigma) - ndtr(-x / sigma)
    masses = np.empty(x.size)
    _weigh(x, sigma, masses)
    # the wider the Gaussian, the more digits the difference in `expected` loses; `masses` has no such loss
    np.testing.assert_allclose(masses / masses[0], expected / expected[0], rtol=1e-11 + 1e-14 * sigma)
    # the sampler's first bound relies on this
    assert np.abs(np.log(masses[:, None] / masses)).max() <= math.log(2) + 1e-12
