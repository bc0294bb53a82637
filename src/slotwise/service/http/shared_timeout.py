"""One timer that limits many short waits, because a timer for each wait would cost more than the wait itself."""

import asyncio


class SharedTimeout:
    """Cancels tasks that wait longer than `seconds`. A task may be cancelled too late by up to `seconds` / 10."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._started: dict[asyncio.Task[object], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> "asyncio.Task[object]":
        """Start timing the current task, and return it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._started[task] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self.seconds / 10, self._cancel_expired)
        return task

    def stop(self, task: "asyncio.Task[object]") -> bool:
        """Stop timing a task. Returns False if the task was already cancelled by this timeout, or already stopped."""
        return self._started.pop(task, None) is not None

    def _cancel_expired(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        for task, started in list(self._started.items()):
            if loop.time() - started > self.seconds:
                del self._started[task]
                task.cancel()
        if self._started:
            self._timer = loop.call_later(self.seconds / 10, self._cancel_expired)
