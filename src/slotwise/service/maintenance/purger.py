"""Removes data that nothing uses any more, in the background: of deleted pages, and of snapshots that were replaced."""

import asyncio
import logging
import time

from slotwise.service.clock import Clock
from slotwise.service.errors import StoreDown
from slotwise.service.store.interface import Store
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.records import Purge

RETRY_SECONDS = 1.0
_log = logging.getLogger("slotwise.service")


class Purger:
    """Removes everything that is not completely removed: when it starts, and after `wake`."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._due = asyncio.Event()
        self._due.set()  # the service may have stopped in the middle of a page

    def wake(self) -> None:
        """Look for data to remove."""
        self._due.set()

    async def run(self) -> None:
        """Remove what is due, until cancelled."""
        while True:
            await self._due.wait()
            self._due.clear()
            try:
                for purge in await self._store.read(lambda ledger: ledger.purges()):
                    await self._remove(purge)
                for number in await self._store.read(lambda ledger: ledger.unused_snapshots()):
                    while await self._remove_snapshot(number):
                        pass
            except Exception as error:
                if not isinstance(error, StoreDown):  # the store reports its own failures
                    _log.exception(
                        "data that are not used any more cannot be removed; the next try is in %g seconds",
                        RETRY_SECONDS,
                    )
                await asyncio.sleep(RETRY_SECONDS)
                self._due.set()

    async def _remove(self, purge: Purge) -> None:
        after: int | None = 0
        while after is not None:
            after = await self._step(self._part_of(purge, after))

    def _part_of(self, purge: Purge, after: int) -> Operation[int | None]:
        now = self._clock()
        return lambda ledger: ledger.purge(purge, after, now)

    async def _remove_snapshot(self, number: int) -> bool:
        return await self._step(lambda ledger: ledger.remove_snapshot(number))

    async def _step(self, operation: Operation[ResultT]) -> ResultT:
        began = time.monotonic()
        result = await self._store.do(operation)
        await asyncio.sleep(time.monotonic() - began)  # leaves half of the time to other transactions
        return result
