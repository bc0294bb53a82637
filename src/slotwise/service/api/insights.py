"""Insights: what a page has learnt."""

from slotwise.service.api.route import NOT_FOUND, Call, Response, Route
from slotwise.service.pages.insights import Insights


async def get(call: Call[None]) -> Response:
    """Return insights. They are computed in the background and cached for a few seconds."""
    model = await call.service.model(call.path["page"])
    return Response(200, await call.service.insights(model))


ROUTES = [
    Route(
        "GET", "/v1/pages/{page}/insights", "get_insights",
        "Thetas and kappas with 90 % intervals, the best displays, counts, variants, click rates by hour.", get,
        {200: ("the insights", Insights)}, NOT_FOUND, tag="learnt", large=True, needs="read",
    ),
]  # fmt: skip
