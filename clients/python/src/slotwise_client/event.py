"""Events: what a visitor or a website did with a display, and what became of the report."""

import json
import uuid
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

EventType = Literal["click", "view", "discard"]
#: The first six are those of the service. `invalid`: the event fails validation. `dropped`: it was not delivered.
#: `ignored`: its display did not come from the service, so it is not sent
EventStatus = Literal[
    "accepted", "duplicate", "late", "unknown", "conflict", "rejected", "invalid", "dropped", "ignored"
]
MOST_BYTES = 4096  # of one event as JSON; the longest valid event is far shorter


def new_id() -> str:
    """A random id for an event or a display."""
    return uuid.uuid4().hex


@dataclass(frozen=True, slots=True)
class Event:
    """A click, a view or a discard. It needs the token of its display, or the id of the display.

    The event has an `id` of its own, so it counts once, however often it is sent.
    """

    type: EventType
    token: str | None = None
    display: str | None = None
    position: str | None = None
    id: str = field(default_factory=new_id)

    def encode(self) -> bytes:
        """The event as JSON. Raises ValueError if it cannot be sent."""
        given = {name: getattr(self, name) for name in ("type", "token", "display", "position", "id")}
        try:
            content = json.dumps({name: value for name, value in given.items() if value is not None}).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the event cannot be written as JSON: {error}") from None
        if len(content) > MOST_BYTES:
            raise ValueError(f"the event has {len(content)} bytes as JSON, more than {MOST_BYTES}")
        return content


class EventOutcome(NamedTuple):
    """What became of an event. Every event has exactly one outcome."""

    event: Event
    status: EventStatus
    detail: str = ""
