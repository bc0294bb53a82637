"""What the service tells of itself, for Prometheus; no label takes values that a request can make up."""

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


class Metrics:
    """All metrics of one running service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        at: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("slotwise_requests", "Requests by route and status.", ["route", "status"], **at)
        self.seconds = Histogram("slotwise_request_seconds", "Time to answer.", ["route"], buckets=SECONDS, **at)
        self.displays = Counter("slotwise_displays", "Displays issued, by page and arm.", ["page", "arm"], **at)
        self.degraded = Counter(
            "slotwise_degraded_displays", "Displays that are not learnt, the store being down.", **at
        )
        self.events = Counter("slotwise_events", "Events by page and what became of them.", ["page", "status"], **at)
        self.group_size = Histogram("slotwise_group_size", "Displays and calls in a group.", buckets=SIZES, **at)
        self.group_seconds = Histogram("slotwise_group_seconds", "Time of a group.", buckets=SECONDS, **at)
        self.waiting = Gauge("slotwise_waiting", "Displays and calls that wait to be committed.", **at)
        self.store_up = Gauge("slotwise_store_up", "1 while the store can be written.", **at)
        self._displayed: dict[tuple[str, str], Counter] = {}
        self.pages = Gauge("slotwise_pages_in_memory", "Pages in memory.", **at)

    def displayed(self, page: str, arm: str) -> None:
        """A display was issued; finding the labels takes longer than counting, so they are kept."""
        found = self._displayed.get((page, arm))
        if found is None:
            found = self._displayed[page, arm] = self.displays.labels(page, arm)
        found.inc()

    def group(self, size: int, seconds: float) -> None:
        """A group was committed."""
        self.group_size.observe(size)
        self.group_seconds.observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
