"""The keys of the store in memory, and the sessions that have ended.

A change in the store, also by another process, applies within a second.
"""

import asyncio
import hmac
import logging
from collections.abc import Iterable

from slotwise.service.clock import Clock
from slotwise.service.errors import StoreDown
from slotwise.service.keys.api_keys import SCOPES, ApiKey, Scope, digest_of
from slotwise.service.keys.ended_sessions import EndedSession, has_ended, index_of
from slotwise.service.keys.rate_limits import AddressLimits, RateLimit
from slotwise.service.keys.session import Session
from slotwise.service.store.interface import Store, TrafficRows
from slotwise.service.store.ledger import KeyLedger

POLL_SECONDS = 0.5
HOUR = 3600.0
ADDRESS_SHARE = 0.1  # of the rate of a browser key, for one address
_INDEX_BYTES = 16  # of a digest, by which keys are looked up
_IMPLIED: dict[Scope, tuple[Scope, ...]] = {"admin": SCOPES, "browser": ("serve",)}  # a browser key is bound to pages
_log = logging.getLogger("slotwise.service")


class LoadedKey:
    """A key in memory: what it allows in a form that is quick to check, its rate limits, and its last use."""

    __slots__ = ("addresses", "digest", "ends", "is_public", "key", "limit", "next_mark", "origins", "pages", "scopes")

    def __init__(self, key: ApiKey) -> None:
        self.next_mark = 0.0 if key.last_used is None else key.last_used + HOUR  # from then on, a use is marked again
        self.limit = None if key.rate is None else RateLimit(key.rate, key.rate)
        self.is_public = "browser" in key.scopes
        self.addresses = (
            AddressLimits(ADDRESS_SHARE * key.rate, key.rate) if self.is_public and key.rate is not None else None
        )
        self.update(key)

    def update(self, key: ApiKey) -> None:
        """Apply a change in the store. The rate limits go on: only revocation and expiry of a key ever change."""
        self.key, self.digest, self.ends = key, key.digest, key.ends
        self.scopes = frozenset(key.scopes).union(*(_IMPLIED.get(scope, ()) for scope in key.scopes))
        self.pages = None if key.pages is None else frozenset(key.pages)
        self.origins = frozenset(origin.encode() for origin in key.origins)


_NO_KEY = LoadedKey(ApiKey("", bytes(32), "", (), (), (), None, 0.0, revoked=0.0))


class KeyCache:
    """Finds keys, and records when they are used."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._version = -1
        self._loaded: dict[str, LoadedKey] = {}  # by id
        self._by_digest: dict[bytes, LoadedKey] = {}
        self._origins: dict[bytes, float] = {}  # origin -> when the last key for it ends
        self._used: dict[str, float] = {}  # id -> hour, to be written
        self._ended: dict[tuple[str, str], float] = {}  # sessions
        self.changed = asyncio.Event()  # set at the next change, and then replaced

    async def refresh(self) -> None:
        """Load the keys if they have changed."""
        version = self._version
        changed = await self._store.read(lambda ledger: _read_if_changed(ledger, version))
        if changed is not None and changed[0] > self._version:  # a refresh that began later may have ended before
            self._version, keys, ended = changed
            self._apply(keys)
            self._ended = index_of(ended)
            self.changed.set()
            self.changed = asyncio.Event()

    async def run(self) -> None:
        """Apply changes and record uses until cancelled."""
        try:
            while True:
                await asyncio.sleep(POLL_SECONDS)
                try:
                    await self.refresh()
                    await self.save_uses()
                except StoreDown:
                    continue  # the store reports its own failures; the keys in memory stay in use
                except Exception:
                    _log.exception("keys cannot be read; the next try is in %g seconds", POLL_SECONDS)
        finally:
            try:
                await self.save_uses()
            except StoreDown:
                _log.warning("the last uses of keys could not be saved")

    def find(self, secret: bytes) -> LoadedKey | None:
        """The key with this secret, even if it is not valid any more.

        Only digests are compared, so the time says nothing about how much of a secret is right. The first half of the
        digest finds the key. The whole digest is compared in constant time, with zeros if no key was found.
        """
        digest = digest_of(secret)
        found = self._by_digest.get(digest[:_INDEX_BYTES], _NO_KEY)
        return found if hmac.compare_digest(found.digest, digest) else None

    def by_id(self, id: str) -> LoadedKey | None:
        """The key with this id, even if it is not valid any more."""
        return self._loaded.get(id)

    def mark_used(self, found: LoadedKey, now: float) -> None:
        """Record that a key is used. It is written later, at most once an hour."""
        hour = now // HOUR * HOUR
        found.next_mark = hour + HOUR
        self._used[found.key.id] = hour

    async def save_uses(self) -> None:
        """Write which keys were used since the last call."""
        used = list(self._used.items())
        if used:
            await self._store.do(lambda ledger: ledger.mark_keys_used(used), TrafficRows())
            for id, hour in used:
                if self._used.get(id) == hour:
                    del self._used[id]

    def has_ended(self, session: Session) -> bool:
        """Whether a person has ended this session."""
        return has_ended(self._ended, session)

    def has_origin(self, origin: bytes) -> bool:
        """Whether a key that is active has this origin."""
        return self._clock() < self._origins.get(origin, 0.0)

    def any_active(self) -> bool:
        now = self._clock()
        return any(now < loaded.ends for loaded in self._loaded.values())

    def _apply(self, keys: Iterable[ApiKey]) -> None:
        loaded: dict[str, LoadedKey] = {}
        for key in keys:
            known = self._loaded.get(key.id)
            if known is None:
                known = LoadedKey(key)
            else:
                known.update(key)
            loaded[key.id] = known
        self._loaded = loaded
        self._by_digest = {known.digest[:_INDEX_BYTES]: known for known in loaded.values()}
        self._origins = {}
        for known in loaded.values():
            for origin in known.origins:
                self._origins[origin] = max(known.ends, self._origins.get(origin, 0.0))


def _read_if_changed(ledger: KeyLedger, version: int) -> tuple[int, list[ApiKey], list[EndedSession]] | None:
    current = ledger.keys_version()
    return None if current == version else (current, ledger.keys(), ledger.ended_sessions())
