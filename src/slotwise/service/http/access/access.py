"""Access control: what decides whether a request is allowed. `--dev` mode has no keys and allows this machine only."""

from typing import Any, NamedTuple, Protocol

from starlette.types import Scope

from slotwise.checks import BadInput
from slotwise.service.api.route import Response, Route
from slotwise.service.errors import Refused
from slotwise.service.http.access.forwarding import forwarding_header
from slotwise.service.http.problems import Problem
from slotwise.service.keys.api_keys import ApiKey
from slotwise.service.keys.session import Session
from slotwise.service.loopback import LOOPBACK, names_loopback

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")


class Caller(NamedTuple):
    """Who makes a request. `Call` describes the fields."""

    key: ApiKey | None = None
    refusal: Refused | None = None
    session: Session | None = None


class Access(Protocol):
    """Decides which requests are allowed."""

    has_keys: bool

    def authorize(
        self, route: Route[Any], scope: Scope, headers: dict[bytes, bytes], secret: bytes | None = None, /
    ) -> Caller:
        """Who makes this request. Raises an error with status 401, 403 or 429 if it is not allowed.

        `secret` is the key if it was sent in the body.
        """

    def with_cors(self, response: Response, scope: Scope, headers: dict[bytes, bytes], /) -> Response:
        """The response to a request that has an Origin header, with the headers that let web pages read it."""


class DevAccess:
    """Access control of dev mode: all programs on this machine may make every request."""

    has_keys = False

    def authorize(self, _: Route[Any], scope: Scope, headers: dict[bytes, bytes], *__: Any) -> Caller:
        check_request(scope["method"], headers)
        return _LOCAL

    def with_cors(self, response: Response, *_: Any) -> Response:
        return response  # no web page of another origin may read responses


class OpenAccess:
    """No access control, for a port that only serves metrics."""

    has_keys = False

    def authorize(self, *_: Any) -> Caller:
        return _LOCAL

    def with_cors(self, response: Response, *_: Any) -> Response:
        return response


_LOCAL = Caller()


def check_address(host: str, option: str = "--host") -> None:
    """Raise `BadInput` unless this is a loopback address. Without keys, the service listens on no other address."""
    if host not in LOOPBACK:
        raise BadInput(f"{option} {host}: without keys the service listens on {' or '.join(LOOPBACK)} only")


def check_request(method: str, headers: dict[bytes, bytes]) -> None:
    """Raise 403 for a request that comes through a proxy, and for a write that a browser sends from another website."""
    host = headers.get(b"host", b"").decode("latin-1")
    if not names_loopback(headers):
        raise Problem(403, f"the Host header {host[:100]!r} is not an address of this machine")
    forwarded = forwarding_header(headers)
    if forwarded is not None:
        name = forwarded.decode("latin-1")
        raise Problem(403, f"the {name} header is not allowed: without keys, this service does not run behind a proxy")
    if method not in SAFE_METHODS:
        check_same_site(headers)


def check_same_site(headers: dict[bytes, bytes]) -> None:
    """Raise 403 for a request that a browser sends from another website."""
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        raise Problem(403, "the Sec-Fetch-Site header says that the request comes from another website")
    host, origin = headers.get(b"host", b"").decode("latin-1"), headers.get(b"origin")
    if origin is not None and origin.decode("latin-1").partition("://")[2].lower() != host.lower():
        raise Problem(403, "the Origin header names another website")
