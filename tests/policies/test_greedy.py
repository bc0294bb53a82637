"""greedy and epsilon_greedy show the best display under their estimate, except for random replacements."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.counts import Counts
from slotwise.inference.estimation.running_estimate import Estimator, initial_estimate, refresh
from slotwise.inference.estimation.svd import Fill
from slotwise.policies import epsilon_greedy, greedy
from slotwise.policies._policy_module import make_params

MODEL = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [1.0, 0.5, 0.2])


def some_counts(seed: int = 3, shown: float = 300.0) -> Counts:
    """Counts with displays of every item at every position."""
    rng = np.random.default_rng(seed)
    views = rng.integers(0.5 * shown, 1.5 * shown, (5, 3))
    clicks = rng.binomial(views, np.outer(MODEL.theta, MODEL.kappa))
    return Counts(clicks, views - clicks)


def lapack(counts: Counts, fill: float) -> tuple[np.ndarray, np.ndarray]:
    """The paper's formula, computed by LAPACK."""
    views = counts.clicks + counts.skips
    rates = np.where(views > 0, counts.clicks / np.maximum(views, 1), fill)
    u, zeta, v = np.linalg.svd(rates)
    first = v[0] * np.sign(v[0, 0])
    return np.clip(first[0] * zeta[0] * u[:, 0] * np.sign(v[0, 0]), 0, 1), np.clip(first / first[0], 0, 1)


def converged_state(estimator: Estimator, fill: Fill, counts: Counts) -> greedy.State:
    """A state whose estimate has converged on these counts."""
    state = greedy.State(counts.arrays(), initial_estimate(5, 3), np.zeros(5), np.zeros(3))
    for _ in range(300):
        refresh(int(estimator), int(fill), state)
    return state


@pytest.mark.parametrize("fill", list(Fill))
def test_the_online_svd_converges_to_that_of_lapack(fill: Fill) -> None:
    counts = some_counts()
    counts.clicks[4, 1] = counts.skips[4, 1] = 0  # an unobserved cell
    never = 1.0 if fill == Fill.ONE else counts.clicks.sum() / (counts.clicks + counts.skips).sum()
    theta, kappa = lapack(counts, never)
    state = converged_state(Estimator.SVD, fill, counts)
    np.testing.assert_allclose(state.estimate.theta, theta, atol=1e-9)
    np.testing.assert_allclose(state.estimate.kappa, kappa, atol=1e-9)


def test_the_online_svd_stays_close_to_lapack_during_a_run() -> None:
    """Two iterations per round from the last estimate stay close to LAPACK's estimate for the counts of that round."""
    rng, visitors = np.random.default_rng(0), np.random.default_rng(1)
    params = make_params(epsilon_greedy, {"c": 50.0}, None)
    state = epsilon_greedy.init(params, 5, 3, rng)
    display = np.empty(3, np.int64)
    gaps = []
    for _ in range(500):
        epsilon_greedy.choose(params, state, rng, display)
        theta, kappa = lapack(Counts.of(state.counts), 1.0)
        gaps.append(max(abs(state.estimate.theta - theta).max(), abs(state.estimate.kappa - kappa).max()))
        clicks = visitors.random(3) < MODEL.theta[display] * MODEL.kappa
        epsilon_greedy.update(params, state, display, clicks.astype(np.int64))
    assert max(gaps[100:]) < 0.01
    assert np.median(gaps) < 1e-3


@pytest.mark.parametrize("estimator", ["svd", "em"])
def test_it_recovers_the_order_from_many_counts(estimator: str) -> None:
    params = make_params(greedy, {"estimator": estimator}, None)
    counts = some_counts(shown=20_000)
    rng = np.random.default_rng(1)
    state = greedy.State(counts.arrays(), initial_estimate(5, 3), np.zeros(5), np.zeros(3))
    display = np.empty(3, np.int64)
    for _ in range(100):
        greedy.choose(params, state, rng, display)
    assert display.tolist() == [0, 1, 2]


@pytest.mark.parametrize("estimator", ["svd", "em"])
def test_equal_items_are_shown_in_random_order(estimator: str) -> None:
    params = make_params(greedy, {"estimator": estimator}, None)
    rng = np.random.default_rng(5)
    state = greedy.init(params, 6, 2, rng)
    display, firsts = np.empty(2, np.int64), []
    for _ in range(600):
        greedy.choose(params, state, rng, display)
        firsts.append(int(display[0]))
    # each of six items is first 100 times on average, with a standard deviation of 9.1; the probability that any of
    # the six is off by five deviations is below 1 in 200,000 seeds
    assert all(abs(firsts.count(item) - 100) < 46 for item in range(6))


@pytest.mark.parametrize(("n_items", "c", "replaced"), [(8, 1e9, 1.0), (8, 0.0, 0.0), (3, 1e9, 0.0), (8, 20.0, 0.2)])
def test_each_item_is_replaced_with_its_probability(n_items: int, c: float, replaced: float) -> None:
    """With probability min(1, c/t), here t = 100, per position; never if every item is in the display (N = L)."""
    params = make_params(epsilon_greedy, {"c": c}, None)
    clicks, skips = np.zeros((n_items, 3)), np.zeros((n_items, 3))
    clicks[[0, 1, 2], [0, 1, 2]] = [40, 20, 10]
    skips[:, :] = 59 / n_items
    rng = np.random.default_rng(7)
    state = greedy.State(
        Counts(clicks, skips, displays=99).arrays(), initial_estimate(n_items, 3), np.zeros(n_items), np.zeros(3)
    )
    display, usual = np.empty(3, np.int64), np.empty(3, np.int64)
    for _ in range(200):
        epsilon_greedy.choose(make_params(epsilon_greedy, {"c": 0.0}, None), state, rng, usual)
    away, rounds = 0, 2000
    for _ in range(rounds):
        epsilon_greedy.choose(params, state, rng, display)
        assert len(set(display.tolist())) == 3
        away += int((display != usual).sum())
    # a replaced item returns only by a later replacement in the same display, with a probability below 1/25
    share = away / (3 * rounds)
    error = np.sqrt(replaced * (1 - replaced) / (3 * rounds))
    assert share == pytest.approx(replaced, abs=5 * error + 0.07 * replaced)


def test_greedy_has_lucky_and_unlucky_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """The paper: lucky and unlucky runs. The worst of 20 runs loses far more than the best."""
    result = sw.simulate("greedy", MODEL, rounds=3000, runs=20)
    assert result.regret[:, -1].max() > 10 * max(result.regret[:, -1].min(), 1.0)
