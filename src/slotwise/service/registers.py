"""The outcome of a display. Each entry has a register, which only increases: skipped < clicked < discarded.

Counts are a function of the registers, so duplicates, reordering and retries cannot change the counts. Only this module
defines how an event changes a register and what a register counts. It does not depend on stores or clocks.
"""

from enum import IntEnum
from functools import cache
from typing import Literal, NamedTuple

from msgspec import Struct

EventStatus = Literal["accepted", "duplicate", "late", "unknown", "conflict", "rejected"]


class EventKind(IntEnum):
    """What a visitor or a website did with a display."""

    VIEW = 0
    CLICK = 1
    DISCARD = 2


class Counting(IntEnum):
    """When the registers of a display begin to count."""

    NEVER = 0
    ISSUED = 1
    VIEWED = 2


class RegisterTotals(NamedTuple):
    """What the registers of a display count: the clicked entries, the skipped entries, and the display itself."""

    clicks: int  # bit k is set for entry k
    skips: int
    displays: int


class EntryChange(NamedTuple):
    """How the counts of one entry change. Clicks and skips each change by -1, 0 or 1."""

    entry: int
    clicks: int
    skips: int


NOTHING = RegisterTotals(0, 0, 0)


def changes(before: RegisterTotals, after: RegisterTotals) -> list[EntryChange]:
    """How each entry changes from the totals `before` to the totals `after`."""
    result = []
    changed = (before.clicks ^ after.clicks) | (before.skips ^ after.skips)
    while changed:
        bit = changed & -changed
        clicks = bool(after.clicks & bit) - bool(before.clicks & bit)
        skips = bool(after.skips & bit) - bool(before.skips & bit)
        result.append(EntryChange(bit.bit_length() - 1, clicks, skips))
        changed ^= bit
    return result


_NO_CHANGES: list[EntryChange] = []


@cache
def _click(entry: int) -> list[EntryChange]:
    """A skip becomes a click."""
    return [EntryChange(entry, 1, -1)]


class Registers(Struct, gc=False):
    """The registers of one display with `size` entries."""

    size: int
    counting: Counting
    viewed: bool = False
    discarded: bool = False
    clicked: int = 0  # bit k: the register of entry k is at least clicked

    def apply(self, kind: EventKind, entry: int, in_time: bool) -> EventStatus:
        """Raise the register that an event is about, unless the register is already as high or the event is late."""
        if self.discarded:
            return "duplicate"  # nothing is above discarded
        if kind is EventKind.DISCARD:
            self.discarded = True
            return "accepted"  # a discard is never late
        raises = not self.viewed if kind is EventKind.VIEW else not self.clicked >> entry & 1
        if not raises:
            return "duplicate"
        if not in_time:
            return "late"
        if kind is EventKind.VIEW:
            self.viewed = True
        else:
            self.clicked |= 1 << entry
        return "accepted"

    def record(self, kind: EventKind, entry: int, in_time: bool) -> tuple[EventStatus, list[EntryChange], int]:
        """Apply an event. Also returns how the counts of the entries change, and the number of counted displays."""
        if kind is EventKind.CLICK and self.counting is Counting.ISSUED:  # the usual case
            status = self.apply(kind, entry, in_time)
            return status, _click(entry) if status == "accepted" else _NO_CHANGES, 0
        before = self.totals()
        status = self.apply(kind, entry, in_time)
        if status != "accepted":
            return status, _NO_CHANGES, 0
        after = self.totals()
        return status, changes(before, after), after.displays - before.displays

    @property
    def count_at_once(self) -> bool:
        """Whether the display counts from the moment it is issued, before any event."""
        return self.counting is Counting.ISSUED and self.size > 0

    @property
    def any_accepted(self) -> bool:
        """Whether any event was accepted."""
        return self.viewed or self.discarded or self.clicked > 0

    def totals(self) -> RegisterTotals:
        """What the registers count now. A click implies that the display was viewed."""
        begun = self.counting is Counting.ISSUED or (
            self.counting is Counting.VIEWED and (self.viewed or self.clicked > 0)
        )
        if not begun or self.discarded or not self.size:  # a display without items counts for nothing
            return NOTHING
        return RegisterTotals(self.clicked, ((1 << self.size) - 1) ^ self.clicked, 1)
