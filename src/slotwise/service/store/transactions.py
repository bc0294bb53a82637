"""The transactions of one writer: what `GroupCommit` needs of a store."""

from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from slotwise.service.store.changes_elsewhere import ChangesElsewhere
from slotwise.service.store.interface import Reader, TrafficRows
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import Display


class Failure(Enum):
    """Why a group was not committed."""

    OPERATION = auto()  # an operation raised an exception; the others of the group can be committed
    BUSY = auto()  # another process has locked the store
    CONFLICT = auto()  # with a group of another node, or a lost connection: the group can be repeated at once
    STORE = auto()  # the store cannot be written


class GroupLedger(Ledger, Protocol):
    """The ledger of a group."""

    def add(self, displays: list[Display]) -> None:
        """Add displays to the log. Those whose id is taken are dropped."""


class Committed(NamedTuple):
    """What the loop must know about a group that was committed."""

    wrote: bool  # only a write proves that the store can be written
    dropped: list[Display]  # displays whose id was taken
    elsewhere: ChangesElsewhere | None = None  # what other nodes have committed, and this group could see


class Transactions(Protocol):
    """Runs one transaction at a time. All methods are called on the thread of the writer."""

    is_shared: bool  # by several nodes
    refresh_seconds: float | None  # how often `refresh` is called while nothing is to commit
    repeat_seconds: float  # how long a group is repeated after conflicts

    def open(self) -> None:
        """Connect to the store. Raises an exception if it cannot be used."""

    def begin(self, displays: Sequence[Display], traffic: TrafficRows | None) -> GroupLedger:
        """Begin a transaction for a group that adds these displays first.

        `traffic` is what its operations need, or None if they may need anything.
        """

    def commit(self) -> Committed:
        """Commit the transaction."""

    def roll_back(self) -> None:
        """End the transaction without a change. Raises no exception."""

    def give_up(self) -> None:
        """The last group is not repeated any more. If the connection was lost, it may be committed all the same."""

    def failure_of(self, error: Exception) -> Failure:
        """What an exception of a transaction means."""

    def refresh(self) -> ChangesElsewhere | None:
        """What other nodes have committed since the last group."""

    def open_reader(self) -> Reader:
        """A reader of everything that is committed."""

    def close(self) -> None:
        """Close the connections."""
