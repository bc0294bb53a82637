"""Group commit: one thread owns the connection; everything that waits is committed together, and only then answered."""

import asyncio
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.service.errors import ServiceError, StoreDown
from slotwise.service.store.interface import Answer, Display, Operation
from slotwise.service.store.ledger import SqliteLedger

MOST_IN_GROUP = 2_000
LINGER_SECONDS = 0.1  # displays, for which nobody waits, gather that long: waking a thread for each costs more
PROBE_SECONDS = 0.5  # a store that failed is tried that often
MOST_WAITING = 50_000

Done = Callable[[Any, Exception | None], None]


class _Job(NamedTuple):
    operation: Callable[[SqliteLedger], Any]
    done: Done


class GroupCommit:
    """Takes displays and operations from the event loop's thread, and answers there.

    `watch(size, seconds)` hears of every group, `failed()` and `recovered()` of the store's health, `dropped(displays)`
    of those whose ids others had; all of them, and all answers, are called on the loop, in the order of the groups.
    """

    def __init__(
        self,
        open_ledger: Callable[[], tuple[sqlite3.Connection, SqliteLedger]],
        watch: Callable[[int, float], None],
        failed: Callable[[], None],
        recovered: Callable[[], None],
        dropped: Callable[[list[Display]], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[Display | _Job] = deque()
        self._bell = threading.Event()  # rung at once for whoever waits, after a while for displays
        self._timer: asyncio.TimerHandle | None = None
        self._open_ledger, self._watch, self._failed, self._recovered = open_ledger, watch, failed, recovered
        self._dropped = dropped
        self._down, self._closing, self._probe_at = False, False, 0.0
        self._opened: queue.SimpleQueue[Exception | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="slotwise-writer", daemon=True)
        self._thread.start()
        problem = self._opened.get()
        if problem is not None:
            raise problem

    @property
    def waiting(self) -> int:
        """How much waits to be committed."""
        return len(self._waiting)

    def add(self, display: Display) -> None:
        """Commit a display with the next group; nobody waits for it."""
        self._waiting.append(display)
        if self._timer is None:
            self._timer = self._loop.call_later(LINGER_SECONDS, self._ring)

    def do(self, operation: Operation[Answer]) -> "asyncio.Future[Answer]":
        """Run an operation in the next group; answered when the group is committed."""
        future: asyncio.Future[Answer] = self._loop.create_future()
        if self._closing or self.waiting > MOST_WAITING:
            future.set_exception(StoreDown())
            return future

        def done(answer: Answer, problem: Exception | None) -> None:
            if future.done():
                return  # whoever waited has gone
            if problem is None:
                future.set_result(answer)
            else:
                future.set_exception(problem)

        self._waiting.append(_Job(operation, done))
        self._ring()
        return future

    def _ring(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._bell.set()

    async def close(self) -> None:
        """Commit what waits, then end the thread."""
        self._closing = True
        self._ring()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            self._connection, self._ledger = self._open_ledger()
        except Exception as error:
            self._opened.put(error)
            return
        self._opened.put(None)
        try:
            while not self._closing or self._waiting:
                if not self._closing:  # displays alone do not hurry: what came during a commit waits for its time
                    self._bell.wait(PROBE_SECONDS if self._down else None)
                self._bell.clear()
                group = self._gather()
                if len(group) == MOST_IN_GROUP:
                    self._bell.set()  # there may be more
                if group:
                    self._commit(group)
                if self._down and time.monotonic() >= self._probe_at:
                    self._probe_at = time.monotonic() + PROBE_SECONDS
                    self._commit([_Job(SqliteLedger.beat, lambda _, __: None)])
        finally:
            self._connection.close()

    def _gather(self) -> list[Display | _Job]:
        return [self._waiting.popleft() for _ in range(min(len(self._waiting), MOST_IN_GROUP))]

    def _commit(self, group: list[Display | _Job]) -> None:
        began, changes = time.perf_counter(), self._connection.total_changes
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            answers = self._apply(group)
            self._ledger.flush()
            self._connection.execute("COMMIT")
        except Exception as error:
            self._roll_back()
            if not _of_the_disk(error) and len(group) > 1:  # only the one that does it is refused
                self._commit(group[: len(group) // 2])
                self._commit(group[len(group) // 2 :])
                return
            if _of_the_disk(error):
                error = self._fail(error)
            self._answer([(job.done, None, error) for job in group if isinstance(job, _Job)])
            return
        back = self._down and self._connection.total_changes > changes  # one that only read says nothing of the disk
        self._down = self._down and not back
        self._answer(answers, len(group), time.perf_counter() - began, back, self._ledger.take_dropped())

    def _apply(self, group: list[Display | _Job]) -> list[tuple[Done, Any, Exception | None]]:
        """Everything in its order; an operation that refuses has changed nothing, and the others stand."""
        answers: list[tuple[Done, Any, Exception | None]] = []
        displays: list[Display] = []
        for one in group:
            if isinstance(one, Display):
                displays.append(one)
                continue
            if displays:
                self._ledger.add(displays)
                displays = []
            try:
                answers.append((one.done, one.operation(self._ledger), None))
            except (BadInput, ServiceError) as refusal:
                answers.append((one.done, None, refusal))
        if displays:
            self._ledger.add(displays)
        return answers

    def _roll_back(self) -> None:
        self._ledger.forget()
        with suppress(sqlite3.Error):  # nothing was committed either way; the next group tries again
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _fail(self, error: Exception) -> StoreDown:
        first, self._down = not self._down, True
        if first:
            self._call(self._failed)
        down = StoreDown()
        down.__cause__ = error
        return down

    def _answer(
        self,
        answers: list[tuple[Done, Any, Exception | None]],
        size: int = 0,
        seconds: float = 0.0,
        back: bool = False,
        dropped: Sequence[Display] = (),
    ) -> None:
        def tell() -> None:
            if size:
                self._watch(size, seconds)
            if back:
                self._recovered()
            if dropped:
                self._dropped(list(dropped))
            for done, answer, problem in answers:
                done(answer, problem)

        self._call(tell)

    def _call(self, what: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended: nobody is left to hear of it
            self._loop.call_soon_threadsafe(what)


def _of_the_disk(error: Exception) -> bool:
    """Whether the store failed, and not what it was asked to do."""
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(
        error, sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError
    )
