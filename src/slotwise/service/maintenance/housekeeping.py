"""Periodic work: counts fade, expired displays leave the log, folded counts leave memory, and secrets rotate."""

import asyncio
import logging
import math

from slotwise.service.clock import Clock
from slotwise.service.displays import Displays
from slotwise.service.errors import StoreDown
from slotwise.service.keys.sessions import Sessions
from slotwise.service.pages.page_cache import PageCache
from slotwise.service.store.interface import Store, TrafficRows
from slotwise.service.store.ledger import Ledger
from slotwise.service.tokens import Secrets, Tokens, rotate

TICK_SECONDS = 1.0
ROTATION_CHECK_SECONDS = 600.0
PRUNE_MOST = 1_000  # displays that one group removes from the log
FOLD_SECONDS, FOLD_PAGES = 600.0, 20  # how often the rows of ended nodes are added up, and pages at a time
FIRST_USE_SECONDS = 60.0  # a new secret signs when every node has had this time to read it

_log = logging.getLogger("slotwise.service")


class Housekeeping:
    """Does the periodic work. `tokens` and `sessions` sign with the secrets of the last rotation."""

    tokens: Tokens
    sessions: Sessions

    def __init__(self, store: Store, pages: PageCache, displays: Displays, clock: Clock) -> None:
        self._store, self._pages, self._displays, self._clock = store, pages, displays, clock
        self._folded_at = clock()

    async def run(self) -> None:
        """Do the work that is due, every second until cancelled."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                await self.tick()
            except StoreDown:
                continue  # the store reports its own failures and recovers by itself
            except Exception:
                _log.exception("housekeeping failed; it runs again in %g seconds", TICK_SECONDS)

    async def tick(self) -> None:
        """Do the work that is due now."""
        now = self._clock()
        if abs(now - self._rotation_checked) >= ROTATION_CHECK_SECONDS:
            await self.rotate_secrets()
        self._pages.free_evicted()
        await self._pages.apply_pending()
        for model in self._pages.loaded():
            await self._pages.begin_due_epoch(model, now)
        while dropped := await self._store.do(lambda ledger: ledger.prune(now, PRUNE_MOST), TrafficRows()):
            self._displays.forget_expired(now)
            if dropped < PRUNE_MOST:
                break
        await self._pages.drop_folded(now)
        if self._store.is_shared and abs(now - self._folded_at) >= FOLD_SECONDS:
            self._folded_at = now
            while await self._store.do(lambda ledger: ledger.fold_nodes(now, FOLD_PAGES)) == FOLD_PAGES:
                await asyncio.sleep(0.1)

    async def rotate_secrets(self) -> None:
        """Load the secrets, and rotate them if this is due."""
        now = self._clock()

        def operation(ledger: Ledger) -> Secrets:
            before = ledger.secrets()
            after = rotate(before, now)
            if after != before:
                ledger.save_secrets(after)
            return after

        secrets = await self._store.do(operation)
        if self._store.is_shared and len(secrets) > 1 and now - secrets[-1][0] < FIRST_USE_SECONDS:
            secrets[-1], secrets[-2] = secrets[-2], secrets[-1]  # the last one signs, until all nodes know the new one
        self.tokens, self.sessions, self._rotation_checked = Tokens(secrets), Sessions(secrets), now

    def reload_secrets(self) -> None:
        """Load the secrets with the next tick."""
        self._rotation_checked = -math.inf
