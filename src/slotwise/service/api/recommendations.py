"""Recommendations: a display for one page view."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import NOT_FOUND, Answer, Call, Parameter, Route, decode
from slotwise.service.errors import DoesNotFit
from slotwise.service.pages.limits import MOST_NAMED, MOST_POSITIONS, Identifier, ItemName, Name
from slotwise.service.pages.page_model import Ask

Listed = Annotated[list[ItemName], Meta(max_length=MOST_NAMED)]


class RecommendationRequest(Struct, forbid_unknown_fields=True):
    """What a display must meet; excluded beats pinned beats eligible. The same id always gives the same display."""

    id: Identifier | None = None
    layout: Name | None = None
    segment: Name | None = None
    eligible: Listed | None = None
    excluded: Listed = []
    pinned: Annotated[dict[Name, ItemName], Meta(max_length=MOST_POSITIONS)] = {}


class Shown(Struct):
    """An item at a position, and why it is there."""

    position: str
    item: str
    reason: Literal["pinned", "eligible", "learnt", "default", "random"]


class Recommendation(Struct):
    """A display. `left_out` are positions for which no item was left; `degraded` ones are not learnt from."""

    id: str
    token: str
    page: str
    layout: str
    variant: Literal["learnt", "holdout", "default"]
    items: list[Shown]
    left_out: list[str]
    degraded: bool


_request = msgspec.json.Decoder(RecommendationRequest)
_ANYTHING = RecommendationRequest()
_SHORTAGE = Parameter(
    "on_shortage", "query", Literal["leave_out", "error"], "with `error`, too few items are answered 409"
)


async def post(call: Call) -> Answer:
    """A display for one page view."""
    name = call.path["page"]
    asked = decode(_request, call.content) if call.content else _ANYTHING
    shortage = call.query.get("on_shortage", "leave_out")
    if shortage not in ("leave_out", "error"):
        raise DoesNotFit(f"on_shortage = {shortage!r} is neither leave_out nor error")
    ask = Ask(asked.layout, asked.segment, asked.eligible, asked.excluded, asked.pinned, shortage == "error")
    model, display, fresh, left_out = await call.service.recommend(name, ask, asked.id)
    names = model.names
    answer = Recommendation(
        display.id,
        call.service.token(display),
        name,
        display.layout,
        display.variant,  # type: ignore[arg-type]
        [Shown(place.position, names[place.item], place.reason) for place in display.places],  # type: ignore[arg-type]
        left_out,
        display.degraded,
    )
    return Answer(201 if fresh else 200, answer)


ROUTES = [
    Route(
        "POST", "/v1/pages/{page}/recommendations", "recommend", "A display for one page view.", post,
        {201: ("a display", Recommendation), 200: ("the display that this id has", Recommendation)},
        {**NOT_FOUND, 409: "too few items, or the id is that of another page, layout or segment"},
        RecommendationRequest, parameters=(_SHORTAGE,), body_optional=True, tag="serving", hot=True,
    ),
]  # fmt: skip
