"""The outcome of a display: for each position a register that only moves up, skipped < clicked < discarded.

Counts are a function of the registers, so duplicates, reordering and retries cannot change them. This is the only
place that says how an event moves a register and what a register counts; nothing here knows of stores or clocks.
"""

from enum import IntEnum
from typing import Literal, NamedTuple

from msgspec import Struct

Status = Literal["accepted", "duplicate", "late", "unknown", "conflict", "rejected"]


class Kind(IntEnum):
    """Of an event."""

    VIEW = 0
    CLICK = 1
    DISCARD = 2


class Counting(IntEnum):
    """From when on the registers of a display count."""

    NEVER = 0
    ISSUED = 1
    VIEWED = 2


class Total(NamedTuple):
    """What the registers of a display count for: places clicked, places skipped, and the display itself."""

    clicks: int  # bit l is set for place l
    skips: int
    displays: int


class Change(NamedTuple):
    """How the counts at one place change: each by -1, 0 or 1."""

    place: int
    clicks: int
    skips: int


NOTHING = Total(0, 0, 0)


def changes(before: Total, after: Total) -> list[Change]:
    """What leads from one total to another."""
    found = []
    moved = (before.clicks ^ after.clicks) | (before.skips ^ after.skips)
    while moved:
        bit = moved & -moved
        clicks = bool(after.clicks & bit) - bool(before.clicks & bit)
        found.append(Change(bit.bit_length() - 1, clicks, bool(after.skips & bit) - bool(before.skips & bit)))
        moved ^= bit
    return found


class Registers(Struct, gc=False):
    """The outcomes of one display; `size` places showed an item."""

    size: int
    counting: Counting
    viewed: bool = False
    discarded: bool = False
    clicked: int = 0  # bit l: the register of place l has moved up from skipped to clicked

    def receive(self, kind: Kind, place: int, in_time: bool) -> Status:
        """Move the register that an event is about, if it moves up; say what became of the event."""
        if self.discarded:
            return "duplicate"  # nothing is above discarded
        if kind is Kind.DISCARD:
            self.discarded = True
            return "accepted"  # whenever it comes
        moves = not self.viewed if kind is Kind.VIEW else not self.clicked >> place & 1
        if not moves:
            return "duplicate"
        if not in_time:
            return "late"
        if kind is Kind.VIEW:
            self.viewed = True
        else:
            self.clicked |= 1 << place
        return "accepted"

    @property
    def moved(self) -> bool:
        """Whether any event was accepted."""
        return self.viewed or self.discarded or self.clicked > 0

    def total(self) -> Total:
        """What the registers count for now; a click says that the display was viewed."""
        begun = self.counting is Counting.ISSUED or (
            self.counting is Counting.VIEWED and (self.viewed or self.clicked > 0)
        )
        if not begun or self.discarded or not self.size:  # a display that shows nothing teaches nothing
            return NOTHING
        return Total(self.clicked, ((1 << self.size) - 1) ^ self.clicked, 1)
