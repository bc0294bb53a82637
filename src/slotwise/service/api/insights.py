"""Insights: what a page has learnt."""

import msgspec

from slotwise.service.api.route import NOT_FOUND, Call, Response, Route
from slotwise.service.insights.insights import Insights
from slotwise.service.templates.template_insight import visible_to


async def get(call: Call[None]) -> Response:
    """Return insights. They are computed in the background and cached for a few seconds."""
    model = await call.service.model(call.path["page"])
    insights = await call.service.insights(model)
    if call.key is not None and call.key.pages is not None and insights.template is not None:
        insights = msgspec.structs.replace(insights, template=visible_to(insights.template, call.key.pages))
    return Response(200, insights)


ROUTES = [
    Route(
        "GET", "/v1/pages/{page}/insights", "get_insights",
        "Thetas and kappas with 90 % intervals, the best displays, counts, variants, click rates by hour.", get,
        {200: ("the insights", Insights)}, NOT_FOUND, tag="learnt", large=True, needs="read", accepts_session=True,
    ),
]  # fmt: skip
