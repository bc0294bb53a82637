"""The power of tests on runs: closed forms, worlds in which claims are true or false, and the tests of every claim."""

import numpy as np
import pytest
from scipy.stats import nct

from slotwise.paper import power as power_module
from slotwise.paper.claims import CLAIMS
from slotwise.paper.claims.claim import judge
from slotwise.paper.claims.shared_tests import (
    grows_linearly,
    is_similar,
    loses_at_most,
    loses_less_in_the_median,
    loses_more,
    with_exponent,
    with_ratio,
)
from slotwise.paper.power import power
from slotwise.paper.statistics import exponent
from tests.paper import made_up_results as made_up

TRUE = made_up.as_the_paper_says()
DECIDED_BY_RUNS = [
    name
    for name in CLAIMS
    if name not in {"em-estimates", "em-slower", "extra-slow", "data-table"} and name[:4] != "time"
]
NEED_MORE_RUNS = {"spread-never-high", "spread-average"}  # than the 40 made-up ones: they are about rare, extreme runs


def normal_rows(runs: int, spread: float, seed: int = 0) -> np.ndarray:
    """Two rows of 100 on average, whose paired differences are normal with standard deviation `spread`."""
    rng = np.random.default_rng(seed)
    rows = np.full((2, runs), 100.0)
    rows[0] += spread * rng.standard_normal(runs)
    return rows


def test_power_agrees_with_its_closed_form() -> None:
    """Paired normal differences of mean 25, standard deviation 78, and 40 runs: Student's test, limit 2.

    The rows are a sample, so its own spread is that of the closed form. 400 samples have a standard error of 2.5 %;
    resampling 40 runs instead of the law itself adds about as much. The threshold is 12 %.
    """
    rows = normal_rows(40, 78.0)
    result = power(loses_more(), rows)
    world = loses_more().if_true.change(rows)
    spread = float(np.std(world[0] - world[1], ddof=1))
    expected = float(nct.sf(2.0, 39, 25.0 * np.sqrt(40) / spread))
    assert 0.3 < expected < 0.9
    assert result.if_true == pytest.approx(expected, abs=0.12)
    assert result.if_false < 0.08  # 2.6 % by Student's law
    assert result.runs == 40


def test_more_runs_have_more_power() -> None:
    few, many = (power(loses_more(), normal_rows(runs, 100.0)).if_true for runs in (20, 200))
    assert few < 0.5
    assert many > 0.8


def test_worlds_have_what_they_are_named_after() -> None:
    rng = np.random.default_rng(1)
    rows = rng.random((2, 30)) + 0.5
    assert exponent(with_exponent(0.37).change(rows)) == pytest.approx(0.37)
    changed = with_ratio(1.7).change(rows)
    assert changed[0].mean() / changed[1].mean() == pytest.approx(1.7)
    median = np.median(with_ratio(0.8, median=True).change(rows), axis=1)
    assert median[0] / median[1] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("test", "true", "false"),
    [
        (grows_linearly(), [[1.0, 1.0], [3.0, 3.0]], [[1.0, 1.0], [2.0, 2.0]]),  # p = 0.95 and 0.6
        (loses_more(), [[3.0, 3.1], [2.0, 2.0]], [[2.0, 2.1], [2.0, 2.0]]),
        (loses_at_most(1.25), [[2.0, 2.1], [2.0, 2.0]], [[3.0, 3.1], [2.0, 2.0]]),
        (loses_less_in_the_median(), [[1.0, 1.1], [2.0, 2.0]], [[2.0, 2.1], [2.0, 2.0]]),
        (is_similar(2.0), [[3.9, 3.9], [2.0, 2.0]], [[4.1, 4.1], [2.0, 2.0]]),
        (is_similar(2.0), [[1.1, 1.1], [2.0, 2.0]], [[0.9, 0.9], [2.0, 2.0]]),
    ],
)
def test_a_test_holds_where_it_should(test, true, false) -> None:
    assert test.holds(np.array(true))
    assert not test.holds(np.array(false))


@pytest.mark.parametrize("name", DECIDED_BY_RUNS)
def test_every_test_on_runs_tells_its_worlds_apart(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On made-up runs with little noise, it says "holds" where the claim is true, and rarely where it is false."""
    monkeypatch.setattr(power_module, "SAMPLES", 25)
    criteria = judge(CLAIMS[name], TRUE).criteria
    for criterion in criteria[:2]:  # the others apply the same test on other settings
        assert criterion.power is not None
        assert criterion.power.if_true > criterion.power.if_false, criterion.where
        if name not in NEED_MORE_RUNS:
            assert criterion.power.if_true >= 0.9, criterion.where
            assert criterion.power.if_false <= 0.4, criterion.where


def test_claims_about_a_linear_regret_rest_on_many_runs() -> None:
    from slotwise.paper.experiments import EXPERIMENTS

    for experiment in ("fig-simulated", "fig-fill", "fig-behavioral"):
        assert EXPERIMENTS[experiment].run_sets["linear"].runs >= 200
        assert EXPERIMENTS[experiment].run_sets["curves"].runs <= 20  # as in the paper
