"""Connections that fail before there is a request: what is no HTTP, what comes too late, and failed TLS handshakes.

They are counted, and logged at the level warning: for each reason, one line a minute at most.
"""

import logging
import ssl
import time
from collections.abc import Callable
from typing import Any

from slotwise.service.metrics import Metrics

QUIET_SECONDS = 60.0
_log = logging.getLogger("slotwise.requests")


class Rejections:
    """Counts rejections by their reason: a status, or `tls`."""

    def __init__(self, metrics: Metrics, timer: Callable[[], float] = time.monotonic) -> None:
        self._metrics, self._timer = metrics, timer
        self._next_line: dict[str, float] = {}
        self._omitted: dict[str, int] = {}

    def count(self, reason: str, detail: str) -> None:
        """Count a rejection. `detail` must not have anything that the client sent."""
        self._metrics.rejected.labels(reason).inc()
        now = self._timer()
        if now < self._next_line.get(reason, 0.0):
            self._omitted[reason] = self._omitted.get(reason, 0) + 1
            return
        self._next_line[reason] = now + QUIET_SECONDS
        fields: dict[str, Any] = {"reason": reason}
        if omitted := self._omitted.pop(reason, 0):
            fields["omitted"] = omitted
        _log.warning("a connection was rejected: %s", detail, extra={"fields": fields})

    def watch_handshakes(self, context: ssl.SSLContext) -> None:
        """Count the handshakes that fail, because of their content."""
        rejections = self

        class WatchedObject(ssl.SSLObject):
            def do_handshake(self) -> None:
                try:
                    super().do_handshake()
                except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    raise
                except ssl.SSLError as error:
                    reason = (error.reason or "unknown").lower().replace("_", " ")
                    rejections.count("tls", f"the TLS handshake failed: {reason}")
                    raise

        context.sslobject_class = WatchedObject
