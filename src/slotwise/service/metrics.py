"""The metrics of a running service, for Prometheus. Requests cannot create new values of labels."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

SECONDS = (0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0)
SIZES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)


class LatencyBuckets:
    """The latencies of one route, as the number of requests in each bucket."""

    def __init__(self) -> None:
        self.counts, self.total = [0] * (len(SECONDS) + 1), 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.total += seconds


class LatencyHistogram(Collector):
    """A histogram of latencies for each route. Only one thread may observe, because it takes no locks.

    The library's histogram takes a lock for every bucket.
    """

    def __init__(self, name: str, about: str) -> None:
        self._name, self._about = name, about
        self._by_route: dict[str, LatencyBuckets] = defaultdict(LatencyBuckets)

    def labels(self, route: str) -> LatencyBuckets:
        return self._by_route[route]

    def collect(self) -> Iterable[HistogramMetricFamily]:
        family = HistogramMetricFamily(self._name, self._about, labels=["route"])
        for route, latency in list(self._by_route.items()):  # another thread may call this
            limits = [*map(floatToGoString, SECONDS), "+Inf"]
            buckets = list(zip(limits, map(float, accumulate(latency.counts)), strict=True))
            family.add_metric([route], buckets, latency.total)
        yield family


class DisplayCounter(Collector):
    """Counts displays by page and variant. Only one thread may use it, because it takes no locks."""

    def __init__(self, name: str, about: str) -> None:
        self._name, self._about = name, about
        self._displays: dict[tuple[str, str], int] = {}

    def count(self, page: str, variant: str) -> None:
        self._displays[page, variant] = self._displays.get((page, variant), 0) + 1

    def collect(self) -> Iterable[CounterMetricFamily]:
        family = CounterMetricFamily(self._name, self._about, labels=["page", "variant"])
        for labels, displays in self._displays.items():
            family.add_metric(labels, displays)
        yield family


class Metrics:
    """All metrics of one running service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        options: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("slotwise_requests", "Requests by route and status.", ["route", "status"], **options)
        self.refused = Counter(
            "slotwise_refused_requests", "Requests without sufficient rights, by key id and status.", ["key", "status"],
            **options,
        )  # fmt: skip
        self.rejected = Counter(
            "slotwise_rejected_connections", "Connections rejected before there was a request, by reason.", ["reason"],
            **options,
        )  # fmt: skip
        self.seconds = LatencyHistogram("slotwise_request_seconds", "Time to answer a request.")
        self.registry.register(self.seconds)
        self.displays = DisplayCounter("slotwise_displays", "Displays issued, by page and variant.")
        self.registry.register(self.displays)
        self.degraded = Counter(
            "slotwise_degraded_displays", "Displays issued while the store was down, which are not learnt.", **options
        )
        self.events = Counter("slotwise_events", "Events by page and status.", ["page", "status"], **options)
        self.group_size = Histogram("slotwise_group_size", "Displays and calls in a group.", buckets=SIZES, **options)
        self.group_seconds = Histogram("slotwise_group_seconds", "Time to commit a group.", buckets=SECONDS, **options)
        self.waiting = Gauge("slotwise_waiting", "Displays and calls that wait to be committed.", **options)
        self.store_up = Gauge("slotwise_store_up", "1 while the store can be written.", **options)
        self.node = Gauge("slotwise_node", "The id of this node among those that share the store, or 0.", **options)
        self.pages = Gauge("slotwise_pages_in_memory", "Pages in memory.", **options)
        self.page_bytes = Gauge("slotwise_page_bytes", "Estimated memory of the pages in memory.", **options)
        self.evicted = Counter("slotwise_evicted_pages", "Pages evicted to keep the memory budget.", **options)
        self.warming = Counter(
            "slotwise_warming_displays", "Displays from point estimates, because the page had no draws yet.", **options
        )
        self.refreshes = Counter("slotwise_refreshes", "Ensembles made.", **options)
        self.refresh_seconds = Counter("slotwise_refresh_seconds", "CPU time spent on making ensembles.", **options)
        self.refresh_failures = Counter("slotwise_refresh_failures", "Ensembles that could not be made.", **options)
        self.refresh_waiting = Gauge(
            "slotwise_refresh_waiting", "Pages and templates that wait for new draws.", **options
        )
        self.refresh_growth = Gauge(
            "slotwise_refresh_growth",
            "Growth of the most urgent page that waits, relative to the growth from which on it is due.",
            **options,
        )

    def observe_group(self, size: int, seconds: float) -> None:
        self.group_size.observe(size)
        self.group_seconds.observe(seconds)

    def event_counts(self) -> dict[str, dict[str, int]]:
        """The number of events of each page, by status. Events of no page are those of ""."""
        counts: dict[str, dict[str, int]] = {}
        for metric in self.events.collect():
            for sample in metric.samples:
                if sample.name.endswith("_total"):
                    counts.setdefault(sample.labels["page"], {})[sample.labels["status"]] = int(sample.value)
        return counts

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
