"""The displays that a page model chooses: constraints, pins and shortages."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from slotwise.service.errors import DoesNotFit, TooFewItems
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageBody, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import Display, PageCounts, StoredPage
from tests.service.running_service import ITEMS, POSITIONS, START

PAUSED = "sock"


def page_model(pins: Mapping[str, str] | None = None) -> PageModel:
    """A page of five items; one of them is paused."""
    defined = NO_PAGE.with_spec(PageSpec(positions=POSITIONS))
    body = PageBody(defined.spec, defined.columns, defined.segments, {"default": dict(pins)} if pins else {})
    items = [(name, ItemSpec("paused" if name == PAUSED else "active")) for name in ITEMS]
    return PageModel(StoredPage(1, "shop", 1, False, 0, 0.0, body), items, PageCounts([], 0.0, 0), rng())


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def choose(model: PageModel, **request: Any) -> Display:
    return model.choose(RecommendationRequest(**request), "view", 1, START)


def shown(model: PageModel, **request: Any) -> dict[str, tuple[str, str]]:
    """{position: (item, reason)}."""
    display = choose(model, **request)
    return {entry.position: (model.names[entry.item], entry.reason) for entry in display.entries}


@pytest.mark.parametrize(
    "pinned",
    [
        pytest.param({"hero": PAUSED}, id="that is paused"),
        pytest.param({"hero": "hat", "left": "hat"}, id="that is pinned at two positions"),
        pytest.param({"hero": "hat"}, id="that is active"),
    ],
)
def test_a_pin_of_an_excluded_item_is_ignored(pinned: dict[str, str]) -> None:
    """An exclusion overrides a pin, even an invalid one; `Recommender` does the same."""
    display = shown(page_model(), pinned=pinned, excluded=[PAUSED, "hat"])
    assert {item for item, _ in display.values()} == {"tie", "bag", "belt"}
    assert {reason for _, reason in display.values()} == {"learnt"}


@pytest.mark.parametrize(
    ("pinned", "pointer", "item"),
    [({"left": PAUSED}, "/pinned/left", PAUSED), ({"hero": "hat", "right": "hat"}, "/pinned/right", "hat")],
)
def test_an_invalid_pin_is_rejected_with_its_pointer(pinned: dict[str, str], pointer: str, item: str) -> None:
    with pytest.raises(DoesNotFit) as caught:
        choose(page_model(), pinned=pinned)
    assert [error.pointer for error in caught.value.errors] == [pointer]
    assert repr(item) in caught.value.detail


@pytest.mark.parametrize(
    ("request_fields", "at_hero"),
    [
        pytest.param({}, "tie", id="the page's pin holds"),
        pytest.param({"eligible": ["hat", "bag", "belt"]}, "tie", id="whether eligible or not"),
        pytest.param({"pinned": {"hero": "bag"}}, "bag", id="the request replaces it"),
    ],
)
def test_pins_of_the_page(request_fields: dict[str, Any], at_hero: str) -> None:
    assert shown(page_model({"hero": "tie"}), **request_fields)["hero"] == (at_hero, "pinned")


@pytest.mark.parametrize(
    ("page_pins", "request_fields"),
    [
        pytest.param({"hero": PAUSED}, {}, id="its item is paused"),
        pytest.param({"hero": "tie"}, {"excluded": ["tie"]}, id="its item is excluded"),
        pytest.param({"hero": "tie"}, {"pinned": {"left": "tie"}}, id="its item is pinned elsewhere"),
        pytest.param(
            {"hero": "tie"}, {"pinned": {"hero": "hat"}, "excluded": ["hat"]}, id="an ignored pin replaces it"
        ),
        pytest.param({"hero": "unknown"}, {}, id="its item is unknown"),
    ],
)
def test_a_pin_of_the_page_does_not_hold(page_pins: dict[str, str], request_fields: dict[str, Any]) -> None:
    display = shown(page_model(page_pins), **request_fields)
    assert display["hero"][1] == "learnt"
    assert len(display) == len(POSITIONS)


def test_a_shortage_leaves_positions_out_or_is_rejected() -> None:
    model = page_model()
    request = RecommendationRequest(eligible=["hat", PAUSED], pinned={"right": "tie"})
    display = model.choose(request, "view", 1, START)
    assert len(display.entries) == 2
    assert model.left_out(display) == [
        position for position in POSITIONS if position not in {entry.position for entry in display.entries}
    ]
    with pytest.raises(TooFewItems):
        model.check_enough_items(request, START)
    model.check_enough_items(RecommendationRequest(eligible=["hat", "bag"], pinned={"right": "tie"}), START)


def test_a_display_has_the_times_and_the_epoch_of_its_page() -> None:
    model = page_model()
    model.begin_epoch(3, START)
    display = choose(model)
    assert (display.epoch, display.issued, display.until - START) == (3, START, model.page.body.spec.click_window)
    assert display.drop_after > display.until
    assert model.counts().displays == 1.0
    degraded = model.choose(RecommendationRequest(), "other", 2, START, degraded=True)
    assert degraded.degraded
    assert model.counts().displays == 1.0, "a degraded display does not count"
