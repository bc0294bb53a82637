"""Simulated visitors."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import BadInput
from slotwise.client.load.visitors import Visitors
from slotwise.client.pages import PageOutline

MODEL = sw.PBM(theta=[0.1, 0.9, 0.5], kappa=[0.4, 1.0])
ITEMS, POSITIONS = ["hat", "tie", "bag"], ["left", "hero"]


def test_regret_is_that_of_the_click_model() -> None:
    visitors = Visitors(MODEL, ITEMS, POSITIONS, seed=0)
    assert visitors.best == pytest.approx(MODEL.expected_clicks(MODEL.best_display()))
    for display in ([0, 1], [2, 1], [1, 2]):
        pairs = [(POSITIONS[position], ITEMS[item]) for position, item in enumerate(display)]
        expected = visitors.best - MODEL.expected_clicks(display)
        assert visitors.visit(pairs).regret == pytest.approx(expected)
    assert visitors.visit([("hero", "tie")]).regret == pytest.approx(0.4 * 0.5)  # a position left out
    displays = [[a, b] for a in range(3) for b in range(3) if a != b]
    mean = np.mean([MODEL.expected_clicks(display) for display in displays])
    assert visitors.regret_at_random == pytest.approx(visitors.best - mean)


@pytest.mark.parametrize("most", [None, 1])
def test_regret_is_that_of_the_value_within_the_limit(most: int | None) -> None:
    """A plain computation over all displays. Under the limit, the mean is that of 2,000 random orders."""
    values, categories = np.array([9.0, 1.0, 1.0]), ["head", "neck", "head"]
    outline = PageOutline(ITEMS, POSITIONS, values.tolist(), list(categories), most)
    visitors = Visitors.of_page(MODEL, outline, seed=0)
    displays = [[a, b] for a in range(3) for b in range(3) if a != b and (most is None or {a, b} != {0, 2})]
    rewards = [float((values * MODEL.theta)[display] @ MODEL.kappa) for display in displays]
    assert visitors.best == pytest.approx(max(rewards))
    for display, reward in zip(displays, rewards, strict=True):
        pairs = [(POSITIONS[position], ITEMS[item]) for position, item in enumerate(display)]
        assert visitors.visit(pairs).regret == pytest.approx(max(rewards) - reward)
    # in random order, the first position has a random item, and the second a random one of those that still fit
    weights = [1.0 / (3 * sum(other[0] == display[0] for other in displays)) for display in displays]
    mean = float(np.average(rewards, weights=weights))
    assert visitors.regret_at_random == pytest.approx(max(rewards) - mean, abs=1e-9 if most is None else 0.03)


def test_click_rates_are_those_of_the_click_model() -> None:
    """20,000 draws with probability 0.36 at hero and 0.2 at left: within four standard errors. The false-alarm rate is
    two in 16,000 seeds."""
    model = sw.PBM(theta=[0.5, 0.9], kappa=[0.4, 0.4])
    visitors, n = Visitors(model, ["a", "b"], POSITIONS, seed=3), 20_000
    clicked = [position for _ in range(n) for position in visitors.visit([("left", "a"), ("hero", "b")]).clicked]
    for position, probability in (("left", 0.2), ("hero", 0.36)):
        assert abs(clicked.count(position) / n - probability) < 4 * np.sqrt(probability * (1 - probability) / n)


def test_the_same_seed_gives_the_same_visitors() -> None:
    def clicks(seed: int) -> list[list[str]]:
        visitors = Visitors(MODEL, ITEMS, POSITIONS, seed)
        return [visitors.visit([("left", "bag"), ("hero", "tie")]).clicked for _ in range(50)]

    assert clicks(1) == clicks(1)
    assert clicks(1) != clicks(2)


def test_a_click_model_that_does_not_fit_the_page_is_refused() -> None:
    with pytest.raises(BadInput, match=r"2 items at 2 positions.*3 items at 2"):
        Visitors(MODEL, ITEMS[:2], POSITIONS, seed=0)
    with pytest.raises(BadInput, match="'sock'"):
        Visitors(MODEL, ITEMS, POSITIONS, seed=0).visit([("hero", "sock")])
