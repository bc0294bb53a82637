"""What a page shows while the service is away: its last good display, then the default order of the caller."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from slotwise_client.display import Display, DisplayItem, DisplayRequest, Source

MOST_KEPT = 1000  # pages x layouts x segments

_Key = tuple[str, str | None, str | None]


class LastGoodDisplays:
    """The newest display for each page, layout and segment, except those of the holdout, whose order may be random."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._kept: OrderedDict[_Key, tuple[float, Display]] = OrderedDict()
        self._lock = threading.Lock()

    def keep(self, request: DisplayRequest, display: Display) -> None:
        """Keep a display of the service."""
        if display.variant == "holdout":
            return
        with self._lock:
            self._kept[_key(request)] = (self._clock(), display)
            self._kept.move_to_end(_key(request))
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)

    def find(self, request: DisplayRequest) -> Display | None:
        """The last display for the same page, layout and segment, unless it is too old."""
        with self._lock:
            kept, display = self._kept.get(_key(request), (0.0, None))
            return display if display is not None and self._clock() - kept <= self._seconds else None


def _key(request: DisplayRequest) -> _Key:
    return request.page, request.fields.get("layout"), request.fields.get("segment")


def fallback_display(request: DisplayRequest, last_good: Display | None, error: str) -> Display:
    """A display without the service. It respects `excluded`, `pinned` and `eligible` of the request, in this order.

    Items of the last good display stay at their positions. The default order fills the positions that are left, and
    then items that are known to be eligible do.
    """
    default = request.fields.get("default")
    excluded, eligible = set(request.fields.get("excluded") or ()), request.fields.get("eligible")
    allowed = _AllowedItems(excluded, None if eligible is None else set(eligible))
    pinned = request.fields.get("pinned") or {}
    shown = [] if last_good is None else list(last_good.items)
    positions = _positions(last_good, default.positions if default else [])

    at = {position: DisplayItem(position, pinned[position], "pinned") for position in positions if position in pinned}
    at = {position: row for position, row in at.items() if row.item not in excluded}
    for row in shown:
        if row.position in positions and row.position not in at and allowed.may_show(row.item, at):
            at[row.position] = DisplayItem(row.position, row.item, "last_good")
    others = (*(default.items if default else ()), *(row.item for row in shown), *(eligible or ()))
    candidates = iter(dict.fromkeys(others))  # each once, in this order
    for position in positions:
        if position not in at:
            item = next((item for item in candidates if allowed.may_show(item, at)), None)
            if item is not None:
                at[position] = DisplayItem(position, item, "default")
    source: Source = "last_good" if any(row.reason == "last_good" for row in at.values()) else "default"
    return Display(
        page=request.page,
        layout=last_good.layout if last_good else request.fields.get("layout") or "",
        items=tuple(at[position] for position in positions if position in at),
        left_out=tuple(position for position in positions if position not in at),
        source=source,
        error=error,
    )


class _AllowedItems:
    """Which items a request allows."""

    def __init__(self, excluded: set[str], eligible: set[str] | None) -> None:
        self._excluded, self._eligible = excluded, eligible

    def may_show(self, item: str, at: dict[str, DisplayItem]) -> bool:
        """Whether the item is allowed, and not in the display yet."""
        if item in self._excluded or (self._eligible is not None and item not in self._eligible):
            return False
        return all(row.item != item for row in at.values())


def _positions(last_good: Display | None, default: Iterable[str]) -> list[str]:
    """The positions of the page in order. Those of the caller win, because they are what the page can show."""
    known = list(default)
    if known or last_good is None:
        return known
    return [*(row.position for row in last_good.items), *last_good.left_out]
