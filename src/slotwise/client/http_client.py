"""HttpClient: blocking requests to a running service, one at a time. Every error message is one line."""

import http.client
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from slotwise.checks import BadInput
from slotwise.client.address import ServiceAddress
from slotwise.service.errors import STARTING
from slotwise.service.keys.api_keys import is_well_formed

TIMEOUT, START_SECONDS = 30.0, 120.0
_CHUNK = 1 << 16  # bytes that are read at once


class Reply(NamedTuple):
    """The response to a request."""

    status: int
    body: Any  # decoded JSON; None when the response is empty
    etag: str | None


class Unreachable(BadInput):
    """No service answers at the address."""


class HttpClient:
    """A client of the service at a URL. It keeps one connection open, and sends the key with every request."""

    def __init__(self, url: str, key: str | None = None, timeout: float = TIMEOUT) -> None:
        self.address = ServiceAddress.of(url)
        self._authorization = {} if not key else {"Authorization": f"Bearer {check_key(key)}"}
        kind = http.client.HTTPSConnection if self.address.secure else http.client.HTTPConnection
        self._http = kind(self.address.host, self.address.port, timeout=timeout)

    def __enter__(self) -> "HttpClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def request(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send one request and return the reply, even if it has an error status."""
        content = None if body is None else msgspec.json.encode(body)
        all_headers = {
            "Content-Type": "application/json",
            **self._authorization,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        status, answer, etag = self._send(method, path, content, all_headers)
        return Reply(status, self._decode(status, answer), etag)

    def text(self, path: str) -> str:
        """The text at a path. Raises BadInput when the service refuses the request."""
        status, answer, _ = self._send("GET", path, None, self._authorization)
        if status >= 300:
            raise self._refusal("GET", path, status, answer)
        return answer.decode(errors="replace")

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send one request and return the JSON of the reply. Raises BadInput when the service refuses the request.

        While the service compiles its kernels, the request is repeated.
        """
        reply, deadline = self.request(method, path, body, **headers), time.monotonic() + START_SECONDS
        while reply.status == 503 and error_detail(reply.body) == STARTING and time.monotonic() < deadline:
            time.sleep(0.2)
            reply = self.request(method, path, body, **headers)
        if reply.status >= 300:
            reason = f"{status_text(reply.status)}, {error_detail(reply.body)}"
            raise BadInput(f"{self.address.url} refuses {method} {path}: {reason}")
        return reply.body

    def download(self, path: str) -> Iterator[tuple[bytes, int]]:
        """The answer to GET, in pieces, each with the size of the whole. Raises BadInput if the service refuses it."""
        with self._errors():
            self._http.request("GET", self.address.prefix + path, headers=self._authorization)
            answer = self._http.getresponse()
            if answer.status >= 300:
                raise self._refusal("GET", path, answer.status, answer.read())
            size = int(answer.headers.get("content-length", 0))
            while chunk := answer.read(_CHUNK):
                yield chunk, size

    def upload(self, path: str, content: Iterable[bytes], size: int, media_type: str) -> None:
        """PUT a content of this size, which need not fit in memory. The service may take as long as it needs."""
        headers = {**self._authorization, "Content-Type": media_type, "Content-Length": str(size)}
        with self._errors():
            if self._http.sock is not None:
                self._http.sock.settimeout(None)
            self._http.timeout = None
            self._http.request("PUT", self.address.prefix + path, content, headers)
            answer = self._http.getresponse()
            reply = answer.read()
            if answer.status >= 300:
                raise self._refusal("PUT", path, answer.status, reply)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn an error of the network into one line."""
        try:
            yield
        except (OSError, http.client.HTTPException) as error:
            self._http.close()
            hint = "does it use http instead of https?" if self.address.secure else "`slotwise serve --dev` starts one"
            if isinstance(error, ssl.SSLCertVerificationError):
                hint = (
                    "if its certificate is of your own authority, set SSL_CERT_FILE to the certificate of the authority"
                )
            raise Unreachable(f"{self.address.url} does not answer: {_error_text(error)}; {hint}") from None

    def _refusal(self, method: str, path: str, status: int, answer: bytes) -> BadInput:
        reason = f"{status_text(status)}, {error_detail(self._decode(status, answer))}"
        return BadInput(f"{self.address.url} refuses {method} {path}: {reason}")

    def _send(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        with self._errors():
            return self._exchange(method, self.address.prefix + path, content, headers)

    def _exchange(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes, str | None]:
        reused = self._http.sock is not None
        try:
            self._http.request(method, path, content, headers)
            answer = self._http.getresponse()
            return answer.status, answer.read(), answer.headers.get("etag")
        except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected):
            if not reused:
                raise
            self._http.close()  # the server closed the idle connection, so try once more on a new one
            return self._exchange(method, path, content, headers)

    def _decode(self, status: int, content: bytes) -> Any:
        try:
            return msgspec.json.decode(content) if content else None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise BadInput(
                f"{self.address.url} answers {status_text(status)} without JSON: it is probably not a slotwise service"
            ) from None


def check_key(key: str) -> str:
    """The key. Raises BadInput if it cannot be one. The message does not repeat the key, because it is a secret."""
    if not is_well_formed(key.encode()):
        raise BadInput("the key is incomplete or mistyped: a key is sw_ and 38 letters and digits")
    return key


def path_of(*segments: str) -> str:
    """The path under /v1 with these segments, which are quoted."""
    return "/v1/" + "/".join(quote(segment, safe=":") for segment in segments)


def status_text(status: int) -> str:
    """A status with its phrase, such as 404 Not Found."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def error_detail(body: Any) -> str:
    """The reason in an error response (problem+json): the errors of its fields, or else its detail."""
    if not isinstance(body, dict) or "detail" not in body:
        return "no reason given"
    errors = [error for error in body.get("errors") or [] if isinstance(error, dict)]
    by_field = [f"{error.get('pointer')}: {error.get('detail')}" for error in errors if error.get("pointer")]
    return "; ".join(by_field) or str(body["detail"])


def _error_text(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"no response within {TIMEOUT:g} seconds"
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
