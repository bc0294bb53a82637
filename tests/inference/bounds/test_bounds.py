"""The regret lower bounds, compared with check values, closed forms and brute force, and with the compiled program."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

import slotwise as sw
from slotwise.checks import BadInput, Floats
from slotwise.inference.bounds.bounds import known_kappa_bound, unknown_kappa_bound
from slotwise.inference.bounds.nearest_alternative import bernoulli_divergence, divergences, nearest, ranked_model
from slotwise.inference.bounds.regret_program import regret_program, solve_regret_program
from slotwise.paper.named_click_models import BEHAVIORAL, setting

KNOWN = {"q10": 6.234, "q19": 42.17, "q1": 41.95, "standard": 11.36, "near-zero": 8.28, "near-one": 108.4}
UNKNOWN = {"q10": 10.22, "q7": 18.13, "near-one": 157.5}
TINY = sw.PBM([0.5, 0.3, 0.2], [1.0, 0.4])


def solved(model: sw.PBM, tolerance: float) -> tuple[float, Floats]:
    """The regret and q of the compiled program, for items and positions in decreasing order."""
    program = regret_program(model.theta.size, model.kappa.size)
    return solve_regret_program(ranked_model(model.theta, model.kappa, True), tolerance, program), program.q


def random_model(rng: np.random.Generator) -> sw.PBM:
    n_items = int(rng.integers(2, 12))
    n_positions = int(rng.integers(1, min(n_items, 6) + 1))
    kappa = np.sort(rng.random(n_positions))[::-1]
    return sw.PBM(np.sort(rng.random(n_items) ** 2)[::-1], kappa / kappa[0])


@pytest.mark.parametrize(("name", "value"), KNOWN.items())
def test_known_kappa_check_values(name: str, value: float) -> None:
    assert known_kappa_bound(setting(name)) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(("name", "value"), UNKNOWN.items())
def test_unknown_kappa_check_values(name: str, value: float) -> None:
    assert unknown_kappa_bound(setting(name)) == pytest.approx(value, rel=5e-4)


@pytest.mark.parametrize("name", BEHAVIORAL)
def test_the_bound_with_unknown_kappa_is_at_least_that_with_known_kappa(name: str) -> None:
    model = setting(name)
    known, ordered, unknown = known_kappa_bound(model), unknown_kappa_bound(model, True), unknown_kappa_bound(model)
    assert known <= ordered * (1 + 2e-6)
    assert ordered <= unknown * (1 + 2e-6)


def test_one_position_is_the_ordinary_bandit() -> None:
    """With one position, all bounds equal Lai and Robbins' bound: the sum of each gap divided by its divergence."""
    model = sw.PBM([0.2, 0.6, 0.5], [0.8])
    value = sum((0.6 - theta) * 0.8 / bernoulli_divergence(0.8 * theta, 0.8 * 0.6) for theta in (0.2, 0.5))
    for bound in (known_kappa_bound(model), unknown_kappa_bound(model), unknown_kappa_bound(model, True)):
        assert bound == pytest.approx(value, rel=2e-6)


def test_two_items_on_two_positions() -> None:
    """The swap is the only other display: its loss divided by its divergence from the alternative with equal thetas."""
    (a, b), (k, m) = (0.7, 0.4), (1.0, 0.5)
    rate = bernoulli_divergence(a * m, b * m) + bernoulli_divergence(b * k, a * k)
    value = (a - b) * (k - m) / rate
    assert unknown_kappa_bound(sw.PBM([a, b], [k, m]), True) == pytest.approx(value, rel=2e-6)
    assert known_kappa_bound(sw.PBM([a, b], [k, m])) == 0.0  # with kappa known, the best display identifies theta


def test_order_and_invisible_positions_do_not_change_the_bound() -> None:
    model = sw.PBM([0.2, 0.5, 0.1, 0.3], [0.4, 1.0])
    same = sw.PBM([0.5, 0.3, 0.2, 0.1], [1.0, 0.4, 0.0])
    assert known_kappa_bound(model) == pytest.approx(known_kappa_bound(same))
    assert unknown_kappa_bound(model) == pytest.approx(unknown_kappa_bound(same), rel=2e-6)


def test_the_bound_is_zero_when_there_is_nothing_to_learn() -> None:
    for model in (sw.PBM([0.3], [1.0]), sw.PBM([0.3, 0.2], [0.0])):
        assert known_kappa_bound(model) == unknown_kappa_bound(model) == 0.0


def test_thetas_of_0_and_1_have_a_finite_bound() -> None:
    model = sw.PBM([1.0, 0.5, 0.0, 0.0], [1.0, 0.5])
    assert 0.0 < known_kappa_bound(model) < math.inf
    assert 0.0 < unknown_kappa_bound(model) < math.inf


def test_ties_are_rejected_with_their_names() -> None:
    last = sw.PBM([0.5, 0.3, 0.3], [1.0, 0.5])
    for bound in (known_kappa_bound, unknown_kappa_bound):
        with pytest.raises(BadInput, match=r"theta\[1\] = theta\[2\] = 0.3 is a tie"):
            bound(last)
    with pytest.raises(BadInput, match=r"theta\[2\] = theta\[3\] = 0.15 is a tie"):
        unknown_kappa_bound(setting("standard"))
    with pytest.raises(BadInput, match=r"kappa\[0\] = kappa\[1\] = 0.5 is a tie"):
        unknown_kappa_bound(sw.PBM([0.5, 0.3, 0.2], [0.5, 0.5]))
    assert unknown_kappa_bound(sw.PBM([0.5, 0.3, 0.2], [0.5, 0.5]), order_known=True) > 0.0
    with pytest.raises(BadInput, match="tolerance"):
        unknown_kappa_bound(TINY, tolerance=0.0)


def test_the_nearest_alternative_agrees_with_scipy() -> None:
    """20 random problems in up to 9 coordinates, compared with scipy's bounded minimiser from the same start."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        model = random_model(rng)
        ranked = ranked_model(model.theta, model.kappa, True)
        q = rng.exponential(size=(model.theta.size, model.kappa.size))
        fixed = int(rng.integers(ranked.z.size))
        start = ranked.z.copy()
        start[fixed] = 0.0
        z, row = start.copy(), np.empty(model.kappa.size * ranked.z.size)
        flat = np.array([q[i, p] for p in range(model.kappa.size) for i in range(model.theta.size) if i != p])

        def total(point: Floats, ranked=ranked, row=row, flat=flat) -> float:
            divergences(ranked, np.ascontiguousarray(point), row)
            return float(flat @ row)

        limits = [(low if k != fixed else 0.0, None if k != fixed else 0.0) for k, low in enumerate(ranked.low)]
        other = minimize(total, start, bounds=limits, method="L-BFGS-B", options={"maxfun": 20_000})
        value = nearest(ranked, q, fixed, 0.0, 1e-12, z)
        assert value == pytest.approx(total(z), rel=1e-9)
        assert value <= other.fun * (1 + 1e-9)
        assert value == pytest.approx(other.fun, rel=1e-3)


def test_the_program_agrees_with_brute_force() -> None:
    """Three items on two positions: every alternative on a fine grid is a row of one linear program."""
    ranked = ranked_model(TINY.theta, TINY.kappa, True)
    row, rows = np.empty(4), []
    for free in np.linspace(ranked.low[0], 3.0, 2001):
        rows += [(0.0, float(free) - 2.0), (float(free), 0.0)]
    cuts = []
    for z in rows:
        divergences(ranked, np.array(z), row)
        cuts.append(row.copy())
    # q_10, q_20, q_01, q_21: an item of the best display is at other positions at most as often as it is replaced
    balance = [[-1.0, -1.0, 1.0, 0.0], [1.0, 0.0, -1.0, -1.0]]
    cost = [(0.5 - 0.3) * 1.0, (0.5 - 0.2) * 1.0, (0.3 - 0.5) * 0.4, (0.3 - 0.2) * 0.4]
    brute = linprog(cost, np.vstack([balance, -np.array(cuts)]), np.r_[0.0, 0.0, -np.ones(len(cuts))]).fun
    assert solved(TINY, 1e-6)[0] == pytest.approx(brute, rel=1e-4)
    assert unknown_kappa_bound(TINY, order_known=True) == pytest.approx(brute, rel=1e-4)


def test_the_compiled_program_agrees_with_the_bound() -> None:
    """40 random models: two solvers of the linear program, the compiled one to a tolerance of 1e-3."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        model = random_model(rng)
        regret, q = solved(model, 1e-3)
        exact = unknown_kappa_bound(model, order_known=True)
        assert exact * (1 - 2e-5) <= regret <= exact * (1 + 1.1e-3)
        assert q.min() >= 0.0
        n_positions = model.kappa.size
        assert (q.sum(axis=0) - q[:n_positions].sum(axis=1)).min() >= -1e-9 * q.max()


def test_a_solution_is_a_good_start_for_the_next() -> None:
    """Within the tolerance, an empty program and one that was solved for a similar model give the same solution."""
    model = setting("near-one")
    program = regret_program(10, 5)
    solve_regret_program(ranked_model(model.theta, model.kappa, True), 1e-3, program)
    shifted = model.theta - 0.003 * np.arange(10)
    again = solve_regret_program(ranked_model(shifted, model.kappa, True), 1e-3, program)
    fresh = solved(sw.PBM(shifted, model.kappa), 1e-3)[0]
    assert again == pytest.approx(fresh, rel=1e-3)


def test_near_ties_and_extremes_are_solved() -> None:
    """300 degenerate models, ties broken by as little as 0.1 %: the solution is always finite and balanced."""
    rng = np.random.default_rng(1)
    for k in range(300):
        n_items = int(rng.integers(2, 16))
        n_positions = int(rng.integers(1, min(n_items, 7) + 1))
        apart = (1e-3, 1e-2, 1e-1)[k % 3]
        theta = np.sort(rng.choice([0.0, 0.01, 0.1, 0.15, 0.15, 0.3, 0.5, 1.0], n_items))[::-1]
        theta = np.clip(theta, 0.1 * apart**2, 1 - 0.1 * apart**2)
        for rank in range(1, n_items):
            theta[rank] = min(theta[rank], theta[min(rank, n_positions) - 1] * math.exp(-apart))
        kappa = np.sort(rng.choice([1.0, 0.7, 0.7, 0.3, 0.1, 0.01], n_positions))[::-1]
        regret, q = solved(sw.PBM(theta, kappa / kappa[0]), 1e-2)
        assert math.isfinite(regret)
        assert np.isfinite(q).all()
        assert (q.sum(axis=0) - q[:n_positions].sum(axis=1)).min() >= -1e-6 * q.max()
