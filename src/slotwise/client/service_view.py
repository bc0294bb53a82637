"""What `slotwise top` shows of a running service: rates, latencies, click rates, the store and the ensembles."""

import time

from msgspec import Struct

from slotwise.client.http_client import HttpClient, path_of
from slotwise.client.metrics_sample import MetricsSample, parse_metrics

MOST_PAGES = 10  # pages with their click rates: the busiest ones
REQUESTS, LATENCY, DISPLAYS, EVENTS = (
    "slotwise_requests_total",
    "slotwise_request_seconds",
    "slotwise_displays_total",
    "slotwise_events_total",
)


class RouteView(Struct):
    """The requests of a route since the previous view. Latencies are in milliseconds, null without requests."""

    route: str
    per_second: float
    failed_per_second: float
    p50: float | None
    p99: float | None


class VariantView(Struct):
    """What a variant of a page has got since the page exists."""

    variant: str
    displays: float
    click_rate: float | None


class BusyPage(Struct):
    """The displays and events of a page since the previous view, and its variants."""

    page: str
    displays_per_second: float
    events_per_second: float
    variants: list[VariantView]


class StoreView(Struct):
    """The store. Times of commits are in milliseconds, null without commits."""

    up: bool
    waiting: float
    commits_per_second: float
    p50: float | None
    p99: float | None


class EnsembleView(Struct):
    """The queue of pages that wait for an ensemble. `cores` is the processor time used per second."""

    waiting: float
    growth: float
    per_second: float
    cores: float


class ServiceView(Struct):
    """A running service at one time. `seconds` is the time over which rates are measured."""

    url: str
    version: str
    ready: bool
    seconds: float
    pages_in_memory: float
    megabytes: float
    store: StoreView
    ensembles: EnsembleView
    routes: list[RouteView]
    pages: list[BusyPage]


class ServiceWatch:
    """Reads views of a service, each relative to the one before."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._before = self._sample()

    def view(self) -> ServiceView:
        """What the service does now."""
        now = self._sample()
        added = now.since(self._before)
        self._before = now
        seconds = max(added.time, 1e-9)
        return ServiceView(
            self._client.address.url,
            self._client.call("GET", "/v1/version")["version"],
            self._client.request("GET", "/readyz").status == 200,
            added.time,
            now.value("slotwise_pages_in_memory"),
            now.value("slotwise_page_bytes") / 1e6,
            _store(now, added, seconds),
            _ensembles(now, added, seconds),
            _routes(added, seconds),
            self._pages(now, added, seconds),
        )

    def _sample(self) -> MetricsSample:
        return parse_metrics(self._client.text("/metrics"), time.monotonic())

    def _pages(self, now: MetricsSample, added: MetricsSample, seconds: float) -> list[BusyPage]:
        displays, events, totals = (
            {page: value for (page,), value in sample.by(name, "page").items() if page}
            for sample, name in ((added, DISPLAYS), (added, EVENTS), (now, DISPLAYS))
        )
        busiest = sorted(totals, key=lambda page: (-displays.get(page, 0.0), -totals[page], page))[:MOST_PAGES]
        return [
            BusyPage(page, displays.get(page, 0.0) / seconds, events.get(page, 0.0) / seconds, self._variants(page))
            for page in busiest
        ]

    def _variants(self, page: str) -> list[VariantView]:
        reply = self._client.request("GET", path_of("pages", page, "insights"))
        if reply.status != 200:  # the page was archived, or is being loaded
            return []
        return [VariantView(row["variant"], row["displays"], row["click_rate"]) for row in reply.body["variants"]]


def _store(now: MetricsSample, added: MetricsSample, seconds: float) -> StoreView:
    commits = "slotwise_group_seconds"
    return StoreView(
        now.value("slotwise_store_up") > 0.0,
        now.value("slotwise_waiting"),
        added.value(f"{commits}_count") / seconds,
        _milliseconds(added.quantile(commits, 0.5)),
        _milliseconds(added.quantile(commits, 0.99)),
    )


def _ensembles(now: MetricsSample, added: MetricsSample, seconds: float) -> EnsembleView:
    return EnsembleView(
        now.value("slotwise_refresh_waiting"),
        now.value("slotwise_refresh_growth"),
        added.value("slotwise_refreshes_total") / seconds,
        added.value("slotwise_refresh_seconds_total") / seconds,
    )


def _routes(added: MetricsSample, seconds: float) -> list[RouteView]:
    requests, failed = added.by(REQUESTS, "route"), dict[str, float]()
    for (route, status), number in added.by(REQUESTS, "route", "status").items():
        if status >= "400":
            failed[route] = failed.get(route, 0.0) + number
    return [
        RouteView(
            route,
            number / seconds,
            failed.get(route, 0.0) / seconds,
            _milliseconds(added.quantile(LATENCY, 0.5, route=route)),
            _milliseconds(added.quantile(LATENCY, 0.99, route=route)),
        )
        for (route,), number in sorted(requests.items(), key=lambda entry: (-entry[1], entry[0]))
        if number > 0.0
    ]


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else 1e3 * seconds
