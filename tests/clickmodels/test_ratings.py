"""Visitors who rate items: the law of the ratings, the best item of each visitor, and what policies see."""

import numpy as np
import pytest
from scipy.stats import kstest

import slotwise as sw
from slotwise.clickmodels import ratings
from slotwise.clickmodels._click_model import RATING_UNIT, make_model

VISITORS = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]
ITEMS = [[2.0, 1.0], [1.0, 4.0], [-3.0, 0.0], [0.5, 0.5]]
MODEL = sw.Ratings(VISITORS, ITEMS, noise=0.5)


def rated(display: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The visitor and the rating of each of many rounds."""
    model, rng = MODEL.arrays(), np.random.default_rng(2)
    best, clicks, found = np.empty(1, np.int64), np.empty(1, np.int64), []
    for _ in range(number):
        ratings.draw_context(model, rng, best)
        means = np.array(ITEMS) @ VISITORS[model.context.levels[0]]
        assert best[0] == means.argmax()
        assert ratings.expected_reward(model, np.array([display])) == means[display]
        ratings.click(model, np.array([display]), rng, clicks)
        found.append((model.context.levels[0], clicks[0] * RATING_UNIT))
    return np.array([who for who, _ in found]), np.array([value for _, value in found])


def test_ratings_are_gaussian_around_the_product_of_the_vectors() -> None:
    """Kolmogorov-Smirnov on 3,000 ratings, p above 1e-6; ratings of another item fail. Shares within six deviations."""
    who, values = rated(display=1, number=3000)
    assert (np.abs(np.bincount(who) - 1000) < 6 * np.sqrt(3000 * 2 / 9)).all()
    for item, same in ((1, True), (0, False)):
        expected = (np.array(VISITORS) @ ITEMS[item])[who]
        assert (kstest((values - expected) / 0.5, "norm").pvalue > 1e-6) == same


def test_an_unknown_visitor_gets_the_best_item_on_average() -> None:
    assert MODEL.best_display().tolist() == [1]
    assert MODEL.expected_reward([1]) == pytest.approx(np.mean(np.array(VISITORS) @ ITEMS[1]))


def test_it_can_be_made_again_and_shuffled() -> None:
    again = make_model("ratings", MODEL.parameters())
    assert again.parameters() == MODEL.parameters()
    assert repr(again) == repr(MODEL)
    shuffled = MODEL.shuffled(np.random.default_rng(1))
    assert sorted(shuffled.items.tolist()) == sorted(ITEMS)
    assert shuffled.expected_reward(shuffled.best_display()) == pytest.approx(MODEL.expected_reward([1]))


def test_the_oracle_knows_each_visitor_and_others_need_ratings() -> None:
    assert sw.simulate("oracle", MODEL, rounds=200, runs=2).regret.max() == 0.0
    with pytest.raises(sw.BadInput, match=r"^slot_ts learns from .*, but ratings visitors reveal 'a rating'"):
        sw.simulate("slot_ts", MODEL, rounds=10, runs=1)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"items": [[1.0]]}, "both need the same number"),
        ({"noise": -1.0}, "noise = -1 is not"),
        ({"noise": np.inf}, "noise"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(sw.BadInput, match=problem):
        sw.Ratings(**({"visitors": VISITORS, "items": ITEMS} | wrong))
