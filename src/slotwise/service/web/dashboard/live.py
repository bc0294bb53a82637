"""Server-sent events that say when a page or the overview has changed. Browsers then load the HTML again.

A stream ends when the key of the session ends, and when the server stops. All streams of a page share its insights.
These are computed again only when this takes a small share of a core.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

from slotwise.service.api.overview import read_overview
from slotwise.service.api.route import Call, Response
from slotwise.service.errors import ServiceError

EVENT_STREAM = "text/event-stream"
CHECK_SECONDS = 2.0
KEEP_ALIVE_CHECKS = 7  # after this many checks without a change, a comment shows that the connection lives
SHARE = 0.02  # of a core, for the insights of pages that are watched


async def overview_events(call: Call[None]) -> Response:
    """The events of the overview."""

    async def stamp() -> str:
        overview = await read_overview(call)
        computed = max((page.summary.computed for page in overview.pages if page.summary), default=0.0)
        known = sum(page.summary is not None for page in overview.pages)
        degraded = overview.health is not None and overview.health.degraded
        return f"{overview.total}-{known}-{computed:.0f}-{degraded}"

    return _stream(call, stamp)


async def page_events(call: Call[None]) -> Response:
    """The events of one page."""
    name = call.path["page"]
    await call.service.model(name)  # 404 if there is no such page

    async def stamp() -> str:
        model = await call.service.model(name)
        insights = await call.service.insights(model, SHARE)
        return f"{model.page.version}-{model.n_changes}-{insights.computed:.3f}"

    return _stream(call, stamp)


def _stream(call: Call[Any], stamp: Callable[[], Awaitable[str]]) -> Response:
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return Response(200, _events(call, stamp), headers, EVENT_STREAM)


async def _events(call: Call[Any], stamp: Callable[[], Awaitable[str]]) -> AsyncGenerator[bytes, None]:
    """An event for each new stamp. Clients reconnect by themselves after a lost connection."""
    service, last, quiet = call.service, "", 0
    yield b"retry: 2000\n\n"
    while not service.stopping.is_set():
        if call.key is not None:
            found = service.keys.by_id(call.key.id)
            if found is None or service.clock() >= found.ends:
                yield b"event: ended\ndata: the key is not valid any more\n\n"
                return
        with suppress(ServiceError):  # the store is down, or the page is archived: the browser shows what it has
            current = await stamp()
            if current != last:
                last, quiet = current, 0
                yield f"event: changed\ndata: {current}\n\n".encode()
        quiet += 1
        if quiet % KEEP_ALIVE_CHECKS == 0:
            yield b": still here\n\n"
        with suppress(TimeoutError):
            await asyncio.wait_for(service.stopping.wait(), CHECK_SECONDS)
