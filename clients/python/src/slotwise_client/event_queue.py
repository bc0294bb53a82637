"""The bounded queue of events. When it is full, it drops the oldest event and reports this."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from slotwise_client.event import Event, EventOutcome
from slotwise_client.outcomes import Outcomes


@dataclass(slots=True)
class QueuedEvent:
    """An event in the queue, encoded, with the time when it was added."""

    event: Event
    content: bytes
    added: float
    tries: int = 0  # answered with `unknown` so far


class EventQueue:
    """Events that wait, and those that are being sent. Threads may share it."""

    def __init__(self, size: int, outcomes: Outcomes, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._full = size, f"the queue is full ({size} events)"
        self._outcomes, self._clock = outcomes, clock
        self._waiting: deque[QueuedEvent] = deque()  # the oldest is first
        self._postponed: deque[tuple[float, QueuedEvent]] = deque()  # with the time when each may be sent again
        self._in_flight = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """The number of events without an outcome, including those that are being sent."""
        with self._lock:
            return len(self._waiting) + len(self._postponed) + self._in_flight

    def add(self, events: Iterable[Event]) -> int:
        """Add events, and return how many wait now. An event that cannot be sent gets its outcome at once."""
        now, failed, entries = self._clock(), [], []
        for event in events:
            try:
                entries.append(QueuedEvent(event, event.encode(), now))
            except ValueError as error:
                failed.append(EventOutcome(event, "invalid", str(error)))
        with self._lock:
            self._waiting.extend(entries)
            dropped = self._drop_oldest()
            waiting = len(self._waiting)
        self._outcomes.report([*failed, *dropped])
        return waiting

    def take(self, most: int) -> list[QueuedEvent]:
        """The oldest events. The caller settles them, gives them back or postpones them."""
        with self._lock:
            self._requeue_due()
            batch = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
            self._in_flight += len(batch)
            return batch

    def settle(self, outcomes: list[EventOutcome]) -> None:
        """Report what became of events that were taken."""
        self._outcomes.report(outcomes)
        with self._lock:
            self._in_flight -= len(outcomes)

    def give_back(self, batch: list[QueuedEvent]) -> None:
        """Put events back that were taken and not delivered. They are the oldest again."""
        with self._lock:
            self._in_flight -= len(batch)
            self._waiting.extendleft(reversed(batch))
            dropped = self._drop_oldest()
        self._outcomes.report(dropped)

    def postpone(self, batch: list[QueuedEvent], seconds: float) -> None:
        """Put events back that are to be sent again after a pause."""
        with self._lock:
            self._in_flight -= len(batch)
            self._postponed.extend((self._clock() + seconds, entry) for entry in batch)
            dropped = self._drop_oldest()
        self._outcomes.report(dropped)

    def due_in(self, batch_size: int, flush_seconds: float) -> float | None:
        """The seconds until the next batch should be sent: 0 when it is full, None when nothing waits."""
        with self._lock:
            self._requeue_due()
            if len(self._waiting) >= batch_size:
                return 0.0
            times = [self._waiting[0].added + flush_seconds] if self._waiting else []
            times += [self._postponed[0][0]] if self._postponed else []
            return max(0.0, min(times) - self._clock()) if times else None

    def close(self, reason: str) -> None:
        """Drop what waits, and from now on whatever is added or given back."""
        with self._lock:
            self._size, self._full = 0, reason
            dropped = self._drop_oldest()
        self._outcomes.report(dropped)

    def _requeue_due(self) -> None:
        while self._postponed and self._postponed[0][0] <= self._clock():
            self._waiting.appendleft(self._postponed.popleft()[1])

    def _drop_oldest(self) -> list[EventOutcome]:
        dropped = []
        while len(self._waiting) + len(self._postponed) > self._size:
            entry = self._waiting.popleft() if self._waiting else self._postponed.popleft()[1]
            dropped.append(EventOutcome(entry.event, "dropped", self._full))
        return dropped
