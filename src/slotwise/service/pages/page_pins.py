"""The pins of a page, and the time in which each of them applies."""

import math
from collections.abc import Mapping

from slotwise.service.errors import FieldError
from slotwise.service.pages.page_definition import LayoutPins, PagePin, Pin, plain_number

PinnedItems = Mapping[str, str]  # position -> item
_NO_PINS: PinnedItems = {}


def pinned_item(pin: PagePin) -> str:
    """The item of a pin."""
    return pin if isinstance(pin, str) else pin.item


def time_of(pin: PagePin) -> tuple[float, float]:
    """When a pin begins and ends to apply."""
    if isinstance(pin, str):
        return -math.inf, math.inf
    return -math.inf if pin.starts is None else pin.starts, math.inf if pin.until is None else pin.until


def page_pin(pin: Pin) -> PagePin:
    """A pin as a page keeps it."""
    return pin.item if pin.starts is None and pin.until is None else pin


def check_pin(pin: Pin) -> list[FieldError]:
    """The problems in a pin, except fields of the wrong type."""
    start, end = time_of(pin)
    if start < end:
        return []
    return [FieldError("/until", f"{plain_number(end)} is not after from, {plain_number(start)}")]


def overlap(one: PagePin, other: PagePin) -> bool:
    """Whether there is a time at which both pins apply."""
    (start, end), (other_start, other_end) = time_of(one), time_of(other)
    return max(start, other_start) < min(end, other_end)


class PinsInEffect:
    """The pins of a page that apply at a given time, by layout."""

    def __init__(self, pins: Mapping[str, LayoutPins]) -> None:
        self._pins = pins
        times = [time for layout in pins.values() for pin in layout.values() for time in time_of(pin)]
        self._times = sorted({time for time in times if math.isfinite(time)})
        self.computed_at, self.changes_at = math.inf, -math.inf
        self._last: dict[str, PinnedItems] = {}

    def at(self, now: float) -> dict[str, PinnedItems]:
        """The items that are pinned now. The result is the same object until a pin begins or ends to apply."""
        if not self.computed_at <= now < self.changes_at:
            self._last = {
                layout: {
                    position: pinned_item(pin)
                    for position, pin in pins.items()
                    if time_of(pin)[0] <= now < time_of(pin)[1]
                }
                for layout, pins in self._pins.items()
            }
            self.computed_at = max((time for time in self._times if time <= now), default=-math.inf)
            self.changes_at = min((time for time in self._times if time > now), default=math.inf)
        return self._last
