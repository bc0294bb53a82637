"""The test of common kappas: its limit is the likelihood ratio, and it holds its level."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chi2

import slotwise as sw
from slotwise.checks import Floats, Ints
from slotwise.inference import kappa_test
from slotwise.inference.estimation.batch_fit import Batch, assess, fit_em
from slotwise.inference.excluded_queries import _tests_with, _thetas
from slotwise.inference.kappa_test import KappaTests, kappa_tests
from slotwise.paper.named_click_models import BEHAVIORAL, setting

THETA = np.concatenate([setting(name).theta for name in BEHAVIORAL])
OFFSETS = np.concatenate([[0], np.cumsum([setting(name).theta.size for name in BEHAVIORAL])]).astype(np.int64)
KAPPA = np.array([1.0, 0.48, 0.34])


def fitted(clicks: Floats, skips: Floats) -> Batch:
    joint = Batch.of([sw.Counts(clicks, skips)])
    fit_em(joint, 0.0)
    assess(joint)
    return joint


def simulated(rng: np.random.Generator, views: int, kappa: Floats = KAPPA) -> tuple[Batch, Ints]:
    clicks = rng.binomial(views, THETA[:, None] * kappa)
    return fitted(clicks, views - clicks), clicks


def test_with_many_clicks_the_statistic_is_the_likelihood_ratio() -> None:
    """Both have a chi-squared law of 14 degrees of freedom. With 200,000 views per cell, they differ by less
    than 1 %."""
    joint, clicks = simulated(np.random.default_rng(4), 200_000)
    skips = 200_000 - clicks
    ends = pairwise(OFFSETS)
    separate = sum(sw.fit(sw.Counts(clicks[begin:end], skips[begin:end])).log_likelihood for begin, end in ends)
    ratio = 2.0 * (separate - joint.log_likelihood[0])
    common, queries = kappa_tests(joint, OFFSETS)
    assert common.statistic[0] == pytest.approx(ratio, rel=0.01)
    assert common.degrees[0] == pytest.approx(14.0)
    assert common.p_value[0] == pytest.approx(chi2.sf(ratio, 14), abs=0.02)
    assert queries.degrees.tolist() == [2.0] * 8


def test_a_comparison_of_one_query_is_its_likelihood_ratio_against_the_rest() -> None:
    joint, clicks = simulated(np.random.default_rng(4), 200_000)
    skips, first = 200_000 - clicks, slice(0, OFFSETS[1])
    rest = slice(OFFSETS[1], None)
    apart = sum(sw.fit(sw.Counts(clicks[part], skips[part])).log_likelihood for part in (first, rest))
    _, queries = kappa_tests(joint, OFFSETS)
    assert queries.statistic[0] == pytest.approx(2.0 * (apart - joint.log_likelihood[0]), rel=0.02, abs=0.01)


def test_an_excluded_query_has_the_same_comparison_with_the_rest() -> None:
    """The query q1 has a fifth of all clicks, so it matters that the kappas of the others are uncertain too."""
    joint, _ = simulated(np.random.default_rng(5), 200_000)
    with_others, without = kappa_tests(joint, OFFSETS)[1], _tests_with(joint, OFFSETS, np.arange(8) != 6)
    assert without.statistic[6] == pytest.approx(with_others.statistic[6], rel=0.01)
    assert without.degrees.tolist() == [2.0] * 8


def test_the_test_holds_its_level_and_finds_a_difference() -> None:
    """Law: 400 data sets with 100 views per cell and common kappas. The number of p-values below 5 % is
    Binomial(400, 0.05): 20 with a standard deviation of 4.4. It may differ by four standard deviations, for one seed in
    16,000. Negative control: if the first query has a kappa that is three times as large, more than half are found."""
    rng, alarms, found = np.random.default_rng(2), 0, 0
    for _ in range(400):
        alarms += kappa_tests(simulated(rng, 100)[0], OFFSETS)[0].p_value[0] < 0.05
    odd = np.tile(KAPPA, (THETA.size, 1))
    odd[OFFSETS[6] : OFFSETS[7], 2] = 1.0
    for _ in range(20):
        found += kappa_tests(simulated(rng, 100, odd)[0], OFFSETS)[0].p_value[0] < 0.05
    assert 2 < alarms < 38
    assert found > 10


def test_chunks_of_queries_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    joint, _ = simulated(np.random.default_rng(1), 300)
    whole = kappa_tests(joint, OFFSETS)
    monkeypatch.setattr(kappa_test, "_QUERIES_AT_ONCE", 3)
    for tests, others in zip(whole, kappa_tests(joint, OFFSETS), strict=True):
        for name in KappaTests._fields:
            np.testing.assert_allclose(getattr(tests, name), getattr(others, name), rtol=1e-9)


def test_thetas_maximise_the_likelihood_given_kappa() -> None:
    """Compared with a grid; the last item was clicked whenever it was seen, so its theta is 1."""
    clicks, skips = np.array([[30, 10, 2], [0, 0, 0], [50, 20, 0]]), np.array([[70, 40, 20], [5, 5, 5], [0, 0, 0]])
    theta, grid = _thetas(clicks.sum(axis=1), skips, KAPPA), np.linspace(1e-4, 1.0 - 1e-9, 200_001)
    for k in range(3):
        value = clicks[k].sum() * np.log(grid) + (skips[k] * np.log1p(-grid[:, None] * KAPPA)).sum(axis=1)
        assert theta[k] == pytest.approx(grid[np.argmax(value)], abs=2e-4)
    assert theta[2] == 1.0
