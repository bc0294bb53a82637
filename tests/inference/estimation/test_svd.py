"""The rank-one approximation: closed forms, the online iteration compared with LAPACK, and degenerate counts."""

import numpy as np
import pytest

from slotwise.counts import CountArrays, Counts
from slotwise.inference.estimation.fit import fit
from slotwise.inference.estimation.svd import PSEUDO_COUNT, Fill, click_rates, filled_rates, rank_one, svd
from slotwise.paper.named_click_models import setting

STANDARD = setting("standard")


def exact_counts(theta, kappa, views=1000.0) -> Counts:
    """Counts whose click rates are theta kappa^T, up to rounding."""
    clicks = views * np.outer(theta, kappa)
    return Counts(clicks, views - clicks)


def count_arrays(counts: Counts) -> CountArrays:
    """Like `counts.arrays()`, but without compiling kernels that are not under test."""
    clicks, skips = counts.clicks.copy(), counts.skips.copy()
    transposed = np.ascontiguousarray(skips.T)
    return CountArrays(clicks, skips, transposed, clicks.sum(axis=1), clicks.sum(axis=0), np.array([counts.displays]))


def iterated(rates, iterations: int, theta=None):
    theta = np.full(rates.shape[0], 0.5) if theta is None else np.array(theta, dtype=np.float64)
    kappa = np.ones(rates.shape[1])
    rank_one(rates, iterations, False, theta, kappa)
    return theta, kappa


@pytest.mark.parametrize("estimate", ["svd", "rank_one"])
def test_a_rank_one_matrix_is_recovered(estimate: str) -> None:
    counts = exact_counts(STANDARD.theta, STANDARD.kappa)
    if estimate == "svd":
        theta, kappa = svd(counts.clicks, counts.skips)
    else:
        theta, kappa = iterated(np.outer(STANDARD.theta, STANDARD.kappa), 2)
    np.testing.assert_allclose(theta, STANDARD.theta, rtol=0, atol=1e-12)
    np.testing.assert_allclose(kappa, STANDARD.kappa, rtol=0, atol=1e-12)


def test_the_product_is_the_best_rank_one_approximation() -> None:
    """theta kappa^T = zeta u v^T: no other outer product is nearer to M."""
    rng = np.random.default_rng(0)
    rates = 0.2 * np.outer(rng.random(6), [1.0, 0.7, 0.4]) + 0.05 * rng.random((6, 3))
    theta, kappa = svd(rates, 1.0 - rates)
    u, zeta, vt = np.linalg.svd(rates)
    np.testing.assert_allclose(np.outer(theta, kappa), zeta[0] * np.outer(u[:, 0], vt[0]), atol=1e-14)
    assert kappa[0] == 1.0


def test_the_iteration_reaches_the_full_decomposition() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        rates = rng.random((8, 4))
        theta, kappa = svd(rates, 1.0 - rates)
        np.testing.assert_allclose(iterated(rates, 60)[0], theta, atol=1e-6)
        np.testing.assert_allclose(iterated(rates, 60)[1], kappa, atol=1e-6)


def test_a_warm_start_follows_slowly_changing_rates_with_two_iterations() -> None:
    rng = np.random.default_rng(2)
    counts = count_arrays(Counts(np.zeros((10, 5)), np.zeros((10, 5))))
    theta, kappa = np.full(10, 0.5), np.ones(5)
    rates = np.empty((10, 5))
    for _ in range(2_000):
        display = rng.permutation(10)[:5]
        clicked = rng.random(5) < STANDARD.theta[display] * STANDARD.kappa
        counts.clicks[display, np.arange(5)] += clicked
        counts.skips[display, np.arange(5)] += ~clicked
        click_rates(counts, Fill.MEAN, PSEUDO_COUNT, rates)
        rank_one(rates, 2, False, theta, kappa)
    full = svd(counts.clicks, counts.skips, Fill.MEAN)
    np.testing.assert_allclose(theta, full[0], atol=1e-3)
    np.testing.assert_allclose(kappa, full[1], atol=1e-3)
    cold = iterated(rates, 1)  # negative control: one iteration from the start has not converged
    assert np.abs(cold[1] - full[1]).max() > 1e-3


def test_values_above_one_are_kept() -> None:
    """A position more visible than the first has a kappa above 1; clipped, it would tie with the first."""
    rates = np.outer([0.4, 0.2, 0.1], [0.3, 1.0, 0.6]) + 0.05 * np.eye(3)
    theta, kappa = iterated(rates, 100)
    np.testing.assert_allclose(theta, svd(rates, 1.0 - rates)[0], atol=1e-6)
    np.testing.assert_allclose(kappa, svd(rates, 1.0 - rates)[1], atol=1e-5)
    assert kappa.argsort().tolist() == [0, 2, 1]
    assert kappa[1] > 2


def test_iterations_stop_when_they_have_converged() -> None:
    rates = np.outer([0.4, 0.2, 0.1], [0.3, 1.0, 0.6]) + 0.05 * np.eye(3)
    theta, kappa = np.full(3, 0.5), np.ones(3)
    cold = rank_one(rates, 100, False, theta, kappa)
    assert 3 <= cold < 30
    assert rank_one(rates, 100, False, theta, kappa) < cold  # a warm start needs fewer
    assert rank_one(rates, 1, False, theta, kappa) == 1


def test_the_fill_of_the_authors() -> None:
    """(S + p) / (V + p), and a largest kappa of 1."""
    counts = exact_counts([0.4, 0.2], [0.25, 0.5], views=8.0)
    rates = filled_rates(counts.clicks, counts.skips, Fill.AUTHORS, 0.5)
    np.testing.assert_allclose(rates, [[1.3 / 8.5, 2.1 / 8.5], [0.9 / 8.5, 1.3 / 8.5]])
    theta, kappa = svd(counts.clicks, counts.skips, Fill.AUTHORS, 0.5)
    assert kappa[1] == 1.0
    u, zeta, vt = np.linalg.svd(rates)
    np.testing.assert_allclose(np.outer(theta, kappa), zeta[0] * np.outer(u[:, 0], vt[0]), atol=1e-14)
    online = np.full(2, 0.5), np.ones(2)
    rank_one(rates, 100, True, *online)
    np.testing.assert_allclose(online[0], theta, atol=1e-6)
    np.testing.assert_allclose(online[1], kappa, atol=1e-6)


def test_an_iteration_leaves_an_exact_zero() -> None:
    """Of two separate blocks, the second was at 0 and is now the larger one."""
    rates = np.array([[0.2, 0.0], [0.0, 0.9]])
    theta, kappa = iterated(rates, 60, theta=[0.2, 0.0])
    assert theta[1] == pytest.approx(0.9)
    np.testing.assert_allclose(kappa, [0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("fill", list(Fill))
def test_both_implementations_fill_unobserved_cells_alike(fill: Fill) -> None:
    counts = Counts([[3, 0], [1, 0]], [[1, 0], [3, 4]])
    rates = np.empty((2, 2))
    click_rates(count_arrays(counts), fill, PSEUDO_COUNT, rates)
    assert rates[0, 1] == {Fill.ONE: 1.0, Fill.MEAN: 4 / 12, Fill.AUTHORS: 1.0}[fill]
    np.testing.assert_array_equal(filled_rates(counts.clicks, counts.skips, fill), rates)


def test_stacked_queries_give_the_same_estimates_as_single_ones() -> None:
    rng = np.random.default_rng(3)
    clicks, skips = rng.poisson(3.0, (7, 5, 3)).astype(float), rng.poisson(3.0, (7, 5, 3)).astype(float)
    theta, kappa = svd(clicks, skips, Fill.MEAN)
    assert theta.shape == (7, 5)
    assert kappa.shape == (7, 3)
    for k in range(7):
        single = svd(clicks[k], skips[k], Fill.MEAN)
        np.testing.assert_allclose(theta[k], single[0], atol=1e-13)
        np.testing.assert_allclose(kappa[k], single[1], atol=1e-13)


DEGENERATE = {
    "nothing shown": (np.zeros((3, 2)), np.zeros((3, 2))),
    "zero clicks": (np.zeros((3, 2)), np.ones((3, 2))),
    "all clicks": (np.ones((3, 2)), np.zeros((3, 2))),
    "one position": (np.array([[1.0], [2.0]]), np.array([[3.0], [0.0]])),
    "one item": (np.array([[1.0, 2.0]]), np.array([[3.0, 0.0]])),
    "N = L": (np.eye(3), np.ones((3, 3))),
    "a tie": (np.ones((3, 3)), np.ones((3, 3))),
    "a tie of singular values": (np.eye(2), 1.0 - np.eye(2)),
    "v_1 = 0": (np.array([[0.0, 3.0], [0.0, 1.0]]), np.ones((2, 2))),
    "an unobserved item": (np.array([[2.0, 1.0], [0.0, 0.0]]), np.array([[2.0, 3.0], [0.0, 0.0]])),
}


@pytest.mark.parametrize("fill", list(Fill))
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_counts_give_finite_estimates(name: str, fill: Fill) -> None:
    """Their products are those of the rank-one approximation: at most its largest singular value."""
    clicks, skips = DEGENERATE[name]
    rates = filled_rates(clicks, skips, fill)
    for theta, kappa in (svd(clicks, skips, fill), iterated(rates, 50)):
        assert (theta >= 0).all()
        assert (kappa >= 0).all()
        assert np.isfinite(theta).all()
        assert 1.0 <= kappa.max() < np.inf
        assert np.outer(theta, kappa).max() <= np.linalg.norm(rates, 2) + 1e-9


@pytest.mark.parametrize("fill", [each.name.lower() for each in Fill])
@pytest.mark.parametrize("name", DEGENERATE)
def test_a_fit_to_degenerate_counts_has_probabilities(name: str, fill: str) -> None:
    fitted = fit(Counts(*DEGENERATE[name]), "svd", fill)
    for values in (fitted.theta, fitted.kappa):
        assert ((values >= 0) & (values <= 1)).all()
    assert fitted.kappa.max() == pytest.approx(1.0)


def test_without_clicks_at_the_first_position_the_most_visible_one_is_the_reference() -> None:
    theta, kappa = svd(*DEGENERATE["v_1 = 0"])
    np.testing.assert_allclose(kappa, [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(theta, [0.75, 0.5], atol=1e-12)
