"""Pins of a page that apply for a time: the clock switches them, and displays that the page keeps follow."""

import math
from typing import Any

import numpy as np
import pytest

from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec, Pin
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.page_pins import PinsInEffect, check_pin, overlap, page_pin
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import PageCounts, StoredPage


def in_effect(pins: dict[str, Any], now: float) -> dict[str, str]:
    return dict(PinsInEffect({"default": pins}).at(now)["default"])


@pytest.mark.parametrize(
    ("pin", "times"),
    [
        (Pin("hat"), [True, True, True, True, True]),
        (Pin("hat", 10.0), [False, True, True, True, True]),
        (Pin("hat", None, 20.0), [True, True, True, False, False]),
        (Pin("hat", 10.0, 20.0), [False, True, True, False, False]),
    ],
)
def test_a_pin_applies_from_its_start_until_its_end(pin: Pin, times: list[bool]) -> None:
    assert [in_effect({"hero": pin}, now) == {"hero": "hat"} for now in (9.9, 10.0, 19.9, 20.0, 1e9)] == times


def test_the_pins_in_effect_are_the_same_object_until_one_of_them_changes() -> None:
    pins = PinsInEffect(
        {"default": {"hero": Pin("hat", 10.0, 20.0), "left": "tie"}, "mobile": {"one": Pin("bag", 30.0)}}
    )
    objects = [pins.at(now) for now in (0.0, 9.0, 10.0, 19.0, 20.0, 29.0, 30.0, 1e9)]
    assert [id(objects[k]) == id(objects[k + 1]) for k in range(7)] == [True, False, True, False, True, False, True]
    assert objects[0] == {"default": {"left": "tie"}, "mobile": {}}
    assert objects[2] == {"default": {"hero": "hat", "left": "tie"}, "mobile": {}}
    assert objects[-1] == {"default": {"left": "tie"}, "mobile": {"one": "bag"}}
    assert pins.at(5.0) == objects[0]  # the clock was set back


def test_pins_without_times_are_computed_once() -> None:
    pins = PinsInEffect({"default": {"hero": "hat"}})
    assert pins.at(0.0) is pins.at(1e9) is pins.at(5.0)
    assert page_pin(Pin("hat")) == "hat"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("hat", Pin("hat", 5.0, 6.0), True),
        (Pin("hat", None, 5.0), Pin("hat", 5.0), False),
        (Pin("hat", None, 5.1), Pin("hat", 5.0), True),
        (Pin("hat", 1.0, 2.0), Pin("hat", 3.0, 4.0), False),
    ],
)
def test_pins_overlap(one: Any, other: Any, expected: bool) -> None:
    assert overlap(one, other) is overlap(other, one) is expected


def test_a_pin_ends_after_it_starts() -> None:
    assert [error.pointer for error in check_pin(Pin("hat", 5.0, 5.0))] == ["/until"]
    assert check_pin(Pin("hat", 5.0, math.nextafter(5.0, 6.0))) == []


def test_the_clock_switches_the_pins_of_displays_that_are_kept() -> None:
    body = NO_PAGE.with_spec(PageSpec(positions=["hero", "left"]))
    body.pins = {"default": {"hero": Pin("a", 100.0, 200.0)}}
    page = StoredPage(1, "shop", 1, False, 0, 0.0, body)
    items = [(name, ItemSpec(valid_from=50.0 if name == "d" else None)) for name in "abcd"]
    model = PageModel(page, items, PageCounts([], 0.0, 0), np.random.default_rng(0))

    def shown(now: float, times: int = 200, **request: Any) -> set[tuple[str, str]]:
        displays = [model.choose(RecommendationRequest(**request), "view", 0, now) for _ in range(times)]
        return {(model.names[display.entries[0].item], display.entries[0].reason) for display in displays}

    shown(0.0, 1)
    model.install(model.begin_refresh().run(np.random.default_rng(1)))
    assert ("b", "learnt") in shown(60.0)
    assert shown(100.0) == {("a", "pinned")}
    assert shown(199.9, 5, eligible=["b", "c"]) == {("a", "pinned")}
    assert shown(150.0, 5, pinned={"hero": "c"}) == {("c", "pinned")}
    assert {reason for _, reason in shown(200.0)} == {"learnt"}
    assert shown(150.0) == {("a", "pinned")}  # the clock was set back
    assert model.effective_pins("default", 150.0) == {"hero": "a"}
    assert model.effective_pins("default", 250.0) == {}
    model.set_items([(0, "a", ItemSpec(state="paused"))])
    assert not {item for item, _ in shown(150.0)} & {"a"}
    model.set_items([(0, "a", ItemSpec())])
    assert shown(150.0) == {("a", "pinned")}
