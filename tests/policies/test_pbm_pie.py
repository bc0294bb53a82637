"""PBM-PIE, compared with a slow, plain implementation of its pseudo-code."""

import math

import numpy as np
import pytest

import slotwise as sw
from slotwise.inference.estimation.running_estimate import initial_estimate_from
from slotwise.paper.named_click_models import setting
from slotwise.policies import pbm_pie
from slotwise.policies._policy_module import make_params
from tests.policies.replay import best_first, replay

MODEL = sw.PBM([0.6, 0.3, 0.2, 0.15, 0.1, 0.1], [1.0, 0.5, 0.2])


def divergence(p: float, q: float) -> float:
    """d(p, q) of two Bernoulli distributions."""
    if (q <= 0 and p > 0) or (q >= 1 and p < 1):
        return math.inf
    head = p * math.log(p / q) if p > 0 else 0.0
    return head + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def plain_index(s: np.ndarray, f: np.ndarray, kappa: np.ndarray, threshold: float) -> float:
    """U_i by bisection, directly from its definition."""

    def total(q: float) -> float:
        return sum(
            (s[p] + f[p]) * divergence(s[p] / (s[p] + f[p]), kappa[p] * q) for p in range(len(s)) if s[p] + f[p] > 0
        )

    low, high = 0.0, 1.0
    for _ in range(200):  # the minimiser m, by thirds
        a, b = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, b) if total(a) <= total(b) else (a, high)
    m = (low + high) / 2
    if total(m) > threshold:
        return m
    if total(1.0) <= threshold:
        return 1.0
    low, high = m, 1.0
    for _ in range(100):
        q = (low + high) / 2
        low, high = (q, high) if total(q) <= threshold else (low, q)
    return low


def plain(s: np.ndarray, f: np.ndarray, t: int, rng: np.random.Generator) -> list[int]:
    if t <= 6:
        return [(t - 1 + position) % 6 for position in range(3)]
    theta = s.sum(axis=1) / ((s + f) @ MODEL.kappa)
    display = best_first(theta, MODEL.kappa)
    last = int(np.argmin(MODEL.kappa))
    if rng.random() < 0.5:
        return display
    found = 0
    leaders = set(display)
    least = theta[display[last]]
    for item in range(6):  # over all items
        if item not in leaders and plain_index(s[item], f[item], MODEL.kappa, math.log(t)) >= least:
            found += 1
            if rng.random() * found < 1:
                display[last] = item
    return display


def test_it_follows_its_pseudo_code() -> None:
    shown = replay(pbm_pie, plain, MODEL, rounds=250)
    assert {display[2] for display in shown[6:]} >= {1, 2, 3, 4}  # the last position explores beyond the leaders


def test_the_first_rounds_show_every_item_everywhere() -> None:
    shown = replay(pbm_pie, plain, MODEL, rounds=6)
    assert {(item, position) for display in shown for position, item in enumerate(display)} == {
        (item, position) for item in range(6) for position in range(3)
    }


@pytest.mark.parametrize("seed", range(8))
def test_the_index_agrees_with_bisection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    params = make_params(pbm_pie, {}, MODEL.arrays())
    state = pbm_pie.init(params, 6, 3, rng)
    views = rng.integers(0, 10 ** rng.integers(1, 5), (6, 3)).astype(float)
    state.counts.clicks[:] = rng.binomial(views.astype(int), rng.random((6, 1)) * rng.random(3))
    state.counts.clicks[0] = 0  # no clicks at all
    state.counts.skips[:] = views - state.counts.clicks
    state.counts.skips[1] = 0  # nothing but clicks
    state.counts.item_clicks[:] = state.counts.clicks.sum(axis=1)
    for item in range(6):
        for threshold in (0.0, 1.0, 9.0):
            peak = pbm_pie.mode(state.counts.item_clicks[item], state.counts.skips, item, MODEL.kappa)
            ours = pbm_pie.index(state, item, threshold, peak)
            expected = plain_index(state.counts.clicks[item], state.counts.skips[item], MODEL.kappa, threshold)
            if state.counts.clicks[item].sum() + state.counts.skips[item].sum() > 0:
                assert ours == pytest.approx(expected, abs=2e-6), (item, threshold)


def test_the_index_is_the_minimiser_when_even_that_exceeds_the_threshold() -> None:
    """Clicks far above what kappa allows at one position: even m exceeds the threshold, so U is m."""
    state = pbm_pie.State(
        sw.Counts([[0, 0, 90]], [[100, 0, 10]]).arrays(),
        initial_estimate_from(0, MODEL.arrays(), 1, 3),
        np.zeros(1),
        np.zeros(1, np.int64),
    )
    peak = pbm_pie.mode(90.0, state.counts.skips, 0, MODEL.kappa)
    assert pbm_pie.index(state, 0, math.log(100), peak) == peak


# mean regret at 1e4 and 1e5 over 40 runs of an independent implementation, without recorded standard errors
CHECK_VALUES = {"standard": (107, 179), "near-zero": (114, 173), "near-one": (224, 516)}


@pytest.mark.statistics
@pytest.mark.parametrize("name", CHECK_VALUES)
def test_regret_agrees_with_the_check_values(name: str) -> None:
    """They agree within four combined standard errors.

    Those of the check values are estimated from our spread over 40 runs.
    """
    result = sw.simulate("pbm_pie", setting(name), runs=200, seed=2)
    for t, value in zip((10_000, 100_000), CHECK_VALUES[name], strict=True):
        regret = result.regret[:, int(np.searchsorted(result.rounds, t))]
        error = regret.std() * math.sqrt(1 / 200 + 1 / 40)
        gap = abs(regret.mean() - value) / error
        print(f"pbm_pie {name} t={t:,}: {regret.mean():.1f} (check {value}), {gap:.1f} errors apart")
        assert gap < 4
