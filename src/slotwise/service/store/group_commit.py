"""Group commit: one thread owns the connection. It commits everything that waits in one transaction.

Callers get their results only after the commit.
"""

import asyncio
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.service.errors import ServiceError, StoreDown
from slotwise.service.store.interface import Display, Operation, Reader, ResultT, StoreCallbacks
from slotwise.service.store.sqlite_ledger import SqliteLedger

MOST_IN_GROUP = 2_000
LINGER_SECONDS = 0.1  # displays are collected this long, because no caller waits for them and waking the thread is slow
PROBE_SECONDS = 0.5  # the time after which a store that failed is tried again
MOST_WAITING = 50_000
_BUSY = "another process is writing to the store; nothing was recorded: try again"

Complete = Callable[[Any, Exception | None], None]  # called with the result of an operation, or with its exception


class _WaitingOperation(NamedTuple):
    operation: Callable[[SqliteLedger], Any]
    complete: Complete


class _WaitingReader(NamedTuple):
    complete: Complete


_Waiting = Display | _WaitingOperation | _WaitingReader


class _Completion(NamedTuple):
    """The result of one operation, to be delivered on the event loop."""

    complete: Complete
    result: Any
    error: Exception | None


class GroupCommit:
    """Takes displays and operations from the event loop, and delivers the results on the event loop.

    All callbacks and completions run on the event loop, in the order of the groups.
    """

    def __init__(
        self,
        open_ledger: Callable[[], tuple[sqlite3.Connection, SqliteLedger]],
        open_reader: Callable[[], Reader],
        callbacks: StoreCallbacks,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._wake = threading.Event()  # set at once for an operation, and after LINGER_SECONDS for displays
        self._timer: asyncio.TimerHandle | None = None
        self._open_ledger, self._open_reader, self._callbacks = open_ledger, open_reader, callbacks
        self._down, self._closing, self._probe_at = False, False, 0.0
        self._opened: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="slotwise-writer", daemon=True)
        self._thread.start()
        error = self._opened.get()
        if error is not None:
            raise error

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def add(self, display: Display) -> None:
        self._waiting.append(display)
        if self._timer is None:
            self._timer = self._loop.call_later(LINGER_SECONDS, self._wake_writer)

    def do(self, operation: Operation[ResultT]) -> "asyncio.Future[ResultT]":
        future: asyncio.Future[ResultT] = self._loop.create_future()

        def complete(result: ResultT, error: Exception | None) -> None:
            if future.done():
                return  # the caller was cancelled
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._append(_WaitingOperation(operation, complete))
        return future

    def begin_read(self) -> "asyncio.Future[Reader]":
        future: asyncio.Future[Reader] = self._loop.create_future()

        def complete(reader: Reader | None, error: Exception | None) -> None:
            if future.done():  # the caller was cancelled
                if reader is not None:
                    reader.close()
            elif reader is not None:
                future.set_result(reader)
            else:
                future.set_exception(error or StoreDown())

        self._append(_WaitingReader(complete))
        return future

    def _append(self, waiting: _WaitingOperation | _WaitingReader) -> None:
        if self._closing or self.waiting > MOST_WAITING:
            waiting.complete(None, StoreDown())
        else:
            self._waiting.append(waiting)
            self._wake_writer()

    async def close(self) -> None:
        self._closing = True
        self._wake_writer()
        await asyncio.to_thread(self._thread.join)

    def _wake_writer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._wake.set()

    # on the writer's thread

    def _run(self) -> None:
        try:
            self._connection, self._ledger = self._open_ledger()
        except Exception as error:
            self._opened.put(error)
            return
        self._opened.put(None)
        try:
            while not self._closing or self._waiting:
                if not self._closing:  # displays that arrived during a commit wait for their timer
                    self._wake.wait(PROBE_SECONDS if self._down else None)
                self._wake.clear()
                group = self._take_group()
                if group:
                    self._commit(group)
                self._open_readers()
                if self._down and time.monotonic() >= self._probe_at:
                    self._probe_at = time.monotonic() + PROBE_SECONDS
                    self._commit([_WaitingOperation(SqliteLedger.check_writable, lambda _, __: None)])
        finally:
            self._connection.close()

    def _take_group(self) -> list[Display | _WaitingOperation]:
        """The next displays and operations. A group ends before a reader, so that the reader sees all of it."""
        group: list[Display | _WaitingOperation] = []
        while self._waiting and not isinstance(self._waiting[0], _WaitingReader):
            if len(group) == MOST_IN_GROUP:
                self._wake.set()  # there may be more
                break
            group.append(self._waiting.popleft())  # type: ignore[arg-type]
        return group

    def _open_readers(self) -> None:
        """Open the readers that are next in the queue. What comes after them is for another group."""
        while self._waiting and isinstance(self._waiting[0], _WaitingReader):
            waiting = self._waiting.popleft()
            assert isinstance(waiting, _WaitingReader)
            self._wake.set()
            try:
                opened = _Completion(waiting.complete, self._open_reader(), None)
            except sqlite3.Error as error:  # the writer may work all the same
                opened = _Completion(waiting.complete, None, _as_store_down(error))
            self._call_on_loop(lambda opened=opened: _complete([opened]))  # type: ignore[misc]

    def _commit(self, group: list[Display | _WaitingOperation]) -> None:
        began, changes = time.perf_counter(), self._connection.total_changes
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            completions = self._apply(group)
            self._ledger.flush()
            self._connection.execute("COMMIT")
        except Exception as error:
            self._roll_back()
            if _is_busy(error) and not self._closing:
                self._try_later(group)
                return
            if not _is_store_failure(error) and len(group) > 1:  # halve it: only the operation at fault gets the error
                self._commit(group[: len(group) // 2])
                self._commit(group[len(group) // 2 :])
                return
            if _is_store_failure(error):
                error = self._mark_down(error)
            self._fail(group, error)
            return
        wrote = self._connection.total_changes > changes  # only a write proves that the store can be written
        recovered = self._down and wrote
        self._down = self._down and not recovered
        size, seconds, dropped = len(group), time.perf_counter() - began, self._ledger.take_dropped()

        def deliver() -> None:
            self._callbacks.committed(size, seconds)
            if recovered:
                self._callbacks.recovered()
            if dropped:
                self._callbacks.dropped(dropped)
            _complete(completions)

        self._call_on_loop(deliver)

    def _apply(self, group: list[Display | _WaitingOperation]) -> list[_Completion]:
        """Run everything in order.

        An operation that raises BadInput or ServiceError must not have changed anything. The others are committed.
        """
        completions: list[_Completion] = []
        displays: list[Display] = []
        for queued in group:
            if isinstance(queued, Display):
                displays.append(queued)
                continue
            if displays:
                self._ledger.add(displays)
                displays = []
            try:
                completions.append(_Completion(queued.complete, queued.operation(self._ledger), None))
            except (BadInput, ServiceError) as refusal:
                completions.append(_Completion(queued.complete, None, refusal))
        if displays:
            self._ledger.add(displays)
        return completions

    def _try_later(self, group: list[Display | _WaitingOperation]) -> None:
        """Keep the displays of a group for the next one, and fail its operations, because their callers wait."""
        self._waiting.extendleft(queued for queued in reversed(group) if isinstance(queued, Display))
        self._wake.set()
        self._fail(group, StoreDown(_BUSY))

    def _fail(self, group: list[Display | _WaitingOperation], error: Exception) -> None:
        failed = [
            _Completion(queued.complete, None, error) for queued in group if isinstance(queued, _WaitingOperation)
        ]
        self._call_on_loop(lambda: _complete(failed))

    def _roll_back(self) -> None:
        self._ledger.forget()
        with suppress(sqlite3.Error):  # nothing was committed; the next group tries again
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _mark_down(self, error: Exception) -> StoreDown:
        if not self._down:
            self._down = True
            self._call_on_loop(self._callbacks.failed)
        return _as_store_down(error)

    def _call_on_loop(self, callback: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and nothing waits for a result any more
            self._loop.call_soon_threadsafe(callback)


def _complete(completions: list[_Completion]) -> None:
    for complete, result, error in completions:
        complete(result, error)


def _as_store_down(error: Exception) -> StoreDown:
    down = StoreDown()
    down.__cause__ = error
    return down


def _is_busy(error: Exception) -> bool:
    """Whether another process kept the store locked for longer than the timeout of the connection."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY  # the other bits give the details


def _is_store_failure(error: Exception) -> bool:
    """Whether the store itself failed, rather than an operation that used it wrongly."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError
    )
