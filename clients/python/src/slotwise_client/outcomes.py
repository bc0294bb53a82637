"""The outcomes of events: they are counted, passed to the callback of the caller, and logged when events are lost."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable

from slotwise_client.event import EventOutcome, EventStatus

LOG_SECONDS = 10.0  # between two lines about the same status
_NOT_COUNTED: set[EventStatus] = {"unknown", "conflict", "rejected", "invalid", "dropped"}
_log = logging.getLogger("slotwise_client")


def _is_expected(outcome: EventOutcome) -> bool:
    """Whether this is a discard of a display that the service has never issued: nothing is lost."""
    return outcome.event.type == "discard" and outcome.status == "unknown"


class Outcomes:
    """Counts outcomes. A callback that fails is logged and does no other harm."""

    def __init__(self, callback: Callable[[EventOutcome], None] | None) -> None:
        self._callback = callback
        self._counts: Counter[EventStatus] = Counter()
        self._logged: dict[EventStatus, tuple[float, int]] = {}  # time and count of the last line
        self._lock = threading.Lock()

    @property
    def counts(self) -> dict[EventStatus, int]:
        with self._lock:
            return dict(self._counts)

    def report(self, outcomes: Iterable[EventOutcome]) -> None:
        """Count these outcomes, and pass each to the callback. No lock is held meanwhile."""
        for outcome in outcomes:
            with self._lock:
                self._counts[outcome.status] += 1
                line = self._log_line(outcome)
            if line:
                _log.warning("%s", line)
            if self._callback is not None:
                try:
                    self._callback(outcome)
                except Exception:
                    _log.exception("the callback on_outcome failed")

    def _log_line(self, outcome: EventOutcome) -> str:
        """A line about all outcomes with this status since the last line, or nothing if that was just now."""
        if outcome.status not in _NOT_COUNTED or _is_expected(outcome):
            return ""
        now, total = time.monotonic(), self._counts[outcome.status]
        logged, before = self._logged.get(outcome.status, (-LOG_SECONDS, 0))
        if now - logged < LOG_SECONDS:
            return ""
        self._logged[outcome.status] = (now, total)
        return f"{total - before} event(s) {outcome.status}, {total} in all; the last one: {outcome.detail}"
