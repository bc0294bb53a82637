"""Server-sent events that say when a page or the overview has changed. Browsers then load the HTML again.

A stream ends when its session, its key or its page ends, and when the server stops. All streams of a page share its
insights. These are computed again only when this takes a small share of a core.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from slotwise.service.api.overview import read_overview
from slotwise.service.api.route import Call, Response
from slotwise.service.errors import NotFound, ServiceError, StoreDown
from slotwise.service.web.event_stream import stream, wait_for_first

CHECK_SECONDS = 2.0
STAMP_SECONDS = 0.4  # insights may take longer; whether the session has ended is checked meanwhile
DOWN = "the store is down"
KEEP_ALIVE_CHECKS = 7  # after this many checks without a change, a comment shows that the connection lives
SHARE = 0.02  # of a core, for the insights of pages that are watched


async def overview_events(call: Call[None]) -> Response:
    """The events of the overview."""

    async def stamp() -> str:
        overview = await read_overview(call)
        computed = max((page.summary.computed for page in overview.pages if page.summary), default=0.0)
        known = sum(page.summary is not None for page in overview.pages)
        nodes = [] if overview.health is None else [(node.node, node.is_late) for node in overview.health.nodes]
        return f"{overview.total}-{known}-{computed:.0f}-{nodes}"

    return stream(call.service, _events(call, stamp))


async def page_events(call: Call[None]) -> Response:
    """The events of one page."""
    name = call.path["page"]
    await call.service.model(name)  # 404 if there is no such page

    async def stamp() -> str:
        model = await call.service.model(name)
        insights = await call.service.insights(model, SHARE)
        return f"{model.page.version}-{model.n_changes}-{insights.computed:.3f}"

    return stream(call.service, _events(call, stamp))


async def _events(call: Call[Any], stamp: Callable[[], Awaitable[str]]) -> AsyncGenerator[bytes, None]:
    """An event for each new stamp. Clients reconnect by themselves after a lost connection."""
    service, last, quiet = call.service, "", 0
    yield b"retry: 2000\n\n"
    while not service.stopping.is_set():
        keys_changed, seconds = service.keys.changed, _valid_seconds(call)
        if seconds <= 0.0:
            yield _event("ended", "sign in again")
            return
        try:
            current = DOWN if service.degraded else await asyncio.wait_for(stamp(), STAMP_SECONDS)
        except NotFound:
            yield _event("ended", "the page does not exist any more")
            return
        except StoreDown:
            current = DOWN
        except (ServiceError, TimeoutError):
            current = last
        if current != last:
            last, quiet = current, 0
            yield _event("down" if current == DOWN else "changed", current)
        quiet += 1
        if quiet % KEEP_ALIVE_CHECKS == 0:
            yield b": still here\n\n"
        await wait_for_first(min(CHECK_SECONDS, seconds), service.stopping, keys_changed)


def _event(kind: str, text: str) -> bytes:
    return f"event: {kind}\ndata: {text}\n\n".encode()


def _valid_seconds(call: Call[Any]) -> float:
    """How long the session and its key are still valid, as far as is known now."""
    if call.key is None:
        return math.inf
    keys, session = call.service.keys, call.session
    found = keys.by_id(call.key.id)
    if found is None or (session is not None and keys.has_ended(session)):
        return 0.0
    return min(found.ends, math.inf if session is None else session.until) - call.service.clock()
