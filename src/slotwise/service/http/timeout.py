"""A time limit for many short waits: one timer looks after all, since one for each costs more than the wait."""

import asyncio


class Patience:
    """Waits that take longer are cancelled, at most `seconds` / 10 after their time."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._begun: dict[asyncio.Task[object], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> "asyncio.Task[object]":
        """The present task begins to wait."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        self._begun[task] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self.seconds / 10, self._look)
        return task

    def end(self, task: "asyncio.Task[object]") -> bool:
        """It waits no more; whether it was within its time."""
        return self._begun.pop(task, None) is not None

    def _look(self) -> None:
        loop, self._timer = asyncio.get_running_loop(), None
        for task, begun in list(self._begun.items()):
            if loop.time() - begun > self.seconds:
                del self._begun[task]
                task.cancel()
        if self._begun:
            self._timer = loop.call_later(self.seconds / 10, self._look)
