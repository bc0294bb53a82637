"""Events: clicks, views and discards, in batches, answered when they are on the disk."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from slotwise.service.api.route import JSON, Answer, Call, Route, decode
from slotwise.service.pages.limits import MOST_EVENTS, Identifier, Name
from slotwise.service.registers import Kind, Status
from slotwise.service.store.interface import Event

_KINDS = {"view": Kind.VIEW, "click": Kind.CLICK, "discard": Kind.DISCARD}


class EventBody(Struct, forbid_unknown_fields=True):
    """What a visitor did with a display, named by its id or by its token. A discard takes the whole display out."""

    type: Literal["click", "view", "discard"]
    display: Identifier | None = None
    token: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    position: Name | None = None
    id: Identifier | None = None


class EventBatch(Struct, forbid_unknown_fields=True):
    """Events, in any order."""

    events: Annotated[list[EventBody], Meta(min_length=1, max_length=MOST_EVENTS)]


class EventResult(Struct, omit_defaults=True):
    """What became of an event."""

    status: Status
    detail: str = ""


class EventResults(Struct):
    """A result for each event, in order."""

    results: list[EventResult]


_batch = msgspec.json.Decoder(EventBatch)


async def post(call: Call) -> Answer:
    """Commit events, then say what became of each."""
    service, now = call.service, call.service.clock()
    results: list[EventResult | None] = []
    events: list[Event] = []
    for given in decode(_batch, call.content).events:
        read = _read(given, call, now)
        results.append(EventResult("rejected", read) if isinstance(read, str) else None)
        if not isinstance(read, str):
            events.append(read)
    received = await service.receive(events) if events else None
    service.count_events([("rejected", None)] * (len(results) - len(events)))
    statuses = iter(received.statuses if received else [])
    answers = [EventResult(*next(statuses)[:2]) if result is None else result for result in results]
    return Answer(200, EventResults(answers))


def _read(given: EventBody, call: Call, now: float) -> Event | str:
    """The event as the store takes it, or why it is rejected."""
    kind = _KINDS[given.type]
    if given.type == "click" and given.position is None:
        return "a click needs a position"
    if given.token is not None:
        if kind is Kind.DISCARD:
            return "a token does not allow to discard"
        named = call.service.tokens.read(given.token, now)
        if isinstance(named, str):
            return named
        if given.display not in (None, named.display):
            return "the token is of another display"
        return Event(kind, named.display, named.nonce, named.page, given.position, given.id)
    if given.display is None:
        return "a display or a token is needed"
    return Event(kind, given.display, None, None, given.position, given.id)


ROUTES = [
    Route(
        "POST", "/v1/events", "send_events", "Clicks, views and discards; answered when they are on the disk.", post,
        {200: ("what became of each event", EventResults)}, {}, EventBatch, (JSON, "text/plain"),
        tag="serving", hot=True,
    ),
]  # fmt: skip
