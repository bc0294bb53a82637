"""The interface of every store.

A store commits in groups. Everything that waits is committed together, and callers get their results only after the
commit.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.records import Display, Event


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
