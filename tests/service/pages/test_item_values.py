"""Values and categories of the items of a page: what its displays maximise, and what they may show together."""

from itertools import permutations
from typing import Any

import msgspec
import numpy as np
import pytest

from slotwise.arrange import EMPTY, NO_CATEGORY, NO_LIMIT, ItemRules
from slotwise.service.ensembles.arrange_draw import DisplayRules
from slotwise.service.ensembles.page_ensemble import SMALL
from slotwise.service.ensembles.unshown_items import MOST_COMPARED, MOST_VALUABLE, ThetaLaws, UnshownItems
from slotwise.service.errors import TooFewItems
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import CellCounts, Display, PageCounts, StoredPage

NAMES, POSITIONS = "abcdef", ["one", "two", "three"]
VALUES = {"a": 3.0, "b": 2.0, "c": 2.0, "d": 1.0, "e": 1.0, "f": 0.5}
CATEGORIES = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y", "f": None}
COUNTS = PageCounts([CellCounts(k, 0, c, 20.0 + k, 80.0 + 30 * c) for k in range(6) for c in range(3)], 600.0, 0)


def page(**spec: Any) -> StoredPage:
    return StoredPage(1, "shop", 1, False, 0, 0.0, NO_PAGE.with_spec(PageSpec(positions=POSITIONS, **spec)))


def specs(values: dict[str, float] = VALUES, categories: dict[str, str | None] = CATEGORIES) -> list[ItemSpec]:
    return [ItemSpec(value=values.get(name, 1.0), category=categories.get(name)) for name in NAMES]


def make_model(items: list[ItemSpec] | None = None, **spec: Any) -> PageModel:
    listed = list(zip(NAMES, specs() if items is None else items, strict=True))
    model = PageModel(page(**spec), listed, COUNTS, np.random.default_rng(0))
    choose(model)
    refresh(model)
    return model


def refresh(model: PageModel) -> None:
    model.install(model.begin_refresh().run(np.random.default_rng(1)))


def choose(model: PageModel, **request: Any) -> Display:
    return model.choose(RecommendationRequest(**request), "view", 0, 0.0)


def items_of(model: PageModel, display: Display) -> tuple[str, ...]:
    return tuple(model.names[entry.item] for entry in display.entries)


def shown(model: PageModel, times: int = 300, **request: Any) -> set[tuple[str, ...]]:
    return {items_of(model, choose(model, **request)) for _ in range(times)}


def categories_of(display: tuple[str, ...]) -> list[str]:
    return sorted(name for item in display if (name := CATEGORIES[item]) is not None)


def most_of_one(display: tuple[str, ...]) -> int:
    listed = categories_of(display)
    return max((listed.count(name) for name in listed), default=0)


def best_displays(model: PageModel, most: int, values: dict[str, float]) -> set[tuple[str, ...]]:
    """The best display under each draw, by comparing all displays."""
    scores, best = model._learner._ensemble.scores, set()
    for theta, kappa in zip(scores.theta.astype(np.float64), scores.kappa.astype(np.float64), strict=True):
        weight = {name: values[name] * theta[k] for k, name in enumerate(NAMES)}
        possible = [display for display in permutations(NAMES, 3) if most_of_one(display) <= most]
        best.add(max(possible, key=lambda display: sum(weight[name] * kappa[k + 1] for k, name in enumerate(display))))
    return best


@pytest.mark.parametrize("most", [1, 2, 50])
def test_every_display_is_the_best_one_under_a_draw(most: int) -> None:
    model = make_model(most_per_category=most)
    displays = shown(model, times=1_000)
    assert displays == best_displays(model, most, VALUES)
    assert displays != best_displays(model, most, dict.fromkeys(NAMES, 1.0))  # a negative control: without values
    assert displays != best_displays(model, most % 50 + 1, VALUES)  # and with another limit


def test_the_limit_of_a_request_replaces_that_of_the_page() -> None:
    model = make_model(most_per_category=1)
    assert max(map(most_of_one, shown(model))) == 1
    assert shown(model, most_per_category=3) == best_displays(model, 3, VALUES)
    assert max(map(most_of_one, shown(model))) == 1


def test_entries_have_the_values_of_their_items() -> None:
    model = make_model()
    for entry in choose(model, pinned={"three": "f"}).entries:
        assert entry.value == VALUES[model.names[entry.item]]
    assert {entry.value for entry in choose(make_model(specs({}))).entries} == {1.0}


def test_a_changed_value_or_category_takes_effect_at_once() -> None:
    """Also for displays that the page keeps."""
    model = make_model(most_per_category=2)
    assert not any("f" in display for display in shown(model))
    model.set_items([(5, "f", ItemSpec(value=50.0))])
    assert all("f" in display for display in shown(model))
    assert {entry.value for entry in choose(model).entries if model.names[entry.item] == "f"} == {50.0}
    assert any(len({"a", "b", "c"} & set(display)) == 2 for display in shown(model))
    model.set_items([(5, "f", ItemSpec(value=50.0, category="x"))])
    assert all(len({"a", "b", "c"} & set(display)) < 2 for display in shown(model))
    model.redefine(page(most_per_category=3))
    assert any(len({"a", "b", "c"} & set(display)) == 2 for display in shown(model))


@pytest.mark.parametrize("order", ["random", "default"])
def test_the_holdout_ignores_values_and_keeps_the_limit(order: str) -> None:
    model = make_model(most_per_category=1, holdout=1.0, holdout_order=order)
    displays = shown(model, times=600)
    assert max(map(most_of_one, displays)) == 1
    if order == "default":
        assert displays == {("a", "d", "f")}
    else:  # each of a, b, c is as likely as the others, and so is each of d, e
        assert len(displays) == 3 * 2 * 6


def test_a_pin_counts_and_may_exceed_the_limit() -> None:
    model = make_model(most_per_category=1)
    one = choose(model, pinned={"one": "b"})
    assert not {"a", "c"} & set(items_of(model, one))
    assert one.arrangement is not None
    assert one.arrangement.over_limit == []
    two = choose(model, pinned={"one": "b", "three": "c"})
    assert categories_of(items_of(model, two)).count("x") == 2
    assert two.arrangement is not None
    assert two.arrangement.over_limit == ["x"]
    request = RecommendationRequest(pinned={"one": "b", "three": "c"})
    assert model.over_limit(two, request) == ["x"]  # for an answer that is repeated
    assert model.over_limit(two, RecommendationRequest(most_per_category=2)) == []


def test_positions_are_left_out_if_too_few_items_are_within_the_limit() -> None:
    model = make_model(specs(categories=dict.fromkeys(NAMES, "x")), most_per_category=2)
    display = choose(model)
    assert len(display.entries) == 2
    assert len(model.left_out(display)) == 1
    with pytest.raises(TooFewItems, match="2 items are too few for 3 positions"):
        model.check_enough_items(RecommendationRequest(), 0.0)
    model.check_enough_items(RecommendationRequest(most_per_category=3), 0.0)
    model.check_enough_items(RecommendationRequest(pinned={"one": "a", "two": "b", "three": "c"}), 0.0)


def test_an_item_of_value_0_is_shown_last() -> None:
    model = make_model(specs(VALUES | {"a": 0.0}))
    assert not any("a" in display for display in shown(model))
    assert all("a" in display for display in shown(model, eligible=["a", "b", "d"]))


# plans


def test_plans_follow_values_and_limits() -> None:
    model = make_model(policy="slot_ids", params={"thompson": 0.0, "unlikely": 0.0}, most_per_category=1)
    planned = shown(model)
    assert len(planned) <= 2
    assert max(map(most_of_one, planned)) == 1
    assert all(display[0] == "a" for display in planned)
    assert shown(model, most_per_category=3) <= best_displays(model, 3, VALUES)  # the plan is for another limit
    model.set_items([(5, "f", ItemSpec(value=50.0))])
    assert all("f" in display for display in shown(model))
    assert not model._learner._ensemble.plans
    refresh(model)
    assert model._learner._ensemble.plans
    assert all(display[0] == "f" for display in shown(model))


def test_no_plan_is_made_if_too_few_items_are_within_the_limit() -> None:
    items = specs(categories=dict.fromkeys(NAMES, "x"))
    model = make_model(items, policy="slot_ids", most_per_category=2)
    assert not model._learner._ensemble.plans
    assert {len(display) for display in shown(model)} == {2}


# large pages


def large_model(**spec: Any) -> PageModel:
    """All items were shown, and some are worth more than others. The page has leaders."""
    items = [ItemSpec(value=1.0 + k % 7, category=f"c{k % 5}" if k % 3 else None) for k in range(SMALL + 200)]
    listed = [(f"item{k}", item) for k, item in enumerate(items)]
    counts = PageCounts([CellCounts(k, 0, k % 3, 1.0, 3.0) for k in range(len(items))], 4.0 * len(items), 0)
    model = PageModel(page(**spec), listed, counts, np.random.default_rng(0))
    choose(model)
    refresh(model)
    return model


def displays_by_pick(model: PageModel) -> list[list[str]]:
    """The display of each draw."""
    learner, layout, constraints = model._learner, *_constraints(model)
    found = []
    for pick in range(len(learner._ensemble.beta)):
        rules = DisplayRules(constraints.allowed, constraints.pins, layout.no_pins, constraints.rules)
        learner.fill(pick, layout, 0, constraints.allowed, rules)
        found.append([model.names[item] for item in layout.display])
    return found


def _constraints(model: PageModel) -> Any:
    layout = model._constraints.layouts["default"]
    return layout, model._constraints.of(layout, RecommendationRequest(), 0.0)


def without_leaders(model: PageModel) -> list[list[str]]:
    """The display of each draw, when all items are compared."""
    learner = model._learner
    kept = learner._ensemble
    learner._ensemble = kept._replace(scores=kept.scores._replace(leaders=kept.scores.leaders[:, :, :0].copy()))
    found = displays_by_pick(model)
    learner._ensemble = kept
    return found


@pytest.mark.parametrize("most", [None, 1])
def test_the_leaders_of_a_large_page_are_those_of_value_times_theta(most: int | None) -> None:
    model = large_model(most_per_category=most)
    assert model._learner._ensemble.scores.leaders.size
    displays = displays_by_pick(model)
    assert displays == without_leaders(model)
    valuable = [model.specs[model.items[name]].value for display in displays for name in display]
    assert np.mean(valuable) > 5.0  # without values, 4 on average


def test_a_changed_value_renews_the_leaders() -> None:
    """Before the next ensemble, all items are compared. Afterwards there are leaders again."""
    model = large_model()
    job = model.begin_refresh()
    name = "item500"
    model.set_items([(500, name, ItemSpec(value=1e6))])
    assert all(name in display for display in displays_by_pick(model))
    model.install(job.run(np.random.default_rng(2)))  # it was begun before the change
    assert all(name in display for display in displays_by_pick(model))
    assert not model._learner._ensemble.scores.leaders.size
    assert model.urgency >= 0
    refresh(model)
    assert model._learner._ensemble.scores.leaders.size
    assert all(name in display for display in displays_by_pick(model))


def test_an_item_that_is_added_while_the_ensemble_is_made_takes_part() -> None:
    model = large_model()
    job = model.begin_refresh()
    model.set_items([(SMALL + 200, "new", ItemSpec(value=1e6, category="c1"))])
    model.install(job.run(np.random.default_rng(2)))
    refresh(model)
    assert all("new" in items_of(model, choose(model)) for _ in range(20))


# items that were never shown


def draw_unshown(values: Any, categories: Any, most: int, n_items: int = 3_000) -> tuple[list[int], list[float]]:
    """The unshown items that take part in one display, and their thetas."""
    rules = ItemRules(np.asarray(values, np.float64), np.asarray(categories, np.int64), most)
    laws = ThetaLaws(np.array([[1.0, 20.0]]), np.empty((1, 0)), None, np.empty((n_items, 0)))
    unshown = UnshownItems(np.empty((1, 0), np.int32), np.zeros((2, n_items)), rules.values, laws)
    allowed, pins = np.ones(n_items, np.bool_), np.full(3, EMPTY)
    display_rules = DisplayRules(allowed, pins, pins, rules)
    extra = unshown.draw(0, 0, allowed, display_rules, np.random.default_rng(0))
    return extra.items.tolist(), extra.theta.tolist()


def test_unshown_items_are_compared_by_value() -> None:
    items, _ = draw_unshown([], [], NO_LIMIT)
    assert len(items) == 3  # without values, the largest draws are enough
    items, thetas = draw_unshown(np.ones(1_500) * 2.0, [], NO_LIMIT, 1_500)
    assert items == list(range(1_500))
    assert np.mean(thetas) == pytest.approx(1 / 21, rel=0.1)  # the mean of the law
    values = np.where(np.arange(3_000) % 50 == 0, 90.0, 1.0)
    items, thetas = draw_unshown(values, [], NO_LIMIT)
    assert len(set(items)) == len(items) == MOST_COMPARED
    assert set(range(0, 3_000, 50)) <= set(items)  # the most valuable items always take part
    of_valuable = [theta for item, theta in zip(items, thetas, strict=True) if item % 50 == 0]
    assert np.mean(of_valuable) == pytest.approx(1 / 21, rel=0.5)
    assert np.mean(thetas[MOST_VALUABLE:]) > 0.06  # the largest draws of the others


def test_unshown_items_fill_the_display_within_the_limit() -> None:
    """Of 3,000 items, all but two have the same category. A sample would hardly ever have both."""
    categories = np.where(np.arange(3_000) < 2_998, 0, NO_CATEGORY)
    items, _ = draw_unshown([], categories, 1)
    assert {2_998, 2_999} <= set(items)
    items, _ = draw_unshown([], np.arange(3_000) % 4, 1)
    assert len(items) == MOST_COMPARED


def test_a_page_without_values_and_categories_keeps_no_arrays_for_them() -> None:
    model = make_model([ItemSpec() for _ in NAMES])
    assert model._constraints.rules.values.size == model._constraints.rules.categories.size == 0
    leaders = model._learner._ensemble
    model.set_items([(6, "g", ItemSpec())])
    assert model._learner._ensemble is leaders
    assert msgspec.json.encode(ItemSpec()) == b"{}"
