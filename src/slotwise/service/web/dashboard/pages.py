"""One page, and one item of it."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from msgspec import Meta

from slotwise.service.api.history import read_history
from slotwise.service.api.pages import page_view
from slotwise.service.api.route import NOT_FOUND, OPERATIONS, Call, Parameter, Response, Route
from slotwise.service.background_threads import run_in_background
from slotwise.service.errors import NotFound
from slotwise.service.insights.insights import Insights
from slotwise.service.insights.page_summary import settled
from slotwise.service.pages.page_model import PageModel
from slotwise.service.service import Service
from slotwise.service.web.dashboard.change_lines import added_at
from slotwise.service.web.dashboard.live import SHARE, page_events
from slotwise.service.web.dashboard.page_report import PageData, PageReport, page_report, script_data
from slotwise.service.web.dashboard.visitor import visitor_of
from slotwise.service.web.event_stream import EVENT_STREAM
from slotwise.service.web.html import HTML, SECURITY_HEADERS, render

WAIT_SECONDS = 0.4  # for insights; a page is shown without them rather than late
MOST_LISTED = 50  # items; a browser takes long to update more rows, so readers ask for them
_Text = Annotated[str, Meta(max_length=64)]
_CHOICE = (
    Parameter("layout", "query", _Text, "the layout to show; the first one by default"),
    Parameter("segment", "query", _Text, "the segment to show; requests without a segment by default"),
)
_ITEMS = Parameter(
    "items", "query", Literal["all"], f"list all items; the {MOST_LISTED} that are worth most by default"
)


async def get(call: Call[None]) -> Response:
    """A page: what it shows, why, and what was learnt."""
    return await _respond(call, "dashboard/page.html")


async def get_item(call: Call[None]) -> Response:
    """An item: where it was shown, what it earned there, and why it stands where it stands."""
    return await _respond(call, "dashboard/item.html", call.path["item"])


async def _respond(call: Call[None], template: str, item: str | None = None) -> Response:
    model = await call.service.model(call.path["page"])
    if item is not None and item not in model.items:
        raise NotFound(f"there is no item {item!r} on this page")
    make_data, visitor = await _page_data(call.service, model), visitor_of(call)

    def make() -> bytes:
        data = make_data()
        report = page_report(data, call.query.get("layout"), call.query.get("segment"))
        values: dict[str, Any] = {"visitor": visitor, "report": report, "script_data": script_data(report)}
        if item is None:
            values |= _listed(call, report)
        else:
            values |= {"row": report.item(item), "since": added_at(data.changes, item)}
        return render(template, **values)

    return Response(200, await run_in_background(make), SECURITY_HEADERS, HTML)


def _listed(call: Call[None], report: PageReport) -> dict[str, Any]:
    """The items that the table lists, and the addresses of this page with all of them and with the first ones."""
    choice = {name: value for name, value in call.query.items() if name in ("layout", "segment")}
    listed = report.items if "items" in call.query else report.items[:MOST_LISTED]
    return {
        "listed": listed, "most_listed": MOST_LISTED, "address_of_first": "?" + urlencode(choice),
        "address_of_all": "?" + urlencode({**choice, "items": "all"}),
    }  # fmt: skip


async def _page_data(service: Service, model: PageModel) -> Callable[[], PageData]:
    """A function that makes the data on a background thread, which then frees them, too."""
    insights, now = await _insights(service, model), service.clock()
    history = await service.store.read(lambda ledger: read_history(ledger, model.page.number, None))
    make_view, settled_now = page_view(model), settled(model.likely_displays(now))
    return lambda: PageData(make_view(), insights, settled_now, history.changes, now)


async def _insights(service: Service, model: PageModel) -> Insights | None:
    """The insights. If they take too long: those before, which may not know the newest definition, or None.

    They go on being computed, and the page loads itself again then.
    """
    computing = asyncio.ensure_future(service.insights(model, SHARE))
    computing.add_done_callback(lambda task: task.cancelled() or task.exception())  # it may fail after the answer
    done, _ = await asyncio.wait({computing}, timeout=WAIT_SECONDS)
    return computing.result() if done else service.latest_insights(model)


_PAGE: dict[int, tuple[str, Any]] = {200: ("the page", "text/html")}
_PATH = "/dashboard/pages/{page}"
ROUTES: list[Route[None]] = [
    Route(
        "GET", _PATH, "dashboard_page", "One page.", get, _PAGE, NOT_FOUND, parameters=(*_CHOICE, _ITEMS),
        tag=OPERATIONS, needs="read", accepts_session=True, web=True,
    ),
    Route(
        "GET", f"{_PATH}/events", "dashboard_page_events", "Says when a page has changed.", page_events,
        {200: ("events", EVENT_STREAM)}, NOT_FOUND, tag="dashboard",
        needs="read", accepts_session=True, web=True,
    ),
    Route(
        "GET", f"{_PATH}/items/{{item}}", "dashboard_item", "One item of a page.", get_item, _PAGE, NOT_FOUND,
        parameters=_CHOICE, tag=OPERATIONS, needs="read", accepts_session=True, web=True,
    ),
]  # fmt: skip
