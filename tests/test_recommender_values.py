"""`Recommender`: values and categories of items."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slotwise as sw
from slotwise.policies import slot_ids

ITEMS, POSITIONS = ["hat", "cap", "tie", "bag"], ["hero", "left"]
COUNTS = sw.Counts(clicks=[[300.0, 150.0]] * 4, skips=[[700.0, 850.0]] * 4)
FIT = sw.fit_queries([sw.Query("shop", ITEMS, POSITIONS, COUNTS)])


def page_with_equal_items(policy: str = "slot_ts") -> sw.Recommender:
    """All items are about equally attractive, and `hero` is twice as visible as `left`."""
    return sw.Recommender.from_fit(FIT, policy=policy, displays=None)


@pytest.mark.parametrize("policy", ["slot_ts", "slot_ids"])
def test_the_most_valuable_items_are_shown_at_the_most_visible_positions(policy: str) -> None:
    page = page_with_equal_items(policy)
    page.set_values({"tie": 5.0, "cap": 2.0})
    assert all(page.recommend() == {"hero": "tie", "left": "cap"} for _ in range(30))
    page.set_values({"tie": 1.0, "bag": 5.0})  # takes effect at once
    assert all(page.recommend() == {"hero": "bag", "left": "cap"} for _ in range(30))
    assert page.values == {"hat": 1.0, "cap": 2.0, "tie": 1.0, "bag": 5.0}


@pytest.mark.parametrize("policy", ["slot_ts", "slot_ids"])
def test_a_limit_holds_for_a_page_or_for_one_display(policy: str) -> None:
    page = page_with_equal_items(policy)
    page.set_values({"hat": 9.0, "cap": 4.0})
    page.set_categories({"hat": "head", "cap": "head", "tie": "neck"})
    assert page.recommend() == {"hero": "hat", "left": "cap"}
    assert page.recommend(most_per_category=1)["hero"] == "hat"
    assert "cap" not in page.recommend(most_per_category=1).values()
    page.most_per_category = 1
    assert all("cap" not in page.recommend().values() for _ in range(30))
    assert page.recommend(most_per_category=2) == {"hero": "hat", "left": "cap"}
    assert page.recommend(pinned={"hero": "cap", "left": "hat"}) == {"hero": "cap", "left": "hat"}  # pins win
    assert "hat" not in page.recommend(pinned={"left": "cap"}).values()
    page.set_categories({"cap": None})
    assert page.recommend() == {"hero": "hat", "left": "cap"}
    assert page.categories == {"hat": "head", "tie": "neck"}


@pytest.mark.parametrize("policy", ["slot_ts", "slot_ids"])
def test_positions_are_left_out_if_too_few_items_are_within_the_limit(policy: str) -> None:
    page = page_with_equal_items(policy)
    page.set_categories(dict.fromkeys(ITEMS, "all"))
    assert list(page.recommend(most_per_category=1)) == ["hero"]
    page.most_per_category = 1
    shown = {tuple(page.recommend().items()) for _ in range(200)}
    assert {len(display) for display in shown} == {1}
    assert len(shown) > 1  # the policy still explores


def test_an_item_of_value_0_is_shown_only_if_a_position_would_stay_empty() -> None:
    page = page_with_equal_items()
    page.set_values({"hat": 0.0})
    assert all("hat" not in page.recommend().values() for _ in range(50))
    assert page.recommend(eligible=["hat", "bag"]) == {"hero": "bag", "left": "hat"}


def test_the_plan_of_slot_ids_maximises_the_value_within_the_limit() -> None:
    page = page_with_equal_items("slot_ids")
    page.set_values({"hat": 1.1, "cap": 1.05})
    page.set_categories({"hat": "head", "cap": "head"})
    page.most_per_category = 1
    page.recommend()
    state, values = page._state, np.array([1.1, 1.05, 1.0, 1.0])
    draws = len(state.ensemble.theta)
    for theta, kappa, display in zip(state.ensemble.theta, state.ensemble.kappa, state.plan.displays, strict=False):
        ranked = [item for item in np.argsort(-values * theta).tolist() if item > 1]
        head = max((0, 1), key=lambda item: values[item] * theta[item])
        best = sorted([head, *ranked], key=lambda item: -values[item] * theta[item])[:2]
        assert [display[k] for k in np.argsort(-kappa)] == best
    for display in state.plan.displays[draws:]:
        assert not {0, 1} <= set(display.tolist())
    assert len(np.unique(state.plan.displays[:draws], axis=0)) > 2


def test_the_best_display_of_the_posterior_follows_values_and_limits() -> None:
    page = page_with_equal_items()
    page.set_values({"hat": 9.0, "cap": 4.0, "bag": 2.0})
    assert page.posterior(draws=200).best({"hero": "hat", "left": "cap"}) > 0.99
    page.set_categories({"hat": "head", "cap": "head"})
    page.most_per_category = 1
    assert page.posterior(draws=200).best({"hero": "hat", "left": "bag"}) > 0.99
    assert page.theta["hat"] == pytest.approx(page.theta["cap"], abs=0.1)  # thetas stay click probabilities


def test_values_categories_and_the_limit_are_saved(tmp_path: Path) -> None:
    page = page_with_equal_items("slot_ids")
    page.set_values({"cap": 1.2})
    page.set_categories({"cap": "head", "hat": "head"})
    page.most_per_category = 1
    page.add("sock")
    page.set_values({"sock": 0.5})
    page.retire("tie")
    page.recommend()
    page.save(tmp_path / "page.json")
    again = sw.Recommender.load(tmp_path / "page.json")
    assert (again.values, again.categories, again.most_per_category) == (page.values, page.categories, 1)
    assert again.values["sock"] == 0.5
    assert [again.recommend() for _ in range(30)] == [page.recommend() for _ in range(30)]


def test_the_kernels_do_not_compute_with_values_that_are_all_1() -> None:
    page = page_with_equal_items()
    page.set_values({"cap": 2.0})
    assert page._rules(None).values.size == 4
    page.set_values({"cap": 1})
    assert page._rules(None).values.size == 0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"values": {"hat": -1.0}}, "the value of 'hat' = -1.0 is not in"),
        ({"values": {"hat": float("nan")}}, "the value of 'hat' = nan is not in"),
        ({"values": {"hat": "2"}}, "the value of 'hat' = '2' is not a number"),
        ({"values": {"shoe": 2.0}}, "unknown item 'shoe'"),
        ({"values": [1.0, 2.0]}, "values = .* is not a mapping"),
        ({"categories": {"hat": ""}}, "the category of 'hat' = '' is not a name"),
        ({"categories": {"hat": 3}}, "the category of 'hat' = 3 is not a name"),
        ({"most_per_category": 0}, "most_per_category = 0 is not a whole number of at least 1"),
    ],
)
def test_invalid_values_categories_and_limits(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.BadInput, match=message):
        sw.Recommender(ITEMS, POSITIONS, **settings)


def test_an_invalid_value_changes_nothing() -> None:
    page = page_with_equal_items()
    with pytest.raises(sw.BadInput):
        page.set_values({"hat": 2.0, "cap": -2.0})
    assert set(page.values.values()) == {1.0}
    with pytest.raises(sw.BadInput, match="most_per_category"):
        page.recommend(most_per_category=0)


def test_slot_ids_plans_again_only_if_something_changed() -> None:
    page = page_with_equal_items("slot_ids")
    page.recommend()
    state = page._state
    page.set_values({"hat": 1.0})
    assert page._state is state
    page.set_values({"hat": 1.5})
    assert page._state is not state
    assert isinstance(page._state, slot_ids.State)
