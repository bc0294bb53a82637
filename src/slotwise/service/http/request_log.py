"""The log of requests: a line for each problem, and at the level debug for each request. Also the ids of requests.

A line never has a body, a query, a header or an address, because they may contain tokens, keys or personal data.
"""

import logging
import re
import secrets
from collections.abc import Mapping
from time import monotonic
from typing import Any

from starlette.types import Scope

from slotwise.service.api.route import Response

MOST_WARNINGS = 10  # lines per second; a store that is down must not fill the disk with its log
LONGEST_PATH = 200  # characters
_log = logging.getLogger("slotwise.requests")
_VALID_ID = re.compile(rb"[0-9A-Za-z._:~+/=-]{1,128}")


def logs_every_request() -> bool:
    """Whether the level is debug."""
    return _log.isEnabledFor(logging.DEBUG)


def request_id(headers: Mapping[bytes, bytes]) -> str:
    """The id of a request: the valid one that it has, or a new one."""
    given = headers.get(b"x-request-id", b"")
    return given.decode() if _VALID_ID.fullmatch(given) else secrets.token_hex(8)


class RequestLog:
    """Writes lines about the responses of one route."""

    def __init__(self, route: str) -> None:
        self._route, self._second, self._in_second, self._omitted = route, 0.0, 0, 0

    def write(self, scope: Scope, response: Response, id: str, detail: str, seconds: float) -> None:
        """Log a response: at `warning` from status 500 on, at `info` from 400 on, and else at `debug`."""
        level = logging.WARNING if response.status >= 500 else logging.INFO if response.status >= 400 else logging.DEBUG
        if self._route == "readyz":
            level = min(level, logging.INFO)  # a service that is not ready yet is no problem
        if not _log.isEnabledFor(level) or (level == logging.WARNING and self._is_too_much()):
            return
        fields: dict[str, Any] = {
            "request_id": id,
            "method": scope["method"],
            "path": scope["path"][:LONGEST_PATH],
            "route": self._route,
            "status": response.status,
            "ms": round(1e3 * seconds, 3),
        }
        if self._omitted:
            fields["omitted"], self._omitted = self._omitted, 0
        _log.log(level, "%s", detail or "answered", extra={"fields": fields})

    def _is_too_much(self) -> bool:
        now = monotonic()
        if now - self._second >= 1.0:
            self._second, self._in_second = now, 0
        self._in_second += 1
        self._omitted += self._in_second > MOST_WARNINGS
        return self._in_second > MOST_WARNINGS
