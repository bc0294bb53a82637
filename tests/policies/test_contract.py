"""The contract of every policy: these tests run on all policies of the package, and on one from outside."""

import re
from itertools import permutations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels._click_model import ClickModel, Feedback
from slotwise.policies._policy_module import (
    can_serve,
    find,
    keeps_counts,
    learns,
    make_params,
    problem_with_visitors,
)
from slotwise.simulation.simulate import generators
from slotwise.simulation.simulation_loop import loop_of

ROOT = Path(__file__).parent.parent.parent
EXAMPLE = ROOT / "examples" / "click_share.py"
POLICIES = [*sw.policies(), str(EXAMPLE)]
MODEL = sw.PBM([0.5, 0.4, 0.1, 0.1, 0.05, 0.0], [1.0, 0.6, 0.2])
VISITORS: list[ClickModel] = [
    MODEL,
    sw.LinearPBM([[1, 0], [0.8, 0.2], [0.5, 0.1], [0.1, 0.9], [0, 1], [0, 0]], [0.5, 0.1], [1.0, 0.6, 0.2]),
    sw.Conjunctive([0.9, 0.8, 0.7, 0.3, 0.2, 0.1], 3),
    sw.Rank1([0.9, 0.3, 0.1, 0.1, 0.1, 0.0], [1.0, 0.3, 0.2]),
]


@pytest.fixture(params=POLICIES, ids=lambda policy: Path(policy).stem)
def policy(request: pytest.FixtureRequest) -> ModuleType:
    return find(request.param)


def visitors_of(module: ModuleType) -> ClickModel:
    """Visitors that the policy can learn from."""
    return next(model for model in VISITORS if problem_with_visitors(module, model) is None)


def trace(module: ModuleType, rounds: int, seed: int = 5) -> list[list[int]]:
    """Run a policy one call at a time and check the contract in every round; returns the displays."""
    model = visitors_of(module)
    visitors, rng = generators(seed, run=0)
    truth = model.arrays()
    params = make_params(module, {}, truth)
    state = module.init(params, model.n_items, model.n_positions, rng)
    display, clicks = np.empty(3, np.int64), np.empty(3, np.int64)
    shown = []
    for _ in range(rounds):
        before = [array.copy() for array in state.counts] if keeps_counts(module) else []
        module.choose(params, state, rng, display)
        model.expected_reward(display)  # raises an error if the display is invalid
        shown.append(display.tolist())
        if not before:
            model.kernels.click(truth, display, visitors, clicks)
            module.update(params, state, display, clicks)
            assert display.tolist() == shown[-1], "update changed the display"
            continue
        assert all(np.array_equal(a, b) for a, b in zip(before, state.counts, strict=True)), "choose changed the counts"
        model.kernels.click(truth, display, visitors, clicks)
        module.update(params, state, display, clicks)
        clicked, skipped = state.counts.clicks - before[0], state.counts.skips - before[1]
        for position in range(3):
            assert clicked[display[position], position] == clicks[position]
            assert skipped[display[position], position] == 1 - clicks[position]
        assert clicked.sum() + skipped.sum() == 3, "update counted something that was not shown"
        assert state.counts.displays[0] == before[5][0] + 1
    return shown


def test_displays_are_valid_and_counts_are_exact(policy: ModuleType) -> None:
    assert len(trace(policy, rounds=150)) == 150


def test_the_same_seed_gives_the_same_trace(policy: ModuleType) -> None:
    assert trace(policy, rounds=60, seed=11) == trace(policy, rounds=60, seed=11)


def test_it_is_better_than_uniform(policy: ModuleType) -> None:
    """Paired over 10 runs: five standard errors below uniform. By chance this happens less than once in a thousand.

    Greedy has 100 runs, because some of its runs settle on a bad display.
    """
    if policy.__name__.endswith(".uniform"):
        pytest.skip("uniform cannot be better than itself")
    model = visitors_of(policy)
    slow = policy.__name__.endswith(".pmed")
    rounds = 2000 if slow else 10_000
    runs = 100 if policy.__name__.endswith(".greedy") else 10
    ours = sw.simulate(policy, model, rounds=rounds, runs=runs, seed=3)
    if model.FEEDBACK == Feedback.CELL:  # uniform shows whole displays; the mean reward of all cells is as easy
        random = model.expected_reward(model.best_display()) - model.arrays().theta.mean() * model.arrays().kappa.mean()
        assert ours.mean()[-1] + 5 * ours.standard_error()[-1] < rounds * random
        return
    gap = ours.difference(sw.simulate("uniform", model, rounds=rounds, runs=runs, seed=3))
    assert gap.mean[-1] + 5 * gap.standard_error[-1] < 0


def test_one_compiled_signature(policy: ModuleType) -> None:
    """Each kernel is compiled once, for any number types of the settings and any size of the page."""
    visitors = visitors_of(policy)
    for model in (visitors, visitors.shuffled(np.random.default_rng(1))):
        numbers = {name: int(value) for name, value in policy.Params._field_defaults.items() if value == 100.0}
        sw.simulate(policy, model, rounds=10, runs=1, params=numbers)
        sw.simulate(policy, model, rounds=np.int64(10), runs=1.0, delay=3 if keeps_counts(policy) else 0)
    assert len(loop_of(policy, visitors.kernels).signatures) == 1
    for name in ("init", "choose", "update"):
        assert len(getattr(policy, name).signatures) <= 1  # 0 if the loop came from the disk cache


def test_docstring_cites_its_source(policy: ModuleType) -> None:
    doc = policy.__doc__ or ""
    assert re.search(r'"[A-Z].+"|\b(19|20)\d\d\b', doc), "the docstring names no paper"
    assert len(doc.partition("\n")[0]) <= 120


@pytest.mark.parametrize("name", sw.policies())
def test_every_policy_has_a_page_that_names_its_settings(name: str) -> None:
    page = (ROOT / "docs" / "policies" / f"{name}.md").read_text()
    for field in find(name).Params._fields:
        assert field == "unused" or f"`{field}`" in page


def test_a_serving_policy_keeps_its_counts_when_it_grows(policy: ModuleType) -> None:
    if not can_serve(policy):
        pytest.skip("this policy runs in the simulator only")
    rng = np.random.default_rng(2)
    settings = {"kappa": "em"} if "kappa" in policy.Params._fields else {}  # on a growing page there is no oracle
    params = make_params(policy, settings, None)
    state = policy.init(params, 4, 2, rng)
    policy.update(params, state, np.array([3, 1]), np.array([1, 0]))
    larger = policy.grow(params, state, 6, 3, rng)
    assert larger.counts.clicks.shape == (6, 3)
    assert larger.counts.clicks[3, 0] == 1
    assert larger.counts.skips[1, 1] == larger.counts.skips_by_position[1, 1] == 1
    assert larger.counts.clicks.sum() + larger.counts.skips.sum() == 2
    assert larger.counts.displays[0] == 1
    display = np.empty(3, np.int64)
    policy.choose(params, larger, rng, display)
    assert len(set(display.tolist())) == 3


@pytest.mark.parametrize("most", [None, 1, 2])
def test_displays_of_a_serving_policy_follow_values_and_limits(policy: ModuleType, most: int | None) -> None:
    """Every display has the largest sum of value x theta x kappa, among those within the limit of a category.

    The thetas and kappas are the scores of the policy in that round. A policy that does not learn ignores the values.
    """
    if not can_serve(policy):
        pytest.skip("this policy runs in the simulator only")
    names, positions = list("abcdef"), ["one", "two", "three"]
    values, categories = {"c": 3.0, "d": 0.5, "e": 2.0}, {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y"}
    settings = {"kappa": "em"} if "kappa" in policy.Params._fields else {}
    page = sw.Recommender(names, positions, policy, settings, 1, None, None, values, categories, most)
    clicks = np.random.default_rng(4)
    changed = 0
    for _ in range(40):
        display = page.recommend()
        weights, worth = page._theta, np.array([values.get(name, 1.0) for name in names])
        if learns(policy) and not hasattr(policy, "score_values"):
            weights = weights * worth
        possible = [
            row
            for row in permutations(range(6), 3)
            if most is None or max(sum(categories.get(names[k]) == group for k in row) for group in "xy") <= most
        ]
        rewards = [float((weights[list(row)] * page._kappa).sum()) for row in possible]
        row = tuple(names.index(display[position]) for position in positions)
        assert row in possible
        assert rewards[possible.index(row)] >= max(rewards) - 1e-12
        plain = np.argsort(-page._theta)[np.argsort(np.argsort(-page._kappa))]
        changed += tuple(plain.tolist()) != row
        page.learn(display, [where for where, item in display.items() if clicks.random() < 0.1 + 0.1 * (item in "ab")])
    assert changed > 0 or hasattr(policy, "score_values") or (most is None and not learns(policy))
