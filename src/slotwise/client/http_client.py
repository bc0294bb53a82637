"""A running service, called one request at a time: what the commands need. Everything that goes wrong is one line."""

import http.client
import time
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from slotwise.checks import BadInput
from slotwise.client.address import Address, phrase
from slotwise.service.errors import STARTING

TIMEOUT, START_SECONDS = 30.0, 120.0


class Reply(NamedTuple):
    """What came back."""

    status: int
    body: Any  # JSON, read; None when there is none
    etag: str | None


class Unreachable(BadInput):
    """Nobody answers at the address."""


class Remote:
    """The service at an address."""

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        self.address = Address.of(url)
        kind = http.client.HTTPSConnection if self.address.secure else http.client.HTTPConnection
        self._http = kind(self.address.host, self.address.port, timeout=timeout)

    def __enter__(self) -> "Remote":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """One call, whatever its status."""
        content = None if body is None else msgspec.json.encode(body)
        told = {
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        try:
            answer = self._exchange(method, self.address.prefix + path, content, told)
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            hint = "the service speaks http, not https" if self.address.secure else "`slotwise serve --dev` starts one"
            raise Unreachable(f"{self.address.url} does not answer: {_why(error)}; {hint}") from None
        status, kept, etag = answer
        return Reply(status, self._decoded(status, kept), etag)

    def ok(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The JSON that a call answers; a refusal is an error that says why."""
        reply, ends = self.ask(method, path, body, **headers), time.monotonic() + START_SECONDS
        while reply.status == 503 and refusal(reply.body) == STARTING and time.monotonic() < ends:
            time.sleep(0.2)  # it compiles, once on a machine
            reply = self.ask(method, path, body, **headers)
        if reply.status >= 300:
            raise BadInput(f"{self.address.url} refuses {method} {path}: {phrase(reply.status)}, {refusal(reply.body)}")
        return reply.body

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        kept_alive = self._http.sock is not None
        try:
            self._http.request(method, path, content, headers)
            answer = self._http.getresponse()
            return answer.status, answer.read(), answer.headers.get("etag")
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            if not kept_alive:
                raise
            self._http.close()  # a connection that idled until the server closed it: once more on a new one
            return self._exchange(method, path, content, headers)

    def _decoded(self, status: int, content: bytes) -> Any:
        try:
            return msgspec.json.decode(content) if content else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            said = f"{self.address.url} answers {phrase(status)} and no JSON"
            raise BadInput(f"{said}: it does not seem to be a slotwise service") from None


def path_of(*parts: str) -> str:
    """The path under /v1 that these names make."""
    return "/v1/" + "/".join(quote(part, safe=":") for part in parts)


def refusal(body: Any) -> str:
    """Why a request was refused, out of its problem+json."""
    if not isinstance(body, dict) or "detail" not in body:
        return "without a reason"
    errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
    told = [f"{error.get('pointer')}: {error.get('detail')}" for error in errors if error.get("pointer")]
    return "; ".join(told) or str(body["detail"])


def _why(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
