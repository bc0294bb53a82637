"""The interface of every store: the data that it keeps, and the operations that make up a transaction.

A store commits in groups. Everything that waits is committed together, and callers get their results only after the
commit. An operation is a function of a `Ledger`. It runs inside the group's transaction, after every display that was
added before it.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Raw, Struct

from slotwise.checks import Floats
from slotwise.service.history import Action, Author, Change
from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.keys.ended_sessions import EndedSession
from slotwise.service.pages.folded import Folded
from slotwise.service.pages.limits import MOST_ITEMS
from slotwise.service.pages.page_definition import ItemSpec, PageBody
from slotwise.service.preconditions import Precondition
from slotwise.service.registers import EntryChange, EventKind, EventStatus, Registers

ResultT = TypeVar("ResultT")


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


class KeyLedger(Protocol):
    """The operations of one transaction on API keys, and on the history."""

    def keys_version(self) -> int:
        """A number that grows with every `save_key` and `save_ended_sessions`."""

    def keys(self) -> list[ApiKey]:
        """All API keys, also expired and revoked ones, oldest first."""

    def key(self, id: str) -> ApiKey | None:
        """The API key with this id, or None."""

    def save_key(self, key: ApiKey) -> None:
        """Add or replace an API key."""

    def mark_keys_used(self, used: Iterable[tuple[str, float]]) -> None:
        """Save when keys were last used, as (id, time). An earlier time than the saved one changes nothing."""

    def ended_sessions(self) -> list[EndedSession]:
        """The sessions that people have ended."""

    def save_ended_sessions(self, sessions: list[EndedSession]) -> None:
        """Replace the sessions that people have ended by these."""

    def record_change(
        self, page: int, author: Author, now: float, action: Action, subject: str, sides: tuple[Any, Any]
    ) -> None:
        """Add a change to the history of a page: what differs, before and after. The oldest changes are deleted.

        Changes that belong to no page have `STORE` instead of its number.
        """

    def history(self, page: int, before: int, most: int) -> list[Change]:
        """The newest changes of a page whose numbers are below `before`, newest first."""


class Ledger(KeyLedger, Protocol):
    """The operations of one transaction."""

    def page(self, name: str) -> StoredPage | None:
        """The page with this name, even if it is archived, or None."""

    def page_names(self) -> list[str]:
        """The names of all pages that are not archived, sorted."""

    def template_page(self, template: str, other_than: str) -> StoredPage | None:
        """A page of a template that is not archived and has another name, or None."""

    def template_pages(self, template: str) -> list[tuple[StoredPage, float]]:
        """The pages of a template that are not archived, and the displays of each, as weighted in its current epoch.

        Pages with more displays come first.
        """

    def save_page(
        self, name: str, body: PageBody, expected: int | None, now: float, archived: bool = False
    ) -> StoredPage:
        """Create or replace a page. Raises StaleVersion unless `expected` is its version (None for a new page)."""

    def items(self, page: int) -> list[tuple[str, ItemSpec]]:
        """Every item of a page, in the order of their numbers."""

    def n_items(self, page: int) -> int:
        """The number of items of a page."""

    def item(self, page: int, name: str) -> StoredItem | None:
        """The item of a page with this name, or None."""

    def specs(self, page: int, names: Sequence[str]) -> dict[str, ItemSpec]:
        """The definitions of those items of a page that exist."""

    def save_items(
        self, page: int, items: list[tuple[str, ItemSpec]], most: int = MOST_ITEMS
    ) -> list[tuple[int, bool] | None]:
        """Add or change items. For each item, returns its number and whether it is new.

        An item whose definition stays the same keeps its version. Items are numbered in the order in which they are
        added, and a number never changes. A new item beyond `most` is not added. Its result is None.
        """

    def begin_purge(self, page: int, author: Author, now: float) -> None:
        """Delete a page for good. Its name can be used for a new page, and its number is never used again.

        Its data are removed by calls of `purge`. Add this to the history of the store.
        """

    def purges(self) -> list[Purge]:
        """The pages whose data are not all removed yet."""

    def purge(self, purge: Purge, after: int, now: float) -> int | None:
        """Remove a bounded part of the data of a page. Returns None if this was the last part.

        `after` is 0 in the first call, and then the result of the last call.
        """

    def issue(self, display: Display) -> Display:
        """Add a display whose id the caller chose. Returns the display with this id: this, or an earlier one."""

    def seen(self) -> dict[int, int]:
        """The number of the last group of each node that the ledger sees, if several nodes share the store."""

    def counts(self, page: int) -> PageCounts:
        """All counts of a page."""

    def count_rows(self, page: int) -> CountRows:
        """All counts of a page as an array. Other threads can run while it is filled."""

    def logged(self, page: int) -> Folded:
        """The items, columns and segments with counts from displays in the log. All others are folded."""

    def display(self, id: str) -> Display | None:
        """A display that is still in the log, with its registers."""

    def record_events(self, events: list[Event], now: float) -> RecordedEvents:
        """Apply events to the registers, log them and update the counts."""

    def begin_epoch(self, page: int, epoch: int, began: float) -> None:
        """Count new displays in this epoch. Earlier epochs lose weight."""

    def begin_import(self) -> int:
        """The number of a new snapshot, which belongs to no page yet."""

    def stage_counts(self, number: int, cells: Floats) -> None:
        """Add rows of (item, segment, column, clicks, skips) to a new snapshot."""

    def import_counts(self, page: int, snapshot: int, displays: float, expected: Precondition | None) -> int:
        """Replace all counts by a new snapshot, and return the new revision. Earlier displays only change the rates.

        `expected` applies to the revision before the import.
        """

    def abandon_imports(self) -> None:
        """Let every new snapshot that belongs to no page be deleted."""

    def unused_snapshots(self) -> list[int]:
        """The numbers of the snapshots that must be deleted."""

    def remove_snapshot(self, number: int) -> bool:
        """Delete a bounded number of rows of an unused snapshot. Returns whether there may be more."""

    def prune(self, now: float, most: int) -> int:
        """Add up to `most` expired displays to the snapshot and delete them. Returns their number."""

    def nodes(self) -> list[NodeState]:
        """The nodes that have used the store within an hour, if several nodes share it."""

    def fold_nodes(self, now: float, most: int) -> int:
        """Add up what nodes have written that have ended, for up to `most` pages. Returns their number."""

    def rates(self, page: int) -> list[HourlyRate]:
        """The click rates of each variant in each hour."""

    def daily_rates(self, page: int, allocation: int) -> list[DailyRate]:
        """What the displays of one allocation earned, by day, variant and bucket, where there are displays."""

    def log(self, page: int, after: int, most: int) -> list[LogRow]:
        """The registers of the next `most` displays with entries. Their numbers are above `after`, in order."""

    def check_writable(self) -> None:
        """Write to the store. Raises an exception if that fails."""

    def secrets(self) -> list[tuple[float, str]]:
        """The secrets that sign tokens, as (time of creation, secret). The oldest comes first."""

    def save_secrets(self, secrets: list[tuple[float, str]]) -> None:
        """Replace all secrets by these."""


Operation = Callable[[Ledger], ResultT]


class TrafficRows(NamedTuple):
    """What an operation needs that changes nothing but displays, events and the counts that follow from them.

    Operations of traffic do not wait for each other when several nodes share a store.
    """

    events: Sequence[Event] = ()
    displays: Sequence[Display] = ()  # for `Ledger.issue`


class StoreCallbacks(NamedTuple):
    """Functions that a store calls on the event loop, in the order of the groups."""

    committed: Callable[[int, float], None] = lambda _size, _seconds: None  # a group of this size, and its duration
    failed: Callable[[], None] = lambda: None
    recovered: Callable[[], None] = lambda: None
    dropped: Callable[[list[Display]], None] = lambda _displays: None  # displays whose id another display already had
    elsewhere: Callable[[Any], None] = lambda _changes: None  # `ChangesElsewhere`, which other nodes have committed


NO_CALLBACKS = StoreCallbacks()


class Reader(Protocol):
    """Reads the data as they were at one moment, whatever is committed later. Meanwhile the store keeps these data."""

    def read(self, operation: Operation[ResultT]) -> ResultT:
        """Run a read-only operation on any thread, then close the reader."""

    def close(self) -> None:
        """Close a reader that was not used."""


class Store(Protocol):
    """Commits displays and operations in groups, in the order of the calls."""

    def add(self, display: Display) -> None:
        """Commit a display with the next group. The caller gets no result."""

    def do(self, operation: Operation[ResultT], traffic: TrafficRows | None = None) -> "asyncio.Future[ResultT]":
        """Run an operation in the next group. The future completes after the commit, or fails with StoreDown.

        Without `traffic`, the operation may change anything, and no other node commits meanwhile.
        """

    async def read(self, operation: Operation[ResultT]) -> ResultT:
        """Run a read-only operation on the committed data, in parallel with the groups."""

    def read_here(self, operation: Operation[ResultT]) -> ResultT:
        """Like `read`, but on the calling thread, which must not be that of the event loop."""

    def begin_read(self) -> "asyncio.Future[Reader]":
        """A reader of the data after all displays and operations that were added before this call, and no later ones.

        The future completes in the order of the commits, and fails with StoreDown if the store cannot be read.
        """

    async def find(self, id: str) -> Display | None:
        """A committed display."""

    @property
    def clock(self) -> Callable[[], float] | None:
        """The clock of the store, or None if the clock of the machine must be used."""

    @property
    def node(self) -> int | None:
        """The id of this node among those that share the store, or None."""

    @property
    def is_shared(self) -> bool:
        """Whether other nodes may add displays. Then `Ledger.issue` decides which display has an id."""

    @property
    def waiting(self) -> int:
        """The number of displays and operations that wait for their commit."""

    async def close(self) -> None:
        """Commit everything that waits, then close the store."""


async def commit_and_apply(
    store: Store, operation: Operation[ResultT], apply: Callable[[ResultT], None], traffic: TrafficRows | None = None
) -> ResultT:
    """Commit an operation, then apply its result to memory. Results are applied in the order of the commits.

    The result is applied even if the caller is cancelled.
    """
    future = store.do(operation, traffic)
    future.add_done_callback(lambda done: None if done.exception() else apply(done.result()))
    return await asyncio.shield(future)
