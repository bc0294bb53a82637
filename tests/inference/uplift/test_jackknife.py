import numpy as np
import pytest

from slotwise.inference.uplift.jackknife import ClusterTotals, compare


def totals(rng: np.random.Generator, clusters: int, rate: float) -> ClusterTotals:
    displays = rng.integers(1, 50, clusters).astype(float)
    return ClusterTotals(displays, rng.poisson(rate * displays).astype(float))


def test_it_equals_leaving_out_each_cluster_by_hand() -> None:
    rng = np.random.default_rng(0)
    first, second = totals(rng, 20, 0.5), totals(rng, 20, 0.3)
    compared = compare(first, second)

    def log_ratio(kept: np.ndarray) -> float:
        one, two = (side.earned[kept].sum() / side.displays[kept].sum() for side in (first, second))
        return float(np.log(one / two))

    without = np.array([log_ratio(np.arange(20) != k) for k in range(20)])
    assert compared.log_ratio == pytest.approx(log_ratio(np.full(20, True)))
    assert compared.log_ratio_variance == pytest.approx(19 / 20 * ((without - without.mean()) ** 2).sum())


def test_clusters_without_displays_change_nothing() -> None:
    rng = np.random.default_rng(1)
    first, second = totals(rng, 20, 0.5), totals(rng, 20, 0.3)
    padded = (ClusterTotals(*(np.append(array, np.zeros(5)) for array in side)) for side in (first, second))
    assert compare(*padded) == pytest.approx(compare(first, second))


def test_the_variance_is_that_of_repeated_experiments() -> None:
    """2,000 experiments: the mean of the estimated variances is within 15 % of the variance of the estimates.

    The standard error of the latter is sqrt(2 / 2000) = 3 %, so a correct variance fails with probability 1e-6.
    """
    rng = np.random.default_rng(2)
    compared = [compare(totals(rng, 60, 0.5), totals(rng, 60, 0.3)) for _ in range(2000)]
    for estimate, variance in (("log_ratio", "log_ratio_variance"), ("difference", "difference_variance")):
        actual = np.var([getattr(comparison, estimate) for comparison in compared])
        assert np.mean([getattr(comparison, variance) for comparison in compared]) == pytest.approx(actual, rel=0.15)


def test_correlated_clusters_have_a_larger_variance_than_independent_displays() -> None:
    """Negative control: the variance that takes displays for independent is too small by a factor."""
    rng = np.random.default_rng(3)
    displays = np.full(100, 50.0)
    levels = rng.gamma(0.5, 2.0, (2, 100))  # the visitors of a cluster differ between the variants
    sides = [ClusterTotals(displays, rng.poisson(0.3 * level * displays).astype(float)) for level in levels]
    independent = sum(1.0 / side.earned.sum() for side in sides)
    assert compare(*sides).log_ratio_variance > 5.0 * independent


def test_one_cluster_with_all_clicks_has_no_variance() -> None:
    displays = np.full(30, 10.0)
    earned = np.zeros(30)
    earned[4] = 50.0
    assert compare(ClusterTotals(displays, earned), ClusterTotals(displays, displays)).log_ratio_variance == np.inf
