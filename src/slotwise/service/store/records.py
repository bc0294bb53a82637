"""What a store keeps: displays and events, pages and items, counts and rates."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Raw, Struct

from slotwise.checks import Floats
from slotwise.service.history import Author
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.registers import EntryChange, EventKind, EventStatus, Registers


class DisplayEntry(Struct, array_like=True, gc=False):
    """One position of a display that shows an item. `column` and `item` are the numbers that the counts use.

    New fields are appended with a default, because the log has entries without them.
    """

    position: str
    column: int
    item: int
    reason: str
    value: float = 1.0  # of a click on the item, when the display was issued
    propensity: float | None = None  # the probability that the item is shown here, or None if it is not known


class Arrangement(Struct, gc=False):
    """The entries of a display. Displays that come from the same draw share them, so they must not be changed."""

    entries: list[DisplayEntry]
    left_out: list[str]  # the positions without an item
    over_limit: list[str] = []  # the categories of which pins show more items than the limit allows
    encoded: Raw | None = None  # the entries as JSON, kept by the first response that needs them
    logged: str | None = None  # the entries as the log keeps them


class Display(Struct, gc=False):  # no reference cycles, so the garbage collector can skip the thousands in caches
    """A display that was issued, and its registers. The store assigns `number` when the display is added."""

    id: str
    nonce: int
    page: int
    layout: str
    segment: int
    issued: float
    until: float  # clicks and views are accepted until then
    drop_after: float
    variant: str
    epoch: int
    registers: Registers
    entries: list[DisplayEntry]
    number: int = -1
    degraded: bool = False  # issued while the store was down, so the store does not know this display
    warming: bool = False  # chosen by point estimates, because the page had no draws yet
    arrangement: Arrangement | None = None  # that of `entries`; None if the display was loaded from the log
    allocation: int = 0  # that of the page when the display was issued; 0 if the display is not compared with others
    bucket: int = 0  # of the unit
    counted: bool = True  # False if an import replaced the counts since: the display only changes the rates

    def entry_index(self, position: str) -> int:
        """The index of the entry at a position, or -1 if no item is shown there."""
        for index, entry in enumerate(self.entries):
            if entry.position == position:
                return index
        return -1


class Event(Struct, frozen=True, gc=False):
    """A click, view or discard. Its token, if it had one, is already checked."""

    kind: EventKind
    display: str
    nonce: int | None  # None allows any display with that id
    page: int | None  # None allows any page
    position: str | None
    id: str | None


class EventOutcome(Struct, frozen=True, gc=False):
    """The result of one event. `page` is None if the display is not known."""

    status: EventStatus
    detail: str
    page: int | None


class DisplayChange(NamedTuple):
    """How an event changed the counts of one display."""

    display: Display
    changes: list[EntryChange]
    displays: int  # -1, 0 or 1: the display stops counting, counts as before, or begins to count


class RecordedEvents(NamedTuple):
    """The outcome of each event of a batch, and the changes of counts that follow from the events."""

    outcomes: list[EventOutcome]
    changes: list[DisplayChange]


class CellCounts(NamedTuple):
    """Clicks and skips of one (item, segment, column)."""

    item: int
    segment: int
    column: int
    clicks: float
    skips: float


class StoredPage(NamedTuple):
    """A page as the store keeps it. `allocation` grows when the shares of the variants change."""

    number: int
    name: str
    version: int
    archived: bool
    epoch: int
    epoch_began: float
    body: PageBody
    allocation: int = 0
    unit_secret: bytes = b""  # the key of the hashes that give a unit its variant and its bucket


class StoredItem(NamedTuple):
    """An item as the store keeps it. Every change of its definition increases `version`."""

    number: int
    name: str
    version: int
    spec: ItemSpec


class PageCounts(NamedTuple):
    """All counts of a page, weighted as of its current epoch. Every change of the counts increases `revision`."""

    cells: list[CellCounts]
    displays: float
    revision: int


class CountRows(NamedTuple):
    """All counts of a page as an array, for pages with very many of them."""

    cells: Floats  # rows of (item, segment, column, clicks, skips); amounts of one cell may be in several rows
    displays: float
    revision: int
    seen: Mapping[int, int] = MappingProxyType({})  # the last group of each other node that the counts contain


class HourlyRate(NamedTuple):
    """What one variant of a page showed in one hour, and how often it was clicked."""

    hour: int  # since 1970
    variant: str
    displays: int
    shown: int
    clicks: int


class DailyRate(NamedTuple):
    """What one variant of a page showed to one bucket of units on one day, and what it earned."""

    day: int  # since 1970
    variant: str
    bucket: int
    displays: int
    clicks: int
    value: float  # the sum of the values of the clicked items


class LogRow(NamedTuple):
    """One register: an item at a position of a display, and its outcome."""

    number: int
    display: str
    issued: float
    layout: str
    segment: str
    variant: str
    allocation: int
    bucket: int
    value: float
    position: str
    item: str
    propensity: float | None
    counted: bool
    clicked: bool
    discarded: bool


class NodeState(NamedTuple):
    """A node that shares the store, and the seconds since it last read what the others have committed."""

    node: int
    name: str
    behind: float


class Purge(Struct, frozen=True):
    """A page that is deleted for good, and whose data are being removed. `name` is the one that it had."""

    page: int
    name: str
    author: Author
