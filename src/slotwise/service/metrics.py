"""What the service tells of itself, for Prometheus; no label takes values that a request can make up."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


class Timed:
    """How often something took how long."""

    def __init__(self) -> None:
        self.numbers, self.total = [0] * (len(SECONDS) + 1), 0.0

    def observe(self, seconds: float) -> None:
        """It took that long."""
        self.numbers[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds


class Seconds(Collector):
    """A histogram by route whose users are all on one thread: the library's takes a lock for every bucket."""

    def __init__(self, name: str, about: str) -> None:
        self._name, self._about = name, about
        self._timed: dict[str, Timed] = defaultdict(Timed)

    def labels(self, route: str) -> Timed:
        """What is known of one route."""
        return self._timed[route]

    def collect(self) -> Iterable[HistogramMetricFamily]:
        """As the library tells it."""
        family = HistogramMetricFamily(self._name, self._about, labels=["route"])
        for route, timed in self._timed.items():
            limits = [*map(floatToGoString, SECONDS), "+Inf"]
            buckets = list(zip(limits, map(float, accumulate(timed.numbers)), strict=True))
            family.add_metric([route], buckets, timed.total)
        yield family


class Metrics:
    """All metrics of one running service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        at: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("slotwise_requests", "Requests by route and status.", ["route", "status"], **at)
        self.seconds = Seconds("slotwise_request_seconds", "Time to answer.")
        self.registry.register(self.seconds)
        self.displays = Counter("slotwise_displays", "Displays issued, by page and variant.", ["page", "variant"], **at)
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

    def displayed(self, page: str, variant: str) -> None:
        """A display was issued; finding the labels takes longer than counting, so they are kept."""
        found = self._displayed.get((page, variant))
        if found is None:
            found = self._displayed[page, variant] = self.displays.labels(page, variant)
        found.inc()

    def group(self, size: int, seconds: float) -> None:
        """A group was committed."""
        self.group_size.observe(size)
        self.group_seconds.observe(seconds)

    def text(self) -> bytes:
        """All of them, as Prometheus reads them."""
        return generate_latest(self.registry)
