"""Track whether the store can be written."""

import math
import time

from slotwise.service.errors import StoreDown
from slotwise.service.metrics import Metrics
from slotwise.service.store.interface import Store, TrafficRows

CHECK_SECONDS = 1.0  # the least time between two test writes


class StoreHealth:
    """Tracks whether the store can be written. While it is `degraded`, the service does not learn from displays."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics, self._checked_at = metrics, -math.inf
        self.set_degraded(False)

    def set_degraded(self, degraded: bool) -> None:
        self.degraded = degraded
        self._metrics.store_up.set(0 if degraded else 1)

    def is_check_due(self) -> bool:
        """Whether the store is down, or was not tested for a while."""
        return self.degraded or time.monotonic() - self._checked_at > CHECK_SECONDS

    async def check(self, store: Store) -> None:
        """Write to the store, unless it was just written. Raises StoreDown if the write fails.

        Without this check, a disk that fills up between two requests would not be detected.
        """
        if self.degraded:
            raise StoreDown
        if self.is_check_due():
            self._checked_at = time.monotonic()  # set before the write, so that concurrent checks do not write too
            await store.do(lambda ledger: ledger.check_writable(), TrafficRows())
