"""The constraints on a display: which items may be shown, and where. The page and the request decide."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import NO_LIMIT, NO_PINS, InvalidPin, ItemRules, allowed_items, most_shown, valid_pins
from slotwise.checks import Ints
from slotwise.service.errors import DoesNotFit, FieldError, TooFewItems
from slotwise.service.pages.layout import Layout
from slotwise.service.pages.page_items import PageItems, unknown
from slotwise.service.pages.page_pins import PinnedItems, PinsInEffect
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import StoredPage


class Constraints(NamedTuple):
    """Which items may be shown, and the pins. Pins are an array with an item or EMPTY for each position, and a dict."""

    allowed: NDArray[np.bool_]
    pins: Ints
    pinned: Mapping[int, int]
    rules: ItemRules
    of_page: bool = False  # these are the constraints of the page; the request adds none


class DisplayConstraints:
    """The layouts and segments of a page, and the constraints of every request. It is made from one definition.

    While the page does not change, requests without constraints of their own get the same object.
    """

    def __init__(self, page: StoredPage, items: PageItems) -> None:
        spec = page.body.spec
        self._items = items
        self.segments = {name: k for k, name in enumerate(page.body.segments) if name in ("", *spec.segments)}
        self.layouts = {name: Layout.of(page, name) for name in spec.all_layouts()}
        self._first_layout = next(iter(self.layouts))
        self._most_per_category = spec.most_per_category or NO_LIMIT
        self.rules = items.terms.rules(self._most_per_category)
        self._page_pins = PinsInEffect(page.body.pins)
        self._active: NDArray[np.bool_] = np.empty(0, np.bool_)  # the items that may be shown
        self._pins_used: dict[str, PinnedItems] = {}  # those that applied to the last request, by layout
        self._of_page: dict[str, Constraints] = {}  # by layout
        self._from, self._until = math.inf, -math.inf  # the times at which these are the constraints of the page

    def items_changed(self) -> None:
        """Follow a change of the items."""
        self.rules = self._items.terms.rules(self._most_per_category)
        self._of_page.clear()
        self._until = -math.inf

    def layout(self, name: str | None) -> Layout:
        try:
            return self.layouts[self._first_layout if name is None else name]
        except KeyError:
            raise DoesNotFit.at("/layout", unknown("layout", name, self.layouts)) from None

    def segment(self, name: str | None) -> int:
        try:
            return self.segments[name or ""]
        except KeyError:
            names = [segment for segment in self.segments if segment]
            raise DoesNotFit.at("/segment", unknown("segment", name, names)) from None

    def of(self, layout: Layout, request: RecommendationRequest, now: float) -> Constraints:
        """The constraints of a request. Raises DoesNotFit if it names what the page does not have."""
        if not self._from <= now < self._until:
            self._follow(now)
        if not _adds_nothing(request):
            return self._new(layout, request)
        known = self._of_page.get(layout.name)
        if known is None:
            known = self._of_page[layout.name] = self._new(layout, request)._replace(of_page=True)
        return known

    def _follow(self, now: float) -> None:
        """Follow the validities of items, and the times of pins."""
        active, pins = self._items.active, self._page_pins
        active_before, self._active = self._active, active.at(now)
        pins_before, self._pins_used = self._pins_used, pins.at(now)
        if self._active is not active_before or self._pins_used is not pins_before:
            self._of_page.clear()
        self._from, self._until = max(active.computed_at, pins.computed_at), min(active.changes_at, pins.changes_at)

    def rules_of(self, request: RecommendationRequest) -> ItemRules:
        if request.most_per_category is None:
            return self.rules
        return self.rules._replace(most_per_category=request.most_per_category)

    def check_enough_items(self, request: RecommendationRequest, now: float) -> None:
        """Raise TooFewItems if a display for this request would not fill all positions."""
        layout = self.layout(request.layout)
        constraints = self.of(layout, request, now)
        available = most_shown(constraints.allowed, constraints.pinned.values(), constraints.rules)
        if available < len(layout.positions):
            line = f"{available} items are too few for {len(layout.positions)} positions"
            raise TooFewItems(line, [FieldError("", line)])

    def _new(self, layout: Layout, request: RecommendationRequest) -> Constraints:
        active, page_pins, rules = self._active, self._pins_used.get(layout.name), self.rules_of(request)
        if _adds_nothing(request) and not page_pins:
            return Constraints(active, layout.no_pins, NO_PINS, rules)
        eligible = None if request.eligible is None else self._items.numbers_of("/eligible", request.eligible)
        excluded = self._items.numbers_of("/excluded", request.excluded)
        allowed = allowed_items(active, eligible, excluded)
        if not request.pinned and not page_pins:
            return Constraints(allowed, layout.no_pins, NO_PINS, rules)
        pinned = self._pins(layout, request.pinned, active, excluded)
        pins = layout.no_pins.copy()
        for position, item in pinned.items():
            pins[position] = item
        return Constraints(allowed, pins, pinned, rules)

    def _pins(
        self, layout: Layout, pinned: Mapping[str, str], active: NDArray[np.bool_], excluded: list[int]
    ) -> dict[int, int]:
        requested, numbers = {}, self._items.numbers
        for position, name in pinned.items():
            pointer = f"/pinned/{position}"
            if position not in layout.index_of:
                raise DoesNotFit.at(pointer, unknown("position", position, layout.index_of))
            (requested[layout.index_of[position]],) = self._items.numbers_of(pointer, [name])
        page_pins = self._pins_used.get(layout.name, {})
        standing = {layout.index_of[where]: numbers[name] for where, name in page_pins.items() if name in numbers}
        try:
            return valid_pins(requested, active, excluded, standing)
        except InvalidPin as error:
            reason = "is pinned at two positions" if error.twice else "is not shown now and cannot be pinned"
            pointer = f"/pinned/{layout.positions[error.position]}"
            raise DoesNotFit.at(pointer, f"item {self._items.names[error.item]!r} {reason}") from None


def _adds_nothing(request: RecommendationRequest) -> bool:
    """Whether a request has no constraints of its own."""
    constrained = request.excluded or request.pinned or request.most_per_category is not None
    return request.eligible is None and not constrained
