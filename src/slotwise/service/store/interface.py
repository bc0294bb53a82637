"""The interface of every store: what it keeps, and the operations that a transaction is made of.

A store commits in groups: what waits together is committed together, and only then answered. An operation is a
function of a `Ledger`; it runs inside the group's transaction, after every display that was added before it.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeVar

from msgspec import Struct

from slotwise.service.pages.limits import MOST_ITEMS
from slotwise.service.pages.page import ItemSpec, PageBody
from slotwise.service.registers import Change, Kind, Registers, Status

Answer = TypeVar("Answer")


class Place(Struct, array_like=True, gc=False):
    """One position of a display, the item there, and why."""

    position: str
    column: int
    item: int
    reason: str


class Display(Struct, gc=False):  # thousands are kept, none is part of a cycle: the collector need not look at them
    """A display that was issued, and its registers. `number` is given by the store when it is added."""

    id: str
    nonce: int
    page: int
    layout: str
    segment: int
    issued: float
    until: float
    drop_after: float
    variant: str
    epoch: int
    registers: Registers
    places: list[Place]
    number: int = -1
    degraded: bool = False  # the store was down: it never heard of this display

    def place_of(self, position: str) -> int:
        """The index of a position that shows an item, else -1."""
        for index, place in enumerate(self.places):
            if place.position == position:
                return index
        return -1


class Event(NamedTuple):
    """A click, view or discard as it was received, its token already checked."""

    kind: Kind
    display: str
    nonce: int | None  # None: whichever display has that id
    page: int | None  # None: whichever page
    position: str | None
    id: str | None


class Move(NamedTuple):
    """How the counts of one display changed by an event."""

    display: Display
    changes: list[Change]
    displays: int


class Received(NamedTuple):
    """What became of a batch of events: a status for each and why, and what moved."""

    statuses: list[tuple[Status, str, int | None]]  # and the page, where it is known
    moves: list[Move]


class Cell(NamedTuple):
    """Counts of one (item, segment, column)."""

    item: int
    segment: int
    column: int
    clicks: float
    skips: float


class StoredPage(NamedTuple):
    """A page as it is kept."""

    number: int
    name: str
    version: int
    archived: bool
    epoch: int
    epoch_began: float
    body: PageBody


class PageCounts(NamedTuple):
    """All counts of a page in the weights of its present epoch, and how often they changed."""

    cells: list[Cell]
    displays: float
    revision: int


class Rate(NamedTuple):
    """What one variant of a page showed in one hour, and the clicks on it."""

    hour: int  # since 1970
    variant: str
    displays: int
    shown: int
    clicks: int


class LogRow(NamedTuple):
    """One register: an item at a position of a display, and what became of it."""

    number: int
    display: str
    issued: float
    layout: str
    segment: str
    variant: str
    position: str
    item: str
    counted: bool
    clicked: bool
    discarded: bool


class Ledger(Protocol):
    """What can be done inside a transaction."""

    def page(self, name: str) -> StoredPage | None:
        """A page by its name, archived or not."""

    def page_names(self) -> list[str]:
        """The pages that are not archived, by name."""

    def save_page(
        self, name: str, body: PageBody, expected: int | None, now: float, archived: bool = False
    ) -> StoredPage:
        """Define a page anew; `expected` is its present version, None when there is no such page yet."""

    def items(self, page: int) -> list[tuple[str, ItemSpec]]:
        """Every item of a page by its number."""

    def save_items(
        self, page: int, items: list[tuple[str, ItemSpec]], most: int = MOST_ITEMS
    ) -> list[tuple[int, bool] | None]:
        """Add or change items; for each its number, and whether it is new. Numbers are given in order, for ever.

        None for a new one that would be more than `most`: it is left out.
        """

    def counts(self, page: int) -> PageCounts:
        """All that was learnt on a page."""

    def display(self, id: str) -> Display | None:
        """A display that is still in the log, with its registers."""

    def receive(self, events: list[Event], now: float) -> Received:
        """Decide what becomes of each event, move the registers, change the counts."""

    def begin_epoch(self, page: int, epoch: int, began: float) -> None:
        """From now on displays count in this epoch; the earlier ones weigh less."""

    def import_counts(self, page: int, cells: list[Cell], displays: float, expected: int | None) -> int:
        """Take these for all that was learnt: a snapshot. Displays issued before count no more. The new revision."""

    def prune(self, now: float, most: int) -> int:
        """Fold up to `most` displays whose time is over into the snapshot, and drop them; how many there were."""

    def rates(self, page: int) -> list[Rate]:
        """Click rates by hour and variant."""

    def log(self, page: int, after: int, most: int) -> list[LogRow]:
        """The registers of up to `most` displays that show something, their numbers above `after`, in order."""

    def beat(self) -> None:
        """Write something, to see whether the store can."""

    def secrets(self) -> list[tuple[float, str]]:
        """The secrets that sign tokens, oldest first, with the time each was made."""

    def save_secrets(self, secrets: list[tuple[float, str]]) -> None:
        """Keep these secrets and no others."""


Operation = Callable[[Ledger], Answer]


class Store(Protocol):
    """Commits in groups, in the order of the calls."""

    def add(self, display: Display) -> None:
        """Commit a display with the next group; nobody waits for it."""

    def do(self, operation: Operation[Answer]) -> "asyncio.Future[Answer]":
        """Run an operation in the next group; answered when the group is committed, else StoreDown."""

    async def read(self, operation: Operation[Answer]) -> Answer:
        """Run an operation that only reads, beside the groups, on what is committed."""

    def peek(self, id: str) -> Display | None:
        """A committed display, at once."""

    @property
    def waiting(self) -> int:
        """How much waits to be committed."""

    async def close(self) -> None:
        """Commit what waits, then let go of the store."""
