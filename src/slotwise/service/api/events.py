"""Events: clicks, views and discards, in batches. The response is sent after the events are committed to disk."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from slotwise.service.api.route import JSON, Call, Response, Route
from slotwise.service.pages.limits import MOST_EVENTS, Identifier, Name
from slotwise.service.registers import EventKind, EventStatus
from slotwise.service.store.records import Event

_KINDS = {"view": EventKind.VIEW, "click": EventKind.CLICK, "discard": EventKind.DISCARD}


class EventBody(Struct, forbid_unknown_fields=True, gc=False):
    """What happened to a display, given by its id or its token. A discard removes the display from the counts."""

    type: Literal["click", "view", "discard"]
    display: Identifier | None = None
    token: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    position: Name | None = None
    id: Identifier | None = None


class EventBatch(Struct, forbid_unknown_fields=True):
    """Events, in any order."""

    events: Annotated[list[EventBody], Meta(min_length=1, max_length=MOST_EVENTS)]


class EventResult(Struct, omit_defaults=True, gc=False):
    """The result of one event."""

    status: EventStatus
    detail: str = ""


class EventResults(Struct):
    """A result for each event, in order."""

    results: list[EventResult]


async def post(call: Call[EventBatch]) -> Response:
    """Commit events, then return the result of each."""
    service, now = call.service, call.service.clock()
    if call.refusal is not None and any(event.token is None for event in call.body.events):
        raise call.refusal
    read = [_read_event(body, call, now) for body in call.body.events]
    events = [event for event in read if not isinstance(event, str)]
    outcomes = iter((await service.record_events(events, call.key)).outcomes if events else [])
    service.count_events([("rejected", None)] * (len(read) - len(events)))
    results = []
    for event in read:
        if isinstance(event, str):
            results.append(EventResult("rejected", event))
        else:
            outcome = next(outcomes)
            results.append(EventResult(outcome.status, outcome.detail))
    return Response(200, EventResults(results))


def _read_event(body: EventBody, call: Call[EventBatch], now: float) -> Event | str:
    """The event in the store's form, or the reason why it is rejected."""
    kind = _KINDS[body.type]
    if body.type == "click" and body.position is None:
        return "a click needs a position"
    if body.token is not None:
        if kind is EventKind.DISCARD:
            return "a token does not allow a discard"
        claims = call.service.tokens.read(body.token, now)
        if isinstance(claims, str):
            return claims
        if body.display not in (None, claims.display):
            return "the token is for another display"
        return Event(kind, claims.display, claims.nonce, claims.page, body.position, body.id)
    if body.display is None:
        return "a display or a token is needed"
    return Event(kind, body.display, None, None, body.position, body.id)


ROUTES = [
    Route(
        "POST", "/v1/events", "send_events", "Clicks, views and discards; answered after they are on disk.", post,
        {200: ("the result of each event", EventResults)}, {}, EventBatch, (JSON, "text/plain"),
        tag="serving", hot=True, needs="feedback", checks_pages=True, accepts_tokens=True,
    ),
]  # fmt: skip
