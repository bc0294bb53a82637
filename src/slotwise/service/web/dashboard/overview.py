"""The overview of all pages."""

from slotwise.service.api.overview import OverviewPage, read_overview
from slotwise.service.api.route import OPERATIONS, Call, Parameter, Response, Route
from slotwise.service.background_threads import run_in_background
from slotwise.service.pages.limits import Name
from slotwise.service.web.dashboard.live import overview_events
from slotwise.service.web.dashboard.rate_chart import spark_path
from slotwise.service.web.dashboard.verdict import gain_texts
from slotwise.service.web.dashboard.visitor import visitor_of
from slotwise.service.web.event_stream import EVENT_STREAM
from slotwise.service.web.html import html_response

_AFTER = Parameter("after", "query", Name, "only pages after this name")


async def get(call: Call[None]) -> Response:
    """All pages at a glance."""
    overview, visitor, after = await read_overview(call), visitor_of(call), call.query.get("after")

    def make() -> Response:
        return html_response(
            200, "dashboard/overview.html", visitor=visitor, overview=overview, gain_texts=gain_texts,
            sparks={page.page: _spark(page) for page in overview.pages}, after=after,
        )  # fmt: skip

    return await run_in_background(make)


def _spark(page: OverviewPage) -> str:
    return "" if page.summary is None else spark_path(page.summary.hours, page.summary.computed)


ROUTES: list[Route[None]] = [
    Route(
        "GET", "/dashboard", "dashboard", "All pages at a glance.", get, {200: ("the page", "text/html")},
        parameters=(_AFTER,), tag=OPERATIONS, needs="read", checks_pages=True, accepts_session=True, web=True,
    ),
    Route(
        "GET", "/dashboard/events", "dashboard_events", "Says when the overview has changed.", overview_events,
        {200: ("events", EVENT_STREAM)}, tag="dashboard", needs="read", checks_pages=True, accepts_session=True,
        web=True,
    ),
]  # fmt: skip
