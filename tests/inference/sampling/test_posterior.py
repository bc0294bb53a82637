"""The posterior: its connected components, and draws scaled within each component."""

import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput, Floats
from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.posterior import BURN_IN, LabelGroup, Labels, Posterior, posterior
from tests.inference.sampling.exact_posterior import exact
from tests.inference.sampling.posterior_cases import FEW, FIRST, MILLION, NONE, ONE_UNOBSERVED
from tests.waiting import HANG

LABELS = Labels(["hat", "tie", "bag"], ["hero", "side"], np.array([True, True, True]))


def _counts(shown: list[list[int]]) -> Counts:
    """Half of the displays are clicked; only the number of displays matters for the components."""
    half = np.array(shown) / 2
    return Counts(half, half)


@pytest.mark.parametrize(
    ("displays", "items", "positions"),
    [
        ([[1, 1], [1, 1]], [0, 0], [0, 0]),
        ([[1, 0], [0, 1]], [0, 1], [0, 1]),
        ([[0, 1], [1, 0]], [1, 0], [0, 1]),
        ([[1, 0], [1, 1]], [0, 0], [0, 0]),
        ([[1, 0], [0, 0], [0, 1]], [0, -1, 1], [0, 1]),
        ([[0, 0], [0, 0]], [-1, -1], [0, 1]),
        ([[0, 1, 0], [0, 1, 0]], [1, 1], [0, 1, 2]),
        ([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], [0, 1, 0], [0, 1, 0, 1]),
        # a path of links, which the search follows step by step, from the last position to the first
        ([[0, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0]], [0, 0, 0], [0, 0, 0, 0]),
    ],
)
def test_components(displays: list[list[int]], items: list[int], positions: list[int]) -> None:
    item_labels, position_labels = components(_counts(displays).arrays())
    assert item_labels.tolist() == items
    assert position_labels.tolist() == positions


def test_means_agree_with_the_exact_ones() -> None:
    """Law: means of the posterior scaled to max kappa = 1, by integration. 20,000 draws.

    Thresholds: six standard errors, computed from the effective sample size, which must be above 10,000. Five
    comparisons; false alarms 1e-6, which allows for an effective sample size that is 20 % off.
    """
    law = exact(*FEW, NONE)
    post = posterior(Counts(*FEW), 20_000, seed=12)
    assert post.ess > 10_000
    _agree(post, [marginal.scaled for marginal in law.theta], [marginal.scaled for marginal in law.kappa])
    np.testing.assert_array_equal(post.kappa.max(axis=1), 1)
    with pytest.raises(AssertionError):  # the negative control: the unscaled means
        _agree(post, [marginal.mean for marginal in law.theta], [marginal.scaled for marginal in law.kappa])


def _agree(post: Posterior, theta: list[float], kappa: list[float]) -> None:
    draws = np.concatenate([post.theta, post.kappa], axis=1)
    errors = draws.std(axis=0) / np.sqrt(post.effective_sample_sizes)
    assert (np.abs(draws.mean(axis=0) - [*theta, *kappa]) < 6 * errors).all()


def test_intervals_are_those_of_the_exact_law() -> None:
    """Law: given kappa_1 = 1, the exact CDF (by integration) at the ends of each 90 % interval is 5 % and 95 %.

    20,000 draws with an effective sample size of at least 10,000: a level of 5 % has a standard error of 0.22 %; the
    threshold is six of them. Eight comparisons, false alarms 2e-8. The negative control is intervals of half the width.
    """
    law = exact(*FEW, FIRST)
    post = posterior(Counts(*FEW), 20_000, reference="first", seed=3)
    assert post.ess > 10_000
    ends = np.concatenate(post.intervals(0.9))
    marginals = [*law.theta, *law.kappa]

    def levels(intervals: Floats) -> Floats:
        return np.array([marginal.cdf(pair) for marginal, pair in zip(marginals[:2], intervals[:2], strict=True)])

    assert (np.abs(levels(ends) - [0.05, 0.95]) < 0.013).all()
    middle = ends.mean(axis=1, keepdims=True)
    assert not (np.abs(levels(middle + (ends - middle) / 2) - [0.05, 0.95]) < 0.013).all()
    np.testing.assert_array_equal(post.kappa[:, 0], 1)


def test_each_component_is_scaled_separately() -> None:
    post = posterior(_counts([[40, 0, 20], [0, 60, 0], [30, 0, 10], [0, 0, 0]]), 2000, seed=13)
    np.testing.assert_array_equal(post.kappa[:, [0, 2]].max(axis=1), 1)
    np.testing.assert_array_equal(post.kappa[:, 1], 1)
    assert post.theta[:, 1].mean() == pytest.approx(0.5, abs=0.05)  # half of 60 displays clicked


def test_a_position_that_no_count_links_to_another_has_no_interval() -> None:
    """Its kappa is 1 in all draws, whatever its visibility is."""
    split = posterior(_counts([[40, 0, 20], [0, 60, 0], [30, 0, 10], [0, 0, 0]]), 400, seed=13)
    assert split.unlinked.tolist() == [False, True, False]
    assert np.isnan(split.intervals().kappa).tolist() == [[False, False], [True, True], [False, False]]
    assert not np.isnan(split.intervals().theta).any()
    assert split.n_components == 2
    lines = str(split.summary()).splitlines()
    assert lines[6].split() == ["kappa[1]", "1", "-", "-", "-", "-", "-"]
    assert "2 separate components" in lines[-1]
    joined = posterior(_counts([[40, 5, 20], [0, 60, 0]]), 40)
    assert not joined.unlinked.any()
    assert "components" not in str(joined.summary())
    assert not posterior(_counts([[40], [30]]), 40).unlinked.any()  # the only position is the most visible one
    unused = posterior(_counts([[40, 0], [30, 0]]), 40)  # nothing was ever shown at the second position
    assert unused.unlinked.tolist() == [True, False]
    first = posterior(_counts([[40, 0, 0], [0, 60, 0], [0, 0, 9]]), 40, reference="first")
    assert first.unlinked.tolist() == [False, True, True]  # the kappa of the first position is 1 by assumption


def test_theta_of_an_unobserved_item_is_its_prior_click_rate_at_the_most_visible_position() -> None:
    nothing = posterior(Counts(np.zeros((1, 2)), np.zeros((1, 2))), 4000)
    assert nothing.theta.mean() == pytest.approx(1 / 2 * 2 / 3, abs=0.03)  # means: uniform theta, larger of two kappas
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
    easy, costly = (posterior(counts, 400, ess=wanted, budget=40_000) for wanted in (40, 390))
    assert easy.reached
    assert easy.ess >= 40
    assert easy.sweeps == 4 * BURN_IN + 400  # the first record was good enough
    assert "40 was reached" in easy.note
    assert costly.sweeps > easy.sweeps
    poor = posterior(counts, 400, ess=390, budget=1)
    assert not poor.reached
    assert poor.sweeps == easy.sweeps
    for fact in ("390 was not reached", "2,400 sweeps in 4 chains", "budget of 1"):
        assert fact in poor.note
    assert poor.note in str(poor.summary())


def test_any_number_of_draws() -> None:
    for draws in (1, 2, 7, 1001):
        post = posterior(Counts(*FEW), draws)
        assert post.theta.shape == (draws, 2)
        assert post.kappa.shape == post.displays.shape == (draws, 3)
    few = posterior(Counts(*FEW), 2, ess=1)
    assert not few.reached
    assert "2 draws, too few" in few.note


def test_summary_has_a_row_for_each_theta_and_kappa() -> None:
    post = posterior(Counts(*ONE_UNOBSERVED), 1000, labels=LABELS)
    summary = post.summary(0.8)
    assert [row.name for row in summary.rows] == [
        "theta[hat]", "theta[tie]", "theta[bag]", "kappa[hero]", "kappa[side]",
    ]  # fmt: skip
    assert "80 % intervals; 1,000 draws" in str(summary)
    for row, draws in zip(summary.rows, np.concatenate([post.theta, post.kappa], axis=1).T, strict=True):
        assert row.mean == pytest.approx(draws.mean())
        assert ((draws >= row.low) & (draws <= row.high)).mean() == pytest.approx(0.8, abs=0.2)  # kappa: many are 1
        assert row.low <= row.mean <= row.high


def test_the_best_display_and_its_probability() -> None:
    """Clicks in the ratio 9 : 1 leave no doubt about the order of items 0 and 1, or about the positions."""
    post = posterior(Counts([[900, 450], [100, 50], [1, 0]], [[100, 550], [900, 950], [999, 1000]]), 1000)
    assert post.best([0, 1]) == 1.0
    assert post.best({"0": "0", "1": "1"}) == 1.0
    assert post.best([1, 0]) == 0.0
    np.testing.assert_array_equal(post.at_position, [[1, 0], [0, 1], [0, 0]])
    unsure = posterior(Counts(np.ones((3, 2)), np.ones((3, 2))), 4000)  # six displays, all alike
    assert unsure.at_position == pytest.approx(np.full((3, 2), 1 / 3), abs=0.06)
    assert sum(unsure.best([i, j]) for i in range(3) for j in range(3) if i != j) == pytest.approx(1.0)


def test_retired_items_are_in_no_best_display() -> None:
    counts = Counts([[900, 450], [100, 50], [1, 0]], [[100, 550], [900, 950], [999, 1000]])
    post = posterior(counts, 400, labels=LABELS._replace(allowed=np.array([False, True, True])))
    assert post.best({"hero": "tie", "side": "bag"}) == 1.0
    assert post.at_position[0].sum() == 0.0


@pytest.mark.parametrize(
    "display", [[0, 99], [0, 0], [-1, -1], [0], "01", {}, {"0": "0"}, {"0": "0", "1": "0"}, {"9": "0"}, [0.5, 1], 7]
)
def test_an_invalid_display_is_rejected(display: Any) -> None:
    with pytest.raises(BadInput, match=r"display|position"):
        posterior(Counts(np.ones((3, 2)), np.ones((3, 2))), 40).best(display)


@pytest.mark.parametrize(
    ("wrong", "message"),
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
def test_invalid_arguments_are_rejected(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        posterior(Counts(*FEW), **wrong)


def test_an_interrupt_stops_the_draws() -> None:
    """The main thread is interrupted after one second of a call that would take hours."""
    posterior(Counts(*FEW), 16)  # compile first
    main = threading.main_thread().ident or 0
    timer = threading.Timer(1.0, signal.pthread_kill, [main, signal.SIGINT])
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        posterior(Counts(*FEW), 1_000_000, ess=1_000_000, budget=10**12)
    assert time.monotonic() - start < HANG


def test_more_positions_than_items_leave_the_least_visible_empty() -> None:
    post = posterior(Counts([[90, 60, 10]], [[10, 40, 90]]), 400)
    assert post.at_position == pytest.approx(np.array([[1.0, 0.0, 0.0]]), abs=0.05)
    assert post.best([0, -1, -1]) == pytest.approx(post.at_position[0, 0])


def test_a_learnt_prior_shares_information_between_items() -> None:
    """Eleven well-known items with theta 0.1 inform the learnt prior of an unobserved twelfth; a uniform prior does not
    change.
    """
    displays, clicks = np.full((12, 2), 1000.0), np.tile([100.0, 50.0], (12, 1))
    displays[11] = clicks[11] = 0.0
    counts = Counts(clicks, displays - clicks)
    learnt, uniform = (posterior(counts, 1000, prior).theta[:, 11] for prior in ("learnt", "uniform"))
    falling = posterior(counts, 400, "falling")
    assert (falling.beta[:, 0] == 1.0).all()
    assert falling.beta[:, 1].std() > 0.0
    assert learnt.mean() == pytest.approx(0.1, abs=0.02)
    assert np.quantile(uniform, 0.1) < 0.03
    assert np.quantile(learnt, 0.1) > 0.06


def test_best_displays_of_groups_of_positions() -> None:
    counts = Counts([[40, 20, 1], [20, 10, 1], [2, 1, 9]], [[60, 80, 99], [80, 90, 99], [98, 99, 91]])
    everything = np.array([True, True, True])
    groups = (
        LabelGroup(everything, np.array([0, 1, 2]), np.full(3, EMPTY)),
        LabelGroup(np.array([False, True, True]), np.array([1]), np.full(1, EMPTY)),
        LabelGroup(everything, np.array([0, 2]), np.array([2, EMPTY])),
    )
    named = Labels(["hat", "tie", "bag"], ["hero", "side", "foot"], everything, groups)
    post = posterior(counts, draws=200, labels=named)
    all_positions, side_only, pinned = post.group_displays
    assert (pinned == [2, 0]).mean() > 0.9
    assert (pinned[:, 0] == 2).all()
    assert (all_positions == post.displays).all()
    assert side_only.shape == (200, 1)
    assert set(side_only.ravel()) <= {1, 2}
    assert (side_only == 1).mean() > 0.9
