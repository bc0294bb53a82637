"""PMED: its estimate, the decomposition into displays, and its queue, step by step."""

import numpy as np
import pytest
from scipy.optimize import minimize

import slotwise as sw
from slotwise.checks import BadInput, Floats, Ints
from slotwise.clickmodels.pbm import UNKNOWN, Model
from slotwise.counts import CountArrays
from slotwise.inference.bounds.birkhoff_decomposition import decompose, max_displays
from slotwise.inference.estimation.ordered_em import most_likely, pool
from slotwise.policies import pmed
from slotwise.policies._policy_module import make_params

# the policy's own kernels run uncompiled, with the same results: so the tests start sooner
init, choose, update = (getattr(kernel, "py_func", kernel) for kernel in (pmed.init, pmed.choose, pmed.update))
IN_ORDER = np.arange(2)


def start(n_items: int, n_positions: int, model: Model = UNKNOWN, **params: float) -> tuple[pmed.Params, pmed.State]:
    settings = make_params(pmed, params, model)
    return settings, init(settings, n_items, n_positions, np.random.default_rng(0))


def count_arrays(clicks: Floats, skips: Floats) -> CountArrays:
    displays = np.array([(clicks + skips)[:, 0].sum()])
    return CountArrays(clicks, skips, skips.T.copy(), clicks.sum(axis=1), clicks.sum(axis=0), displays)


def queued(state: pmed.State) -> list[list[int]]:
    return state.queue[state.queue_range[0] : state.queue_range[1]].tolist()


def run_rounds(params: pmed.Params, state: pmed.State, model: sw.PBM, rounds: int) -> list[list[int]]:
    visitors, rng = np.random.default_rng(1), np.random.default_rng(2)
    display = np.empty(model.kappa.size, np.int64)
    shown = []
    for _ in range(rounds):
        choose(params, state, rng, display)
        clicks = visitors.random(display.size) < model.theta[display] * model.kappa
        update(params, state, display, clicks.astype(np.int64))
        shown.append(display.tolist())
    return shown


def displays_of(required: Floats) -> tuple[Ints, Floats]:
    most = max_displays(*required.shape)
    displays, weights = np.empty((most, required.shape[1]), np.int64), np.empty(most)
    n_displays = decompose(required.copy(), displays, weights)
    return displays[:n_displays], weights[:n_displays]


def test_a_decomposition_sums_to_the_required_counts_along_single_cycles() -> None:
    """100 random sums of displays: off the diagonal, the displays of the decomposition have the same sum."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        n_items = int(rng.integers(2, 9))
        n_positions = int(rng.integers(1, n_items + 1))
        required = np.zeros((n_items, n_positions))
        for _ in range(int(rng.integers(1, 8))):
            required[rng.permutation(n_items)[:n_positions], np.arange(n_positions)] += rng.exponential()
        required[np.arange(n_positions), np.arange(n_positions)] = 0.0
        displays, weights = displays_of(required)
        total = np.zeros_like(required)
        for display, weight in zip(displays, weights, strict=True):
            assert len(set(display.tolist())) == n_positions
            assert weight > 0.0
            assert single_cycle(display)
            total[display, np.arange(n_positions)] += weight
        total[np.arange(n_positions), np.arange(n_positions)] = 0.0
        assert total == pytest.approx(required, abs=1e-9)


def single_cycle(display: Ints) -> bool:
    """Whether all displaced items form one cycle: following displacements from the first reaches all others."""
    moved = [position for position in range(display.size) if display[position] != position]
    outside = [position for position in moved if display[position] >= display.size]
    position, met = (outside or moved)[0], 0
    while position in moved and met < len(moved):
        met += 1
        onward = [p for p in moved if display[p] == position]  # where the item displaced from here went
        position = onward[0] if onward else -1
    return met == len(moved)


def test_zero_required_counts_give_no_display() -> None:
    assert displays_of(np.zeros((4, 2)))[1].size == 0
    assert displays_of(np.zeros((1, 1)))[1].size == 0


def test_shares_out_of_order_are_pooled() -> None:
    counts = count_arrays(np.zeros((1, 4)), np.array([[10.0, 30.0, 10.0, 10.0]]))
    kappa = np.array([0.4, 0.8, 0.1, 0.3])
    pool(counts, np.arange(4), kappa, np.empty(4))
    assert kappa == pytest.approx([0.7, 0.7, 0.2, 0.2])
    pool(counts, np.array([3, 2, 1, 0]), kappa, np.empty(4))  # reversed: all four are out of order
    assert kappa == pytest.approx([0.5333333333] * 4)


def test_the_estimate_is_the_most_likely_ordered_one() -> None:
    """Compared with scipy's constrained maximum of the likelihood, for counts whose free maximum is out of order."""
    rng = np.random.default_rng(4)
    views = np.full((4, 3), 60.0)
    clicks = rng.binomial(60, np.outer([0.5, 0.4, 0.2, 0.1], [0.9, 0.4, 0.5])).astype(float)
    counts = count_arrays(clicks, views - clicks)

    def loss(logs: Floats) -> float:
        p = np.exp(np.minimum(logs[:4, None] + logs[None, 4:], -1e-9))
        return -float((clicks * np.log(p) + (views - clicks) * np.log1p(-p)).sum())

    order = [{"type": "ineq", "fun": lambda logs, k=k: logs[4 + k] - logs[5 + k]} for k in range(2)]
    best = minimize(loss, np.log([0.3] * 4 + [0.8, 0.7, 0.6]), constraints=order, options={"maxiter": 500})
    theta, kappa = np.full(4, 0.5), np.full(3, 0.5)
    most_likely(counts, np.arange(3), 5_000, 1e-12, theta, kappa)
    assert loss(np.log(np.concatenate([theta, kappa]))) == pytest.approx(best.fun, abs=1e-4)
    assert kappa[0] > kappa[1] == pytest.approx(kappa[2])


def test_an_early_click_does_not_trap_the_estimate() -> None:
    """After a click in the first display theta is 1, and EM alone would never leave that value."""
    first = count_arrays(np.array([[1.0]]), np.array([[0.0]]))
    theta, kappa = np.full(1, 0.5), np.full(1, 0.5)
    most_likely(first, np.arange(1), 100, 1e-9, theta, kappa)
    later = count_arrays(np.array([[1.0]]), np.array([[9.0]]))
    most_likely(later, np.arange(1), 2_000, 1e-12, theta, kappa)
    assert theta[0] * kappa[0] == pytest.approx(0.1, abs=1e-3)


def test_the_cycle_queues_displays_that_are_too_rare() -> None:
    queue = np.zeros((20, 2), np.int64)
    counts = count_arrays(np.zeros((3, 2)), np.array([[2.0, 2.0], [2.0, 1.0], [2.0, 2.0]]))
    assert pmed.queue_cycle(1.0, counts, IN_ORDER, queue) == 0
    assert pmed.queue_cycle(2.0, counts, IN_ORDER, queue) == 1
    assert queue[0].tolist() == [0, 1]  # item 1 had one display at position 1
    assert pmed.queue_cycle(3.0, counts, IN_ORDER, queue) == 3
    assert queue[:3].tolist() == [[0, 1], [1, 2], [2, 0]]
    assert pmed.queue_cycle(3.0, counts, IN_ORDER[::-1].copy(), queue) == 3
    assert queue[:3].tolist() == [[1, 0], [2, 1], [0, 2]]  # the first of the cycle on the most visible position


def queued_for(q: Floats, shown: Floats, items: list[int]) -> list[list[int]]:
    counts = count_arrays(np.zeros_like(shown), shown)
    queue = np.zeros((40, 2), np.int64)
    end = pmed.queue_missing(2.0, q, counts, np.array(items), IN_ORDER, queue, 0)
    return queue[:end].tolist()


def test_required_displays_are_queued_until_the_counts_cover_them() -> None:
    q = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 1.5]])  # the third-best item at position 1, 1.5 x log t = 3 times
    items = [2, 0, 1]  # by attractiveness: the third-best item is item 1
    shown = np.zeros((3, 2))
    assert queued_for(q, shown, items) == [[2, 1]]
    shown[1, 1] = 2.9
    assert queued_for(q, shown, items) == [[2, 1]]
    shown[1, 1] = 3.0
    assert queued_for(q, shown, items) == []


def test_rounds_cover_one_display_only() -> None:
    """Two displays need item 2 at position 0: one moves item 0 down to position 1, the other removes it."""
    q = np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0]])  # item 2 at position 0 twice, and once item 0 goes to position 1
    shown = np.zeros((3, 2))
    both = queued_for(q, shown, [0, 1, 2])
    assert sorted(both) == [[2, 0], [2, 1]]
    shown[2, 0], shown[0, 1] = 2.0, 2.0  # enough for one of the two
    assert len(queued_for(q, shown, [0, 1, 2])) == 1
    shown[2, 0] = 4.0
    assert queued_for(q, shown, [0, 1, 2]) == []


def test_the_queue_step_by_step() -> None:
    """In round 1, log t = 0 requires nothing.

    Round 2 queues the whole cycle. Nothing is planned until all are shown.
    """
    params, state = start(3, 2)
    display, rng = np.empty(2, np.int64), np.random.default_rng(0)
    choose(params, state, rng, display)
    assert display.tolist() == [0, 1]
    assert queued(state) == []
    update(params, state, display, np.array([1, 0]))
    choose(params, state, rng, display)
    assert display.tolist() == [1, 2]  # [0, 1] was shown once, which is more than sqrt(log 2)
    planned = queued(state)
    assert planned[0] == [2, 0]
    # the best estimate comes last: item 0 was clicked, item 1 was not, and item 2 still has its initial estimate
    assert planned[-1] == state.items[:2].tolist() == [0, 2]
    for remaining in range(len(planned), 0, -1):
        assert len(queued(state)) == remaining
        update(params, state, display, np.zeros(2, np.int64))
        choose(params, state, rng, display)
        assert display.tolist() == planned[len(planned) - remaining]
    assert queued(state) == []


def test_the_best_display_is_shown_in_the_end_for_any_order_of_positions() -> None:
    model = sw.PBM([0.1, 0.8, 0.4, 0.05], [0.5, 1.0])
    params, state = start(4, 2, model.arrays())
    assert state.positions.tolist() == [1, 0]
    shown = run_rounds(params, state, model, 1500)
    assert model.best_display().tolist() == [2, 1]
    assert sum(display == [2, 1] for display in shown[-500:]) > 400
    every = (state.counts.clicks + state.counts.skips).min()
    assert every >= np.sqrt(np.log(1400.0))


def test_without_a_model_positions_are_in_order() -> None:
    model = sw.PBM([0.1, 0.8, 0.4, 0.05], [1.0, 0.5])
    params, state = start(4, 2)
    shown = run_rounds(params, state, model, 1500)
    assert sum(display == [1, 2] for display in shown[-500:]) > 400


@pytest.mark.parametrize(("n_items", "n_positions"), [(1, 1), (3, 1), (3, 3), (7, 6)])
@pytest.mark.parametrize("chance", [0.0, 0.3, 1.0], ids=["no clicks", "all alike", "only clicks"])
def test_extreme_models(n_items: int, n_positions: int, chance: float) -> None:
    model = sw.PBM([chance] * n_items, [1.0] * n_positions)
    params, state = start(n_items, n_positions)
    for display in run_rounds(params, state, model, 60):
        assert len(set(display)) == n_positions
    assert np.isfinite(state.program.q).all()
    assert np.isfinite(state.theta).all()


def test_settings_are_checked() -> None:
    for name, value in {"exploration": -1.0, "tolerance": 0.0}.items():
        with pytest.raises(BadInput, match=name):
            make_params(pmed, {name: value}, UNKNOWN)
