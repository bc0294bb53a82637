"""Group commit: one thread owns the connection. It commits everything that waits in one transaction.

Callers get their results only after the commit.
"""

import asyncio
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.service.errors import ServiceError, StoreDown
from slotwise.service.store.interface import Reader, StoreCallbacks, TrafficRows
from slotwise.service.store.ledger import Ledger, Operation, ResultT
from slotwise.service.store.records import Display, Event
from slotwise.service.store.transactions import Committed, Failure, GroupLedger, Transactions

MOST_IN_GROUP = 2_000
LINGER_SECONDS = 0.1  # displays are collected this long, because no caller waits for them and waking the thread is slow
PROBE_SECONDS = 0.5  # the time after which a store that failed is tried again
MOST_WAITING = 50_000
REPEAT_AFTER = (0.001, 0.01)  # seconds, at random: nodes that conflict should not repeat at the same time
_BUSY = "another process is writing to the store; nothing was recorded: try again"

Complete = Callable[[Any, Exception | None], None]  # called with the result of an operation, or with its exception


class _WaitingOperation(NamedTuple):
    operation: Callable[[Ledger], Any]
    complete: Complete
    traffic: TrafficRows | None


class _WaitingReader(NamedTuple):
    complete: Complete


_PROBE = _WaitingOperation(lambda ledger: ledger.check_writable(), lambda _, __: None, TrafficRows())
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

    def __init__(self, transactions: Transactions, callbacks: StoreCallbacks) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[_Waiting] = deque()
        self._wake = threading.Event()  # set at once for an operation, and after LINGER_SECONDS for displays
        self._timer: asyncio.TimerHandle | None = None
        self._transactions, self._callbacks = transactions, callbacks
        self._down, self._closing, self._probe_at = False, False, 0.0
        self._kept: list[Display] = []  # of groups that failed; their ids tell if they are committed already
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

    def do(self, operation: Operation[ResultT], traffic: TrafficRows | None = None) -> "asyncio.Future[ResultT]":
        future: asyncio.Future[ResultT] = self._loop.create_future()

        def complete(result: ResultT, error: Exception | None) -> None:
            if future.done():
                return  # the caller was cancelled
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._append(_WaitingOperation(operation, complete, traffic))
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
            self._transactions.open()
        except Exception as error:
            self._opened.put(error)
            return
        self._opened.put(None)
        try:
            while not self._closing or self._waiting:
                due = True
                if not self._closing:  # displays that arrived during a commit wait for their timer
                    due = self._wake.wait(PROBE_SECONDS if self._down else self._transactions.refresh_seconds)
                self._wake.clear()
                group = self._take_group()
                if group:
                    self._commit(group)
                elif not due and not self._down:
                    self._refresh()
                self._open_readers()
                if self._down and time.monotonic() >= self._probe_at:
                    self._probe_at = time.monotonic() + PROBE_SECONDS
                    self._commit([_PROBE])
            if self._kept:
                self._commit([_PROBE])  # the last try
        finally:
            self._transactions.close()

    def _take_group(self) -> list[Display | _WaitingOperation]:
        """The next displays and operations. A group ends before a reader, so that the reader sees all of it.

        If nodes share the store, displays and operations of traffic are in other groups than the other operations.
        """
        splits = self._transactions.is_shared
        group: list[Display | _WaitingOperation] = []
        while self._waiting and not isinstance(self._waiting[0], _WaitingReader):
            differs = splits and group and _is_traffic(group[0]) != _is_traffic(self._waiting[0])
            if len(group) == MOST_IN_GROUP or differs:
                self._wake.set()  # there may be more
                break
            group.append(self._waiting.popleft())  # type: ignore[arg-type]
        return group

    def _refresh(self) -> None:
        try:
            elsewhere = self._transactions.refresh()
        except Exception as error:
            self._transactions.roll_back()
            if self._transactions.failure_of(error) is Failure.STORE:
                self._mark_down(error)
            return  # otherwise the next group or the next refresh tries again
        if elsewhere is not None:
            self._call_on_loop(lambda: self._callbacks.elsewhere(elsewhere))

    def _open_readers(self) -> None:
        """Open the readers that are next in the queue. What comes after them is for another group."""
        while self._waiting and isinstance(self._waiting[0], _WaitingReader):
            waiting = self._waiting.popleft()
            assert isinstance(waiting, _WaitingReader)
            self._wake.set()
            try:
                opened = _Completion(waiting.complete, self._transactions.open_reader(), None)
            except Exception as error:  # the writer may work all the same
                opened = _Completion(waiting.complete, None, _as_store_down(error))
            self._call_on_loop(lambda opened=opened: _complete([opened]))  # type: ignore[misc]

    def _commit(self, group: list[Display | _WaitingOperation]) -> None:
        began = time.perf_counter()
        if self._kept and _is_traffic(group[0]):
            group, self._kept = [*self._kept, *group], []
        try:
            completions, committed = self._repeat(group)
        except Exception as error:
            failure = self._transactions.failure_of(error)
            if failure is Failure.BUSY and not self._closing:
                self._try_later(group)
                return
            if failure is Failure.OPERATION and len(group) > 1:  # halve it: only the operation at fault gets the error
                self._commit(group[: len(group) // 2])
                self._commit(group[len(group) // 2 :])
                return
            if failure is not Failure.OPERATION:
                error = self._mark_down(error)
                if self._transactions.is_shared and not self._closing:
                    self._kept += [queued for queued in group if isinstance(queued, Display)]
            self._fail(group, error)
            return
        recovered = self._down and committed.wrote
        self._down = self._down and not recovered
        if recovered and self._kept:
            self._waiting.extendleft(reversed(self._kept))
            self._kept = []
            self._wake.set()
        size, seconds = len(group), time.perf_counter() - began

        def deliver() -> None:
            self._callbacks.committed(size, seconds)
            if recovered:
                self._callbacks.recovered()
            if committed.dropped:
                self._callbacks.dropped(committed.dropped)
            if committed.elsewhere is not None:  # first, because the results below may follow from these changes
                self._callbacks.elsewhere(committed.elsewhere)
            _complete(completions)

        self._call_on_loop(deliver)

    def _repeat(self, group: list[Display | _WaitingOperation]) -> tuple[list[_Completion], Committed]:
        """Commit a group, and repeat it while it conflicts with groups of other nodes."""
        deadline = time.monotonic() + (0.0 if self._down else self._transactions.repeat_seconds)
        while True:
            try:
                ledger = self._begin(group)
                completions = self._apply(ledger, group)
                return completions, self._transactions.commit()
            except Exception as error:
                self._transactions.roll_back()
                if self._transactions.failure_of(error) is not Failure.CONFLICT or time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(*REPEAT_AFTER))

    def _begin(self, group: list[Display | _WaitingOperation]) -> GroupLedger:
        first: list[Display] = []
        events: list[Event] = []
        issued: list[Display] = []
        for queued in group:
            if isinstance(queued, Display):
                first.append(queued)
            elif queued.traffic is None:
                return self._transactions.begin([], None)
            else:
                events += queued.traffic.events
                issued += queued.traffic.displays
        return self._transactions.begin(first, TrafficRows(events, issued))

    def _apply(self, ledger: GroupLedger, group: list[Display | _WaitingOperation]) -> list[_Completion]:
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
                ledger.add(displays)
                displays = []
            try:
                completions.append(_Completion(queued.complete, queued.operation(ledger), None))
            except (BadInput, ServiceError) as refusal:
                completions.append(_Completion(queued.complete, None, refusal))
        if displays:
            ledger.add(displays)
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

    def _mark_down(self, error: Exception) -> StoreDown:
        self._transactions.give_up()
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


def _is_traffic(waiting: _Waiting) -> bool:
    return isinstance(waiting, Display) or (isinstance(waiting, _WaitingOperation) and waiting.traffic is not None)


def _as_store_down(error: Exception) -> StoreDown:
    if isinstance(error, StoreDown):
        return error
    down = StoreDown()
    down.__cause__ = error
    return down
