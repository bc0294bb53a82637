"""What a page shows while the service is away: the last good display, then the default order, under the request."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from slotwise_client import DefaultOrder, Display, DisplayItem
from slotwise_client.display import DisplayRequest
from slotwise_client.fallback import LastGoodDisplays, fallback_display
from tests.service.running_service import ManualClock

DEFAULT = DefaultOrder(["hero", "left"], ["hat", "tie", "bag"])


def request(**fields: Any) -> DisplayRequest:
    return DisplayRequest("shop", "r1", fields)  # type: ignore[arg-type]


def shown_before(**items: str) -> Display:
    rows = tuple(DisplayItem(position, item, "learnt") for position, item in items.items())
    return Display("shop", "desktop", rows, id="d1", token="d1.t", variant="learnt")


LAST = shown_before(hero="bag", left="hat")


def test_the_last_good_display_is_shown_again_without_its_token() -> None:
    display = fallback_display(request(default=DEFAULT), LAST, "away")
    assert display.by_position == {"hero": "bag", "left": "hat"}
    assert (display.source, display.error, display.layout) == ("last_good", "away", "desktop")
    assert (display.id, display.token) == ("", ""), "a click would count for the earlier display"


def test_without_a_last_good_display_the_default_order_is_shown() -> None:
    display = fallback_display(request(default=DEFAULT, layout="mobile"), None, "away")
    assert display.by_position == {"hero": "hat", "left": "tie"}
    assert (display.source, display.layout) == ("default", "mobile")


def test_excluded_items_are_replaced_in_default_order() -> None:
    display = fallback_display(request(default=DEFAULT, excluded=["bag"]), LAST, "away")
    assert display.by_position == {"hero": "tie", "left": "hat"}


def test_only_eligible_items_are_shown() -> None:
    display = fallback_display(request(default=DEFAULT, eligible=["hat", "sock"]), LAST, "away")
    assert display.by_position == {"hero": "sock", "left": "hat"}
    assert fallback_display(request(default=DEFAULT, eligible=[]), LAST, "away").left_out == ("hero", "left")


def test_pins_override_eligible_and_excluded_overrides_pins() -> None:
    pinned = fallback_display(request(pinned={"hero": "hat"}, eligible=["bag"]), LAST, "away")
    assert pinned.by_position == {"hero": "hat", "left": "bag"}
    assert pinned.items[0].reason == "pinned"
    excluded = fallback_display(request(pinned={"hero": "hat"}, excluded=["hat"]), LAST, "away")
    assert excluded.by_position == {"hero": "bag"}


def test_without_anything_known_the_display_is_empty() -> None:
    assert fallback_display(request(), None, "away").items == ()


names = st.sampled_from(["hat", "tie", "bag", "belt", "sock"])
positions = st.sampled_from(["hero", "left", "right"])


@given(
    excluded=st.lists(names),
    eligible=st.none() | st.lists(names),
    pinned=st.dictionaries(positions, names).filter(lambda pins: len(set(pins.values())) == len(pins)),
    default=st.none() | st.builds(DefaultOrder, st.lists(positions, unique=True), st.lists(names)),
    last=st.none() | st.just(LAST),
)
def test_a_fallback_always_respects_the_request(
    excluded: list[str],
    eligible: list[str] | None,
    pinned: dict[str, str],
    default: DefaultOrder | None,
    last: Display | None,
) -> None:
    fields = {"excluded": excluded, "eligible": eligible, "pinned": pinned, "default": default}
    display = fallback_display(request(**fields), last, "away")
    items = [row.item for row in display.items]
    assert len(set(items)) == len(items)
    assert not set(items) & set(excluded)
    free = {row.item for row in display.items if row.reason != "pinned"}
    assert eligible is None or free <= set(eligible)
    shown, known = display.by_position, {*display.by_position, *display.left_out}
    assert all(
        shown[position] == item
        for position, item in pinned.items()
        if position in known - set(display.left_out) and item not in excluded
    )
    if default and default.positions:
        assert known == set(default.positions)


def test_displays_are_kept_for_each_page_layout_and_segment() -> None:
    clock = ManualClock()
    kept = LastGoodDisplays(60, clock)
    kept.keep(request(layout="desktop", segment="new"), LAST)
    assert kept.find(request(layout="desktop", segment="new")) is LAST
    for other in (request(layout="mobile", segment="new"), request(layout="desktop"), request()):
        assert kept.find(other) is None
    clock.now += 61
    assert kept.find(request(layout="desktop", segment="new")) is None, "it is too old"


def test_a_display_of_the_holdout_is_not_kept() -> None:
    kept = LastGoodDisplays(60)
    kept.keep(request(), LAST)
    kept.keep(request(), Display("shop", "default", (), variant="holdout"))
    assert kept.find(request()) is LAST
