"""The exact posterior, the reference for the samplers, is compared with closed forms and with plain integration."""

import itertools

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy.stats import beta

from slotwise.checks import Floats
from tests.inference.sampling.exact_posterior import NODES, exact
from tests.inference.sampling.posterior_cases import APART, DATA, FEW, FIRST, NONE, ONE_POSITION, expected_counts

SKIPS_ALONE = np.zeros((3, 2)), np.array([[5.0, 2.0], [1.0, 3.0], [0.0, 0.0]])
ONE_CELL = np.full((1, 1), 3.0), np.full((1, 1), 4.0)


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize(("n_items", "n_positions"), [(1, 2), (3, 3)])
def test_no_counts_leave_the_uniform_prior(n_items: int, n_positions: int, free_from: int) -> None:
    nothing = np.zeros((n_items, n_positions))
    law = exact(nothing, nothing, free_from)
    for marginal in law.theta + law.kappa[free_from:]:
        assert marginal.mean == pytest.approx(1 / 2)
        assert marginal.sd == pytest.approx(12**-0.5)
        assert np.abs(marginal.below - marginal.points).max() < 2e-3


@pytest.mark.parametrize("free_from", [FIRST, NONE])
@pytest.mark.parametrize("prior", [(1, 1), (3, 2)])
@pytest.mark.parametrize(
    "counts",
    [FEW, SKIPS_ALONE, APART, ONE_POSITION, ONE_CELL],
    ids=["few", "skips alone", "apart", "one position", "one cell"],
)
def test_few_counts_agree_with_a_plain_grid(
    counts: tuple[Floats, Floats], prior: tuple[int, int], free_from: int
) -> None:
    """With few counts the integrand is a polynomial of low degree: Gauss-Legendre on the whole cube is exact."""
    law = exact(*counts, free_from, prior=prior)
    marginals = law.theta + law.kappa[free_from:]
    whole = np.ones(len(marginals))
    total = _integral(*counts, prior, free_from, whole, 0)
    for k, marginal in enumerate(marginals):
        mean, square = (
            _integral(*counts, prior, free_from, whole, power * (np.arange(len(whole)) == k)) for power in (1, 2)
        )
        assert marginal.mean == pytest.approx(mean / total)
        assert marginal.sd == pytest.approx(np.sqrt(square / total - (mean / total) ** 2))
        for t in (0.1, 0.3, 0.6, 0.9):
            below = _integral(*counts, prior, free_from, np.where(np.arange(len(whole)) == k, t, 1.0), 0) / total
            assert marginal.cdf(np.array([t]))[0] == pytest.approx(below, abs=2e-3)


def _integral(
    clicks: Floats, skips: Floats, prior: tuple[int, int], free_from: int, upper: Floats, powers: Floats | int
) -> float:
    """The integral of the unnormalised posterior times powers of its variables, from 0 to `upper`."""
    outcomes = clicks + skips
    degree = 2 + max(outcomes.sum(axis=0).max(), outcomes.sum(axis=1).max() + sum(prior) - 2)
    nodes, weights = leggauss(1 + int(degree) // 2)
    grid = np.meshgrid(*((1 + nodes) / 2 * end for end in upper), indexing="ij", sparse=True)
    n_items, n_positions = clicks.shape
    variables = [*grid[:n_items], *[np.ones(1)] * free_from, *grid[n_items:]]
    value = np.ones(1)
    for variable, power in zip(grid, np.broadcast_to(powers, len(upper)), strict=True):
        value = value * variable**power
    for theta in variables[:n_items]:
        value = value * theta ** (prior[0] - 1) * (1 - theta) ** (prior[1] - 1)
    for item, position in itertools.product(range(n_items), range(n_positions)):
        product = variables[item] * variables[n_items + position]
        value = value * product ** clicks[item, position] * (1 - product) ** skips[item, position]
    for end in reversed(upper):
        value = value @ weights * end / 2
    return float(value)


def test_a_prior_of_any_shape_with_kappa_1_fixed() -> None:
    """For one item at one position, Beta(a, b) becomes Beta(a + clicks, b + skips)."""
    law, beta_law = exact(*ONE_CELL, FIRST, prior=(1.5, 2.3)).theta[0], beta(4.5, 6.3)
    assert [law.mean, law.sd] == pytest.approx([beta_law.mean(), beta_law.std()])


def test_a_million_displays_of_one_item_with_kappa_1_fixed() -> None:
    """With q = theta kappa_2: theta ~ Beta(S_1, F_1 + 1), q ~ Beta(S_2 + 1, F_2 + 1), independent while q < theta."""
    clicks, skips = expected_counts(1e6, (0.3,), (1.0, 0.6))
    law = exact(clicks, skips, FIRST)
    theta = beta(clicks[0, 0], skips[0, 0] + 1)
    assert law.theta[0].mean == pytest.approx(theta.mean(), abs=1e-4 * theta.std())
    assert law.theta[0].sd == pytest.approx(theta.std(), rel=1e-4)
    x = theta.ppf(np.linspace(0.001, 0.999, 50))
    assert np.abs(law.theta[0].cdf(x) - theta.cdf(x)).max() < 2e-3
    inverse = (clicks[0, 0] + skips[0, 0]) / (clicks[0, 0] - 1)  # the mean of 1 / theta
    assert law.kappa[1].mean == pytest.approx(beta(clicks[0, 1] + 1, skips[0, 1] + 1).mean() * inverse, rel=1e-7)


def test_a_million_displays_of_one_item_with_free_kappa() -> None:
    """For one item and two positions the visibility of the first is uniform between theta kappa_1 and 1."""
    clicks, skips = expected_counts(1e6, (0.3,), (1.0, 0.6))
    law = exact(clicks, skips, NONE)
    assert law.kappa[0].mean == pytest.approx((0.3 + 1) / 2, abs=1e-3)
    x = np.linspace(0.31, 0.99, 50)
    assert np.abs(law.kappa[0].cdf(x) - (x - 0.3) / 0.7).max() < 2e-3
    assert np.abs(law.theta[0].cdf(x) - (1 - 0.3 / x) / 0.7).max() < 2e-3
    assert [law.theta[0].scaled, law.kappa[0].scaled, law.kappa[1].scaled] == pytest.approx([0.3, 1, 0.6], abs=1e-3)


@pytest.mark.parametrize(
    "name", ["few, kappa_1 = 1", "near zero", "hundreds", "a million near one", "a million, kappa_1 = 1"]
)
def test_a_finer_grid_gives_the_same_marginals(name: str) -> None:
    data = DATA[name]
    finer = exact(data.clicks, data.skips, data.free_from, 3 * NODES // 2)
    for coarse, fine in zip(data.law.theta + data.law.kappa, finer.theta + finer.kappa, strict=True):
        assert coarse.mean == pytest.approx(fine.mean, abs=1e-3 * fine.sd + 1e-15)
        assert coarse.sd == pytest.approx(fine.sd, rel=1e-3)
        assert np.abs(coarse.cdf(fine.points) - fine.below).max() < 2e-3
