"""A circuit breaker: after several failures in a row, pages stop waiting for the service for a while."""

import random
import threading
import time
from collections.abc import Callable


class CircuitBreaker:
    """Closed: all requests pass. Open: none. When the time is over, one request at a time tries again."""

    def __init__(self, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._seconds, self._clock = failures, seconds, clock
        self._failures = 0
        self._open_until = 0.0
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        with self._lock:
            return self._clock() < self._open_until

    def allows(self) -> bool:
        """Whether a request may be sent now. Its result must be reported."""
        with self._lock:
            now = self._clock()
            if now < self._open_until:
                return False
            if self._failures >= self._limit:
                self._open_until = now + self._seconds  # others wait for the result of this request
            return True

    def succeeded(self) -> None:
        """The service has answered."""
        with self._lock:
            self._failures, self._open_until = 0, 0.0

    def failed(self) -> None:
        """The service has not answered, or had an error."""
        with self._lock:
            self._failures += 1
            if self._failures >= self._limit:  # jittered, so that many clients do not try at the same time
                self._open_until = self._clock() + self._seconds * random.uniform(0.5, 1.0)

    def pause(self, seconds: float) -> None:
        """Stay open for this long, because the service asks for it."""
        with self._lock:
            self._open_until = max(self._open_until, self._clock() + seconds)
