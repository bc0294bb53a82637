"""Insights: what a page has learnt."""

from slotwise.service.api.route import NOT_FOUND, Answer, Call, Route
from slotwise.service.pages.insights import Insights


async def get(call: Call) -> Answer:
    """What a page has learnt, computed beside the serving; at most some seconds old."""
    model = await call.service.model(call.path["page"])
    return Answer(200, await call.service.insights(model))


ROUTES = [
    Route(
        "GET", "/v1/pages/{page}/insights", "get_insights",
        "Thetas and kappas with 90 % intervals, the best displays, counts, variants, click rates by hour.", get,
        {200: ("what was learnt", Insights)}, NOT_FOUND, tag="learnt",
    ),
]  # fmt: skip
