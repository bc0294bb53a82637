"""Access control with keys: who makes a request, and whether the key allows it. Also CORS, for browser keys."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.types import Scope

from slotwise.checks import BadInput
from slotwise.service.api.route import Response, Route
from slotwise.service.clock import Clock
from slotwise.service.errors import Forbidden, Refused, TooManyRequests, Unauthorized
from slotwise.service.http.access.access import SAFE_METHODS, Caller, check_same_site
from slotwise.service.keys.api_keys import is_well_formed
from slotwise.service.keys.key_cache import KeyCache, LoadedKey
from slotwise.service.keys.rate_limits import AddressLimits, network_of
from slotwise.service.keys.session import Session
from slotwise.service.keys.sessions import CSRF_HEADER, Sessions, cookie_value, proves
from slotwise.service.service import Service

PREFLIGHT_SECONDS = 600  # how long browsers may keep the answer to a preflight request
GUESS_RATE, GUESS_BURST = 500.0, 100.0  # wrong keys per second of one address; answers to more are delayed
LONGEST_DELAY = 1.0  # seconds
SUBSCRIPTION_KEY = b"ocp-apim-subscription-key"  # the header in which clients of Azure Personalizer send their key
_ALLOWED_HEADERS = "Authorization, Content-Type, Traceparent, Tracestate, X-Request-Id"  # of browsers, beside others
_ANYBODY = Caller()
_MOST_LISTED = 5  # pages in an error message


class KeyAccess:
    """Requires a key for every route that is not open."""

    has_keys = True

    def __init__(
        self,
        keys: KeyCache,
        clock: Clock,
        timer: Callable[[], float] = time.monotonic,
        sessions: Callable[[], Sessions] | None = None,
    ) -> None:
        self._keys, self._clock, self._timer, self._sessions = keys, clock, timer, sessions
        self._guesses = AddressLimits(GUESS_RATE, GUESS_BURST)

    def authorize(
        self, route: Route[Any], scope: Scope, headers: dict[bytes, bytes], secret: bytes | None = None
    ) -> Caller:
        if route.needs == "open":
            return _ANYBODY
        session = None
        try:
            if route.key_in_body:
                check_same_site(headers)
            elif route.accepts_session and b"authorization" not in headers:
                session = self._session(route, scope, headers)
            if session is not None:
                found = self._key_of(session)
            else:
                found = self._identify(_secret(route, headers) if secret is None else secret, scope)
            self._check_rate(found, scope)
            self._check_rights(found, route, scope, headers)
        except Refused as refusal:
            if route.accepts_tokens and not isinstance(refusal, TooManyRequests):
                return Caller(None, refusal)
            raise
        return Caller(found.key, None, session)

    def with_cors(self, response: Response, scope: Scope, headers: dict[bytes, bytes]) -> Response:
        origin = headers[b"origin"]
        varies = response.headers.get("vary")
        added = {"vary": f"{varies}, Origin" if varies else "Origin"}
        if self._keys.has_origin(origin):
            added["access-control-allow-origin"] = origin.decode("latin-1")
            added["access-control-expose-headers"] = "Retry-After, X-Request-Id"
            if response.status == 204 and b"access-control-request-method" in headers and scope["method"] == "OPTIONS":
                added["access-control-allow-methods"] = response.headers["allow"]
                added["access-control-allow-headers"] = _ALLOWED_HEADERS
                added["access-control-max-age"] = str(PREFLIGHT_SECONDS)
        return response._replace(headers={**response.headers, **added})

    def _session(self, route: Route[Any], scope: Scope, headers: dict[bytes, bytes]) -> Session | None:
        """The session of a request. One that changes something must come from a page of the session.

        Forms of web pages, which need no scripts, can only sign out.
        """
        value = cookie_value(headers.get(b"cookie", b""))
        if value is None or self._sessions is None:
            return None
        session = self._sessions().read(value, self._clock())
        if session is None or self._keys.has_ended(session):
            raise Unauthorized("the session has ended: sign in again", "session")
        if scope["method"] not in SAFE_METHODS:
            check_same_site(headers)
            if not route.web and not proves(session, headers.get(CSRF_HEADER, b"")):
                raise Forbidden("the request does not come from a page of this session", session.key)
        return session

    def _key_of(self, session: Session) -> LoadedKey:
        found = self._keys.by_id(session.key)
        if found is None or self._clock() >= found.ends:
            raise Unauthorized("the key of this session is not valid any more: sign in with another one", session.key)
        return found

    def _identify(self, secret: bytes, scope: Scope) -> LoadedKey:
        """The key of a request. Raises `Unauthorized` if it is not valid."""
        found = self._keys.find(secret)
        if found is None:
            raise self._wrong_key(secret, scope)
        now = self._clock()
        if now >= found.ends:
            raise Unauthorized(f"the key {found.key.id} is {found.key.status(now)}", found.key.id)
        if now >= found.next_mark:
            self._keys.mark_used(found, now)
        return found

    def _wrong_key(self, secret: bytes, scope: Scope) -> Unauthorized:
        """The error for a key that does not exist. Above a rate, its answer is late: guessing must not cost others."""
        if is_well_formed(secret):
            error = Unauthorized("there is no such key", "unknown")
        else:
            error = Unauthorized("this is not a key: it is incomplete, or mistyped", "malformed")
        error.delay = self._guesses.reserve(_address(scope), self._timer(), LONGEST_DELAY)
        return error

    def _check_rate(self, found: LoadedKey, scope: Scope) -> None:
        """Count the request, also if the key does not allow it. Raises `TooManyRequests` above the rate."""
        if found.limit is None:
            return
        now, wait = self._timer(), 0.0
        if found.addresses is not None:
            wait = found.addresses.take(_address(scope), now)
        wait = wait or found.limit.take(now)
        if wait > 0.0:
            detail = f"the key {found.key.id} may be used for {found.key.rate:g} requests per second"
            raise TooManyRequests(detail, found.key.id, wait)

    def _check_rights(self, found: LoadedKey, route: Route[Any], scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Raise `Forbidden` if the key does not allow this route, this page or this origin."""
        id, pages = found.key.id, found.pages
        if route.needs not in found.scopes:
            raise Forbidden(f"the key {id} does not have the scope {route.needs}", id)
        if pages is not None:
            page = scope["path_params"].get("page")
            if page is not None and page not in pages:
                raise Forbidden(f"the key {id} is not for the page {page!r}", id)
            if page is None and not route.checks_pages:
                listed = ", ".join(sorted(pages)[:_MOST_LISTED]) + (", ..." if len(pages) > _MOST_LISTED else "")
                raise Forbidden(f"this call needs a key for all pages; the key {id} is for {listed} only", id)
        if found.is_public and headers.get(b"origin") not in found.origins:
            raise Forbidden(f"the key {id} is not for web pages of this origin", id)


def _secret(route: Route[Any], headers: dict[bytes, bytes]) -> bytes:
    """The secret of the key that a request sends. Raises `Unauthorized` if there is none."""
    value = headers.get(b"authorization")
    if value is None:
        if route.personalizer and SUBSCRIPTION_KEY in headers:
            return headers[SUBSCRIPTION_KEY]
        raise Unauthorized("this call needs a key; send it as `Authorization: Bearer KEY`")
    scheme, _, secret = value.partition(b" ")
    if scheme.lower() != b"bearer":
        raise Unauthorized("the Authorization header does not have the form `Bearer KEY`", "malformed")
    return secret


def _address(scope: Scope) -> str:
    return network_of((scope.get("client") or ("", 0))[0])


@asynccontextmanager
async def key_access(service: Service, store: str) -> AsyncIterator[KeyAccess]:
    """Access control by the keys of a store, which is kept up to date until the block ends.

    Raises `BadInput` if the store has no active key. `store` is its address.
    """
    await service.keys.refresh()
    if not service.keys.any_active():
        raise BadInput(
            "the store has no active key, so no caller could use the service; create one: "
            f"slotwise keys create --store {store} --name admin --scope admin"
        )
    updating = asyncio.create_task(service.keys.run())
    try:
        yield KeyAccess(service.keys, service.clock, sessions=lambda: service.sessions)
    finally:
        updating.cancel()
        with suppress(asyncio.CancelledError):
            await updating
