"""Recommendations: a display for one page view."""

from typing import Literal

from msgspec import Raw, Struct, json

from slotwise.service.api.route import NOT_FOUND, Call, Parameter, Response, Route
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import Arrangement

_encode = json.Encoder().encode


class RecommendedItem(Struct):
    """An item at a position, and the reason why it is there."""

    position: str
    item: str
    reason: Literal["pinned", "eligible", "learnt", "default", "random"]


class Recommendation(Struct, omit_defaults=True):
    """A display. `left_out` are the positions without an item. A `degraded` display is not learnt from.

    A `warming` display comes from point estimates, because the page was just loaded. It is learnt from as usual.
    `over_limit` are the categories of which pins show more than `most_per_category` items. It is left out if there are
    none. The `id` and the `token` of a preview are empty.
    """

    id: str
    token: str
    page: str
    layout: str
    variant: Literal["learnt", "holdout", "default"]
    items: list[RecommendedItem]
    left_out: list[str]
    degraded: bool
    warming: bool
    over_limit: list[str] = []


_ON_SHORTAGE = Parameter(
    "on_shortage", "query", Literal["leave_out", "error"], "with `error`, the answer is 409 if there are too few items"
)


_PREVIEW = Parameter(
    "preview",
    "query",
    Literal["true", "false"],
    "with `true`, nothing is recorded, and the answer has no id and no token",
)


async def post(call: Call[RecommendationRequest]) -> Response:
    """A display for one page view."""
    page, fill_all = call.path["page"], call.query.get("on_shortage") == "error"
    is_preview = call.query.get("preview") == "true"
    choose = call.service.preview if is_preview else call.service.recommend
    model, display, is_new = await choose(page, call.body, fill_all)
    arrangement = display.arrangement
    if arrangement is None or not is_new:
        over_limit = model.over_limit(display, call.body)
        arrangement = Arrangement(display.entries, model.left_out(display), over_limit)
    if arrangement.encoded is None:
        arrangement.encoded = _encode_items(arrangement, model.names)
    recommendation = Recommendation(
        display.id,
        "" if is_preview else call.service.token(display),
        page,
        display.layout,
        display.variant,  # type: ignore[arg-type]
        arrangement.encoded,  # type: ignore[arg-type]
        arrangement.left_out,
        display.degraded,
        is_new and display.warming,  # the store does not keep it, so a repeated answer never has it
        arrangement.over_limit,
    )
    return Response(201 if is_new and not is_preview else 200, _encode(recommendation))


def _encode_items(arrangement: Arrangement, names: list[str]) -> Raw:
    items = [RecommendedItem(entry.position, names[entry.item], entry.reason) for entry in arrangement.entries]  # type: ignore[arg-type]
    return Raw(_encode(items))


ROUTES = [
    Route(
        "POST", "/v1/pages/{page}/recommendations", "recommend", "A display for one page view.", post,
        {
            201: ("a new display", Recommendation),
            200: ("the display that already has this id, or a preview", Recommendation),
        },
        {**NOT_FOUND, 409: "too few items, or the id was used for another page, layout or segment"},
        RecommendationRequest, parameters=(_ON_SHORTAGE, _PREVIEW), body_optional=True, tag="serving", hot=True,
        needs="serve",
    ),
]  # fmt: skip
