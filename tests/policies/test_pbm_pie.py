"""PBM-PIE, compared with a slow, plain implementation of its pseudo-code."""

import math

import numpy as np
import pytest

import slotwise as sw
from slotwise.inference.estimation.running_estimate import initial_estimate_from
from slotwise.paper.named_click_models import setting
from slotwise.policies import pbm_pie
from slotwise.policies._policy_module import make_params
from tests.policies.plain_python_replay import Plain, best_first, replay

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


def plain(model: sw.PBM) -> Plain:
    kappa, last = model.kappa, int(np.argmin(model.kappa))

    def choose(s: np.ndarray, f: np.ndarray, t: int, rng: np.random.Generator) -> list[int]:
        if t <= 6:
            return [(t - 1 + position) % 6 for position in range(3)]
        theta = s.sum(axis=1) / ((s + f) @ kappa)
        display = best_first(theta, kappa)
        if rng.random() < 0.5:
            return display
        found = 0
        leaders = set(display)
        least = theta[display[last]]
        for item in range(6):  # over all items
            if item not in leaders and plain_index(s[item], f[item], kappa, math.log(t)) >= least:
                found += 1
                if rng.random() * found < 1:
                    display[last] = item
        return display

    return choose


def test_it_follows_its_pseudo_code() -> None:
    shown = replay(pbm_pie, plain(MODEL), MODEL, rounds=250)
    assert {display[2] for display in shown[6:]} >= {1, 2, 3, 4}  # the last position explores beyond the leaders


def test_it_follows_its_pseudo_code_when_leaders_tie() -> None:
    """Clicks are so rare that most items tie at 0; the least visible position is neither the first nor the last."""
    model = sw.PBM([0.02] * 6, [0.5, 0.2, 1.0])
    replay(pbm_pie, plain(model), model, rounds=250)


def test_the_tried_item_is_at_the_least_visible_position_when_all_leaders_tie() -> None:
    """After twelve rounds without a click every theta_hat is 0, so items tie and all that are not leaders are tried."""
    model = sw.PBM([0.1] * 10, [1.0, 0.1, 0.6, 0.75, 0.3])
    params, rng = make_params(pbm_pie, {}, model.arrays()), np.random.default_rng(0)
    state = pbm_pie.init(params, 10, 5, rng)
    display = np.empty(5, np.int64)
    for _ in range(12):
        pbm_pie.choose(params, state, rng, display)
        pbm_pie.update(params, state, display, np.zeros(5, np.int64))
    tried = []
    for _ in range(2000):
        pbm_pie.choose(params, state, rng, display)
        assert np.delete(display, 1).tolist() == [0, 2, 1, 3]  # the leaders, in the order of their indices
        tried.append(int(display[1]))
    # half of the choices try one of five items; 200 each on average, with a standard deviation of 13.4: five of them
    # are exceeded by any of the five items in less than 1 of 300,000 seeds
    assert set(tried) == {4, 5, 6, 7, 8, 9}
    assert all(abs(tried.count(item) - 200) < 67 for item in (5, 6, 7, 8, 9))


def test_the_first_rounds_show_every_item_everywhere() -> None:
    shown = replay(pbm_pie, plain(MODEL), MODEL, rounds=6)
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


# mean regret of an independent implementation: at 1e4 with standard errors, at 1e5 over 40 runs without recorded ones
CHECK_VALUES = {"standard": (112.5, 3.7, 179.0), "near-zero": (96.7, 1.5, 173.0), "near-one": (232.0, 9.0, 516.0)}


@pytest.mark.statistics
@pytest.mark.parametrize("name", CHECK_VALUES)
def test_regret_agrees_with_the_check_values(name: str) -> None:
    """Within four combined standard errors: a false alarm once in 16,000 comparisons of correct implementations.

    The standard errors of the check values at 1e5 are estimated from our spread.
    """
    early, early_error, late = CHECK_VALUES[name]
    result = sw.simulate("pbm_pie", setting(name), runs=400, seed=2)
    mean, error = result.mean(), result.standard_error()
    for t, value, value_error in ((10_000, early, early_error), (100_000, late, error[-1] * math.sqrt(400 / 40))):
        k = int(np.searchsorted(result.rounds, t))
        gap = abs(mean[k] - value) / math.hypot(error[k], value_error)
        print(
            f"pbm_pie {name} t={t:,}: {mean[k]:.1f} ± {error[k]:.1f} (check {value} ± {value_error:.1f}), gap {gap:.1f}"
        )
        assert gap < 4
