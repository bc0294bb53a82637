"""The contract of every click model, compared with plain-Python readings of their definitions.

A test of a law fails at a p-value below 1e-6, so for a correct model each raises a false alarm once in a million seeds.
"""

import sys
from collections import Counter
from itertools import permutations, product

import numpy as np
import pytest
from scipy.stats import chisquare

import slotwise as sw
from slotwise.clickmodels._click_model import HIDDEN, ClickModel, make_model
from slotwise.clickmodels.cascade import Cascade
from slotwise.clickmodels.conjunctive import Conjunctive
from slotwise.clickmodels.contextual_pbm import ContextualPBM
from slotwise.clickmodels.dcm import DCM
from slotwise.clickmodels.linear_cascade import LinearCascade
from slotwise.clickmodels.linear_pbm import LinearPBM
from slotwise.clickmodels.pbm import PBM
from slotwise.clickmodels.rank1 import Rank1

FALSE_ALARMS = 1e-6
VISITORS = 4000
ATTRACTION = [0.6, 0.3, 0.8, 0.1]
MODELS: list[ClickModel] = [
    PBM(ATTRACTION, [1.0, 0.5, 0.7]),
    Cascade(ATTRACTION, 3),
    Cascade(ATTRACTION, 3, order=[2, 0, 1]),
    DCM(ATTRACTION, [0.3, 0.9, 0.5]),
    DCM(ATTRACTION, [0.3, 0.9, 0.5], order=[1, 2, 0]),
    ContextualPBM([ATTRACTION, [0.2, 0.9, 0.4, 0.5]], [1.0, 0.5, 0.7], shares=[0.7, 0.3]),
    LinearPBM(np.diag(ATTRACTION), np.ones(4), [1.0, 0.5, 0.7]),
    LinearCascade(np.diag(ATTRACTION), np.ones(4), 3),
    Conjunctive(ATTRACTION, 3),
    Rank1(ATTRACTION, [1.0, 0.5, 0.7]),
]
Law = dict[tuple[int, ...], float]


def displays_of(model: ClickModel, n_items: int) -> list[tuple[int, ...]]:
    if model.click_model != "rank1":
        return list(permutations(range(n_items), model.n_positions))
    cells = product(range(n_items), range(model.n_positions))
    return [tuple(item if k == position else -1 for k in range(model.n_positions)) for item, position in cells]


def law(model: ClickModel, display: tuple[int, ...]) -> Law:
    """The probability of each pattern of clicks, by a walk over all that a visitor may do."""
    found: Law = Counter()
    order = list(getattr(model, "order", range(model.n_positions)))

    def walk(rank: int, pattern: tuple[tuple[int, int], ...], chance: float, looks: bool) -> None:
        if rank == len(order):
            found[tuple(value for _, value in sorted(pattern))] += chance
            return
        position = order[rank]
        item = display[position]

        def go(value: int, share: float, still: bool) -> None:
            if share > 0.0:
                walk(rank + 1, (*pattern, (position, value)), chance * share, still)

        match model:
            case PBM():
                go(1, model.theta[item] * model.kappa[position], True)
                go(0, 1.0 - model.theta[item] * model.kappa[position], True)
            case ContextualPBM():  # as long as nothing is known of the visitor
                chance_of_click = float(model.shares @ model.theta[:, item]) * model.kappa[position]
                go(1, chance_of_click, True)
                go(0, 1.0 - chance_of_click, True)
            case LinearPBM():  # as long as nothing is known of the visitor
                chance_of_click = float(model.items.features[item] @ model.items.weights) * model.kappa[position]
                go(1, chance_of_click, True)
                go(0, 1.0 - chance_of_click, True)
            case Rank1():
                clicked = model.theta[item] * model.kappa[position] if item >= 0 else 0.0
                go(1 if item >= 0 else HIDDEN, clicked if item >= 0 else 1.0, True)
                go(0, 1.0 - clicked if item >= 0 else 0.0, True)
            case Cascade() | LinearCascade() | DCM() if not looks:
                go(0, 1.0, False)
            case LinearCascade():
                attracted = float(model.items.features[item] @ model.items.weights)
                go(1, attracted, False)
                go(0, 1.0 - attracted, True)
            case Cascade():
                go(1, model.attraction[item], False)
                go(0, 1.0 - model.attraction[item], True)
            case DCM():
                attracted, leaves = model.attraction[item], model.termination[position]
                go(1, attracted * leaves, False)
                go(1, attracted * (1.0 - leaves), True)
                go(0, 1.0 - attracted, True)
            case Conjunctive():
                go(1 if looks else HIDDEN, model.attraction[item] if looks else 1.0, looks)
                go(0, 1.0 - model.attraction[item] if looks else 0.0, False)

    walk(0, (), 1.0, True)
    return found


def reward(model: ClickModel, display: tuple[int, ...]) -> float:
    """The expected reward from the law of the clicks, or from the definition where clicks do not tell it."""
    if isinstance(model, DCM):  # whether the last click satisfied the visitor is not part of the clicks
        return 1.0 - float(np.prod([1.0 - model.termination[k] * model.attraction[a] for k, a in enumerate(display)]))
    patterns = law(model, display).items()
    if isinstance(model, Conjunctive):
        return sum(chance for pattern, chance in patterns if set(pattern) == {1})
    return sum(chance * sum(value == 1 for value in pattern) for pattern, chance in patterns)


def patterns_drawn(model: ClickModel, display: tuple[int, ...], seed: int) -> Counter[tuple[int, ...]]:
    rng, shown, clicks = np.random.default_rng(seed), np.array(display), np.full(model.n_positions, 9)
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(VISITORS):
        model.kernels.click(model.arrays(), shown, rng, clicks)
        found[tuple(clicks.tolist())] += 1
    return found


def p_value(drawn: Counter[tuple[int, ...]], expected: Law) -> float:
    if set(drawn) - set(expected):
        return 0.0
    patterns = sorted(expected)
    return float(chisquare([drawn[p] for p in patterns], [VISITORS * expected[p] for p in patterns]).pvalue)


@pytest.fixture(params=MODELS, ids=lambda model: f"{model.click_model}{getattr(model, 'order', '')}")
def model(request: pytest.FixtureRequest) -> ClickModel:
    return request.param


def test_every_click_model_is_tested() -> None:
    assert {model.click_model for model in MODELS} | {"ratings"} == set(sw.clickmodels())  # ratings: test_ratings.py


def test_clicks_have_their_law(model: ClickModel) -> None:
    for seed, display in enumerate(displays_of(model, 3)[:3]):
        assert p_value(patterns_drawn(model, display, seed), law(model, display)) > FALSE_ALARMS


def test_the_test_of_the_law_detects_a_wrong_display(model: ClickModel) -> None:
    first, last = displays_of(model, 4)[0], displays_of(model, 4)[-1]
    assert p_value(patterns_drawn(model, first, 0), law(model, last)) < FALSE_ALARMS


def test_the_expected_reward_and_the_best_display_agree_with_brute_force(model: ClickModel) -> None:
    rng = np.random.default_rng(7)
    for _ in range(5):
        other = make_model(model.click_model, _with_attraction(model, rng.random(5).round(1)))
        rewards = {display: reward(other, display) for display in displays_of(other, 5)}
        for display, value in list(rewards.items())[::7]:
            assert other.expected_reward(display) == pytest.approx(value, abs=1e-12)
        best = tuple(other.best_display().tolist())
        assert rewards[best] == pytest.approx(max(rewards.values()), abs=1e-12)


def _with_attraction(model: ClickModel, values: np.ndarray) -> dict[str, object]:
    if isinstance(model, LinearPBM | LinearCascade):
        return model.parameters() | {"features": np.diag(values).tolist(), "weights": [1.0] * values.size}
    name = "theta" if "theta" in model.parameters() else "attraction"
    given = [values.tolist(), values[::-1].tolist()] if isinstance(model, ContextualPBM) else values.tolist()
    return model.parameters() | {name: given} | ({"features": []} if isinstance(model, ContextualPBM) else {})


def test_the_number_of_random_numbers_does_not_depend_on_the_display(model: ClickModel) -> None:
    """So all policies meet the same visitors."""
    ends = set()
    for display in displays_of(model, 4):
        rng, clicks = np.random.default_rng(3), np.empty(model.n_positions, np.int64)
        for _ in range(20):
            model.kernels.click(model.arrays(), np.array(display), rng, clicks)
        ends.add(rng.random())
    assert len(ends) == 1


def test_shuffling_keeps_the_best_reward(model: ClickModel) -> None:
    best = model.expected_reward(model.best_display())
    orders = set()
    for seed in range(5):
        shuffled = model.shuffled(np.random.default_rng(seed))
        assert shuffled.expected_reward(shuffled.best_display()) == pytest.approx(best)
        orders.add(tuple(shuffled.arrays()[0].ravel().tolist()))
    assert len(orders) > 1


def test_it_can_be_made_again_from_its_parameters(model: ClickModel) -> None:
    again = make_model(model.click_model, model.parameters())
    assert again.parameters() == model.parameters()
    assert repr(again) == repr(model)
    assert sys.modules[type(model).__module__] is model.kernels


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(sw.BadInput, match=r"order = \[0\.0, 0\.0\] does not name each position from 0 to 1 once"):
        Cascade(ATTRACTION, 2, order=[0, 0])
    with pytest.raises(sw.BadInput, match="5 positions but only 4 items"):
        Cascade(ATTRACTION, 5)
    with pytest.raises(sw.BadInput, match="termination"):
        DCM(ATTRACTION, [2.0])
    with pytest.raises(sw.BadInput, match="attraction, positions; given: theta"):
        make_model("conjunctive", {"theta": [0.5]})
    with pytest.raises(sw.BadInput, match="is not one item"):
        MODELS[-1].expected_reward([0, 1, 2])
    with pytest.raises(sw.BadInput, match="click model"):
        make_model("cascada", {})


def test_a_policy_that_cannot_learn_from_the_feedback_is_refused_in_one_line() -> None:
    for hidden in (Conjunctive(ATTRACTION, 3), Rank1(ATTRACTION, [1.0, 0.5])):
        with pytest.raises(sw.BadInput, match=f"^pb_mhb learns from .*, but {hidden.click_model} visitors reveal"):
            sw.simulate("pb_mhb", hidden, rounds=10, runs=1)


def test_a_policy_that_assumes_another_click_model_runs() -> None:
    result = sw.simulate("pb_mhb", Cascade(ATTRACTION, 3), rounds=500, runs=2)
    assert 0.0 < result.mean()[-1] < 500


def test_the_oracle_loses_nothing(model: ClickModel) -> None:
    assert sw.simulate("oracle", model, rounds=50, runs=2).regret.max() == pytest.approx(0.0, abs=1e-9)
