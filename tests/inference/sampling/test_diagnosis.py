"""Diagnostics of chains that mix, of chains that do not, and of invalid input."""

import sys

import numpy as np
import pytest

from slotwise.checks import BadInput
from slotwise.counts import Counts
from slotwise.inference.sampling.diagnosis import diagnose
from slotwise.inference.sampling.effective_sample_size import ess, r_hat, tail_ess
from slotwise.paper.named_click_models import setting
from slotwise.simulation.simulate import counts_after
from tests.inference.sampling.posterior_cases import FEW


@pytest.fixture(scope="module")
def long_run() -> Counts:
    return counts_after("pb_mhb", setting("q10"), 30_000)


def test_the_mixing_sampler_is_more_efficient_than_the_random_walks(long_run: Counts) -> None:
    """The mixing sampler has an effective sample size above 5 % of its sweeps. The chains of the walks disagree."""
    mixing, walk, odds = (diagnose(long_run, sampler, draws=2000) for sampler in ("mixing", "random_walk", "log_odds"))
    assert mixing.agree
    assert mixing.per_sweep > 0.05
    assert 0.9 < mixing.accepted["matched"] <= 1.0
    assert 0.3 < mixing.accepted["slide"] < 0.6
    for other in (walk, odds):
        assert not other.agree
        assert other.per_sweep < mixing.per_sweep / 10
        assert 0.0 < other.accepted["walk"] < 1.0


@pytest.mark.parametrize("reference", ["none", "first"])
def test_diagnostics_agree_with_the_functions_of_ess(long_run: Counts, reference: str) -> None:
    diagnosis = diagnose(long_run, draws=1000, reference=reference, seed=4)
    np.testing.assert_allclose(diagnosis.ess_bulk, ess(diagnosis.draws), rtol=1e-6)
    np.testing.assert_allclose(diagnosis.ess_tail, tail_ess(diagnosis.draws), rtol=1e-6)
    np.testing.assert_allclose(diagnosis.r_hat, r_hat(diagnosis.draws), rtol=1e-6)
    assert diagnosis.draws.shape == (4, 250, 9)
    assert diagnosis.sweeps == 1000
    assert diagnosis.names == [f"theta[{k}]" for k in range(6)] + [f"kappa[{k}]" for k in range(3)]
    assert np.isnan(diagnosis.ess[6])  # kappa of the most visible position is 1 by convention
    again = diagnose(long_run, draws=1000, reference=reference, seed=4)
    np.testing.assert_array_equal(diagnosis.draws, again.draws)


def test_ranks_are_over_all_chains() -> None:
    diagnosis = diagnose(Counts(*FEW), draws=200)
    for variable in range(5):
        ranks = diagnosis.ranks[:, :, variable].ravel()
        values = diagnosis.draws[:, :, variable].ravel()
        assert ranks.sum() == pytest.approx(200 * 201 / 2)
        assert (np.diff(ranks[np.argsort(values, kind="stable")]) >= 0).all()


def test_slides_that_change_only_kappa_are_counted() -> None:
    """One item, kappa_1 = 1: a slide at the first position changes only kappas."""
    diagnosis = diagnose(Counts([[50.0, 10.0]], [[50.0, 90.0]]), draws=40, reference="first")
    assert diagnosis.accepted["slide"] > 0.1
    assert np.isnan(
        diagnose(Counts(np.zeros((2, 2)), np.ones((2, 2))), draws=40).accepted["slide"]
    )  # without clicks no item has a main position


def test_the_verdict_depends_on_r_hat_and_ess(long_run: Counts) -> None:
    assert "agree (every" in diagnose(long_run, draws=8000).verdict
    assert "may or may not agree" in diagnose(long_run, draws=400).verdict
    assert "do not agree" in diagnose(long_run, "random_walk", draws=400).verdict


def test_progress_counts_the_chains() -> None:
    calls: list[int] = []
    diagnose(Counts(*FEW), draws=40, chains=3, progress=calls.append)
    assert calls == [1, 2, 3]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sampler": "mixin"}, "did you mean 'mixing'"),
        ({"sampler": "random_walk", "prior": "learnt"}, "uniform prior only"),
        ({"width": 0.0}, "width = 0.0 is not a positive number"),
        ({"chains": 1}, "chains = 1 is not a whole number of at least 2"),
        ({"draws": 3}, "draws = 3"),
        ({"prior": (0.5, 2.0)}, "a, b of at least 1"),
        ({"reference": "last"}, "unknown reference 'last'"),
        ({"draws": 10**12}, "too many"),
    ],
)
def test_invalid_arguments_are_rejected(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        diagnose(Counts(*FEW), **wrong)  # type: ignore[arg-type]


def test_without_arviz_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz_stats", None)
    with pytest.raises(BadInput, match=r"slotwise\[diagnostics\]"):
        diagnose(Counts(*FEW))
