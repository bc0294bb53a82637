"""The overview: all pages at a glance, and the health of the service."""

from msgspec import Struct

from slotwise.service.api.node_health import NodeHealth, node_healths
from slotwise.service.api.route import Call, Parameter, Response, Route
from slotwise.service.insights.page_summary import PageSummary
from slotwise.service.pages.limits import Name

PAGE_SIZE = 100
_AFTER = Parameter("after", "query", Name, "only pages after this name; the field `next` of the last answer")


class EventTotals(Struct):
    """How many events had which result, since the service started."""

    accepted: int = 0
    duplicate: int = 0
    late: int = 0
    unknown: int = 0
    conflict: int = 0
    rejected: int = 0


class OverviewPage(Struct):
    """A page with its events. `summary` is null until it is computed, so ask again after a second."""

    page: str
    events: EventTotals
    summary: PageSummary | None


class ServiceHealth(Struct):
    """Whether the service learns. `waiting` displays and changes wait for their commit. `events` are of all pages.

    `nodes` are those that share the store, and `node` is the one that answers. Without a shared store, there are none.
    """

    ready: bool
    degraded: bool
    waiting: int
    events: EventTotals
    node: int | None
    nodes: list[NodeHealth]


class Overview(Struct):
    """Up to 100 pages in the order of their names. `next` is null at the end. `total` is the number of all pages.

    `health` is null if the key is for some pages only.
    """

    computed: float
    total: int
    pages: list[OverviewPage]
    next: str | None
    health: ServiceHealth | None


async def get(call: Call[None]) -> Response:
    """The pages that the key is for."""
    return Response(200, await read_overview(call))


async def read_overview(call: Call[None]) -> Overview:
    """The overview for the caller."""
    service = call.service
    names = await service.store.read(lambda ledger: ledger.page_names())
    if call.key is not None and call.key.pages is not None:
        names = [name for name in names if name in call.key.pages]
    names.sort()
    rest = [name for name in names if name > call.query.get("after", "")]
    shown, events = rest[:PAGE_SIZE], service.metrics.event_counts()
    known = service.summaries(shown)
    pages = [OverviewPage(name, _totals(events.get(name, {})), known.get(name)) for name in shown]
    health = None
    if call.key is None or call.key.pages is None:
        totals = EventTotals()
        for page in events.values():
            for status, number in page.items():
                setattr(totals, status, getattr(totals, status) + number)
        health = ServiceHealth(
            service.ready, service.degraded, service.store.waiting, totals, service.store.node,
            await node_healths(service),
        )  # fmt: skip
    following = shown[-1] if len(rest) > PAGE_SIZE else None
    return Overview(service.clock(), len(names), pages, following, health)


def _totals(counts: dict[str, int]) -> EventTotals:
    return EventTotals(**counts)


ROUTES = [
    Route(
        "GET", "/v1/overview", "get_overview", "All pages at a glance, and the health of the service.", get,
        {200: ("up to 100 pages", Overview)}, parameters=(_AFTER,), tag="learnt", large=True, needs="read",
        checks_pages=True, accepts_session=True,
    ),
]  # fmt: skip
