"""The posterior: its connected components, and draws scaled within each component."""

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from slotwise.checks import BadInput, Floats
from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.posterior import BURN_IN, Labels, Posterior, posterior
from tests.inference.sampling.exact_posterior import exact
from tests.inference.sampling.posterior_cases import FEW, FIRST, MILLION, NONE, ONE_NEVER_SHOWN
from tests.waiting import HANG

LABELS = Labels(["hat", "tie", "bag"], ["hero", "side"], np.array([True, True, True]))


def _counts(shown: list[list[int]]) -> Counts:
    """Half of the displays clicked: what was shown is all that matters."""
    half = np.array(shown) / 2
    return Counts(half, half)


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
    found = components(_counts(shown).arrays())
    assert found[0].tolist() == items
    assert found[1].tolist() == positions


def test_means_agree_with_the_exact_ones() -> None:
    """Law: means of the posterior scaled to max kappa = 1, by integration. 20,000 draws.

    Thresholds: six standard errors, by the effective sample size, which itself has to be above 10,000 (twice the error
    for a sample size that is 20 % off). Five comparisons, false alarms 1e-6.
    """
    law = exact(*FEW, NONE)
    found = posterior(Counts(*FEW), 20_000, seed=12)
    assert found.ess > 10_000
    _agree(found, [marginal.scaled for marginal in law.theta], [marginal.scaled for marginal in law.kappa])
    np.testing.assert_array_equal(found.kappa.max(axis=1), 1)
    with pytest.raises(AssertionError):  # the negative control: the means that are not scaled
        _agree(found, [marginal.mean for marginal in law.theta], [marginal.scaled for marginal in law.kappa])


def _agree(found: Posterior, theta: list[float], kappa: list[float]) -> None:
    draws = np.concatenate([found.theta, found.kappa], axis=1)
    errors = draws.std(axis=0) / np.sqrt(found.effective_sample_sizes)
    assert (np.abs(draws.mean(axis=0) - [*theta, *kappa]) < 6 * errors).all()


def test_intervals_are_those_of_the_exact_law() -> None:
    """Law: the 90 % interval of each kappa and theta given kappa_1 = 1, by integration: levels of its ends.

    20,000 draws with an effective sample size of at least 10,000: a level of 5 % has a standard error of 0.22 %, the
    threshold is six of them. Eight comparisons, false alarms 2e-8. The control is an interval of half the width.
    """
    law = exact(*FEW, FIRST)
    found = posterior(Counts(*FEW), 20_000, reference="first", seed=3)
    assert found.ess > 10_000
    ends = np.concatenate(found.intervals(0.9))
    marginals = [*law.theta, *law.kappa]

    def levels(intervals: Floats) -> Floats:
        return np.array([marginal.cdf(pair) for marginal, pair in zip(marginals[:2], intervals[:2], strict=True)])

    assert (np.abs(levels(ends) - [0.05, 0.95]) < 0.013).all()
    middle = ends.mean(axis=1, keepdims=True)
    assert not (np.abs(levels(middle + (ends - middle) / 2) - [0.05, 0.95]) < 0.013).all()
    np.testing.assert_array_equal(found.kappa[:, 0], 1)


def test_each_part_is_scaled_by_itself() -> None:
    found = posterior(_counts([[40, 0, 20], [0, 60, 0], [30, 0, 10], [0, 0, 0]]), 2000, seed=13)
    np.testing.assert_array_equal(found.kappa[:, [0, 2]].max(axis=1), 1)
    np.testing.assert_array_equal(found.kappa[:, 1], 1)
    assert found.theta[:, 1].mean() == pytest.approx(0.5, abs=0.05)  # a half of 60 clicked


def test_an_item_never_shown_has_the_click_rate_it_may_have_at_the_most_visible_position() -> None:
    nothing = posterior(Counts(np.zeros((1, 2)), np.zeros((1, 2))), 4000)
    assert nothing.theta.mean() == pytest.approx(1 / 2 * 2 / 3, abs=0.03)  # a uniform theta, the larger of two kappas
    first = posterior(Counts([[3, 1], [0, 0]], [[2, 2], [0, 0]]), 4000, reference="first")
    assert first.theta[:, 1].mean() == pytest.approx(1 / 2, abs=0.03)


@pytest.mark.parametrize("prior", ["uniform", "learnt", "falling", (2.0, 3.0)])
def test_the_same_seed_gives_the_same_draws(prior: Any) -> None:
    first, second, other = (posterior(Counts(*FEW), 100, prior, seed=seed) for seed in (14, 14, 15))
    np.testing.assert_array_equal(first.theta, second.theta)
    np.testing.assert_array_equal(first.kappa, second.kappa)
    assert not np.array_equal(first.theta, other.theta)


def test_draws_until_the_ess_is_reached_or_the_budget_is_spent() -> None:
    counts = Counts(*MILLION)
    easy, dear = (posterior(counts, 400, ess=wanted, budget=40_000) for wanted in (40, 390))
    assert easy.reached
    assert easy.ess >= 40
    assert easy.sweeps == 4 * BURN_IN + 400  # the first record was good enough
    assert "40 was reached" in easy.note
    assert dear.sweeps > easy.sweeps
    poor = posterior(counts, 400, ess=390, budget=1)
    assert not poor.reached
    assert poor.sweeps == easy.sweeps
    for fact in ("390 was not reached", "2,400 sweeps in 4 chains", "budget of 1"):
        assert fact in poor.note
    assert poor.note in str(poor.summary())


def test_any_number_of_draws() -> None:
    for draws in (1, 2, 7, 1001):
        found = posterior(Counts(*FEW), draws)
        assert found.theta.shape == (draws, 2)
        assert found.kappa.shape == found.displays.shape == (draws, 3)
    few = posterior(Counts(*FEW), 2, ess=1)
    assert not few.reached
    assert "2 draws, too few" in few.note


def test_summary_has_a_row_for_each_theta_and_kappa() -> None:
    found = posterior(Counts(*ONE_NEVER_SHOWN), 1000, labels=LABELS)
    summary = found.summary(0.8)
    assert [row.name for row in summary.rows] == [
        "theta[hat]", "theta[tie]", "theta[bag]", "kappa[hero]", "kappa[side]",
    ]  # fmt: skip
    assert "80 % intervals; 1,000 draws" in str(summary)
    for row, draws in zip(summary.rows, np.concatenate([found.theta, found.kappa], axis=1).T, strict=True):
        assert row.mean == pytest.approx(draws.mean())
        assert ((draws >= row.low) & (draws <= row.high)).mean() == pytest.approx(0.8, abs=0.2)  # kappa: many are 1
        assert row.low <= row.mean <= row.high


def test_the_best_display_and_its_probability() -> None:
    """Clicks 9 : 1 leave no doubt about the order of items 0 and 1, and none about the positions."""
    found = posterior(Counts([[900, 450], [100, 50], [1, 0]], [[100, 550], [900, 950], [999, 1000]]), 1000)
    assert found.best([0, 1]) == 1.0
    assert found.best({"0": "0", "1": "1"}) == 1.0
    assert found.best([1, 0]) == 0.0
    np.testing.assert_array_equal(found.at_position, [[1, 0], [0, 1], [0, 0]])
    unsure = posterior(Counts(np.ones((3, 2)), np.ones((3, 2))), 4000)  # six displays, all alike
    assert unsure.at_position == pytest.approx(np.full((3, 2), 1 / 3), abs=0.06)
    assert sum(unsure.best([i, j]) for i in range(3) for j in range(3) if i != j) == pytest.approx(1.0)


def test_retired_items_are_in_no_best_display() -> None:
    counts = Counts([[900, 450], [100, 50], [1, 0]], [[100, 550], [900, 950], [999, 1000]])
    found = posterior(counts, 400, labels=LABELS._replace(allowed=np.array([False, True, True])))
    assert found.best({"hero": "tie", "side": "bag"}) == 1.0
    assert found.at_position[0].sum() == 0.0


@pytest.mark.parametrize(
    "display", [[0, 99], [0, 0], [-1, -1], [0], "01", {}, {"0": "0"}, {"0": "0", "1": "0"}, {"9": "0"}, [0.5, 1], 7]
)
def test_a_display_that_makes_no_sense_is_refused(display: Any) -> None:
    with pytest.raises(BadInput, match=r"display|position"):
        posterior(Counts(np.ones((3, 2)), np.ones((3, 2))), 40).best(display)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"prior": (1.0, float("nan"))}, "a, b of at least 1"),
        ({"prior": (0.5, 1.0)}, "a, b of at least 1"),
        ({"prior": b"ab"}, "'falling', or a pair"),
        ({"prior": "flat"}, "unknown prior"),
        ({"draws": 10**12}, "too many"),
        ({"draws": 0}, "draws = 0"),
        ({"ess": 5000.0}, "ess = 5000"),
        ({"ess": float("nan")}, "ess = nan"),
        ({"budget": 0}, "budget = 0"),
        ({"reference": "last"}, "unknown reference"),
    ],
)
def test_nonsense_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        posterior(Counts(*FEW), **wrong)


def test_an_interrupt_is_heard() -> None:
    """The main thread is interrupted a second into a record that would take hours."""
    posterior(Counts(*FEW), 16)  # compiled
    main = threading.main_thread().ident or 0
    timer = threading.Timer(1.0, signal.pthread_kill, [main, signal.SIGINT])
    begun = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        posterior(Counts(*FEW), 1_000_000, ess=1_000_000, budget=10**12)
    assert time.monotonic() - begun < HANG


def test_more_positions_than_items_leave_the_least_visible_empty() -> None:
    found = posterior(Counts([[90, 60, 10]], [[10, 40, 90]]), 400)
    assert found.at_position == pytest.approx(np.array([[1.0, 0.0, 0.0]]), abs=0.05)
    assert found.best([0, -1, -1]) == pytest.approx(found.at_position[0, 0])


def test_a_learnt_prior_draws_items_together() -> None:
    """Eleven items of 0.1, well known, tell what a twelfth that was never shown is like; a uniform prior does not."""
    shown, clicks = np.full((12, 2), 1000.0), np.tile([100.0, 50.0], (12, 1))
    shown[11] = clicks[11] = 0.0
    counts = Counts(clicks, shown - clicks)
    learnt, uniform = (posterior(counts, 1000, prior).theta[:, 11] for prior in ("learnt", "uniform"))
    falling = posterior(counts, 400, "falling")
    assert (falling.beta[:, 0] == 1.0).all()
    assert falling.beta[:, 1].std() > 0.0
    assert learnt.mean() == pytest.approx(0.1, abs=0.02)
    assert np.quantile(uniform, 0.1) < 0.03
    assert np.quantile(learnt, 0.1) > 0.06


def test_best_displays_of_parts_of_the_page() -> None:
    counts = Counts([[40, 20, 1], [20, 10, 1], [2, 1, 9]], [[60, 80, 99], [80, 90, 99], [98, 99, 91]])
    everything = np.array([True, True, True])
    groups = ((everything, np.array([0, 1, 2])), (np.array([False, True, True]), np.array([1])))
    named = Labels(["hat", "tie", "bag"], ["hero", "side", "foot"], everything, groups)
    found = posterior(counts, draws=200, labels=named)
    whole, part = found.group_displays
    assert (whole == found.displays).all()
    assert part.shape == (200, 1)
    assert set(part.ravel()) <= {1, 2}
    assert (part == 1).mean() > 0.9
