"""Daemon threads that send requests, so that a page can stop waiting at any time, whatever a request hangs in."""

import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

ResultT = TypeVar("ResultT")


class NotStarted(Exception):
    """All threads were busy, so the work never began."""


class WorkerThreads:
    """Up to `most` threads, started when they are needed.

    `concurrent.futures` waits for its threads when the program ends. These threads may hang in a name lookup, so they
    are daemons, which do not keep a program from ending.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._jobs: queue.SimpleQueue[tuple[Future[object], Callable[[], object]] | None] = queue.SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._lock = threading.Lock()

    def run(self, work: Callable[[], ResultT], timeout: float) -> ResultT:
        """Run `work` on a thread in the context of the caller. Raises TimeoutError, or NotStarted if it never began."""
        future: Future[ResultT] = Future()
        context = contextvars.copy_context()
        self._jobs.put((future, lambda: context.run(work)))  # type: ignore[arg-type]
        self._start_thread()
        try:
            return future.result(timeout)
        except TimeoutError:
            if future.cancel():
                raise NotStarted from None
            raise

    def close(self) -> None:
        """End the threads that are idle, and the others after their work."""
        for _ in range(self._started):
            self._jobs.put(None)

    def _start_thread(self) -> None:
        if self._idle.acquire(blocking=False):
            return
        with self._lock:
            if self._started < self._most:
                self._started += 1
                threading.Thread(target=self._work, name="slotwise-client", daemon=True).start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, work = job
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:
                    future.set_exception(error)
            self._idle.release()
