"""Removes the data of pages that were deleted for good, in the background."""

import asyncio
import logging
import time

from slotwise.service.clock import Clock
from slotwise.service.errors import StoreDown
from slotwise.service.store.interface import Ledger, Purge, Store

RETRY_SECONDS = 1.0
_log = logging.getLogger("slotwise.service")


class Purger:
    """Continues with every page that is not completely removed: when it starts, and after `wake`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._due = asyncio.Event()
        self._due.set()  # the service may have stopped in the middle of a page

    def wake(self) -> None:
        """Look for pages to remove."""
        self._due.set()

    async def run(self) -> None:
        """Remove what is due, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                for purge in await self._store.read(lambda ledger: ledger.purges()):
                    await self._remove(purge)
            except Exception as error:
                if not isinstance(error, StoreDown):  # the store reports its own failures
                    _log.exception("a deleted page cannot be removed; the next try is in %g seconds", RETRY_SECONDS)
                await asyncio.sleep(RETRY_SECONDS)
                self._due.set()

    async def _remove(self, purge: Purge) -> None:
        after: int | None = 0
        while after is not None:
            began = time.monotonic()
            after = await self._step(purge, after)
            await asyncio.sleep(time.monotonic() - began)  # leaves half of the time to other transactions

    def _step(self, purge: Purge, after: int) -> "asyncio.Future[int | None]":
        now = self._clock()

        def operation(ledger: Ledger) -> int | None:
            return ledger.purge(purge, after, now)

        return self._store.do(operation)
