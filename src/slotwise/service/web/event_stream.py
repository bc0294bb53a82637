"""Server-sent events: what all streams of events share."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress

from slotwise.service.api.route import Response
from slotwise.service.errors import TooManyStreams
from slotwise.service.service import Service

EVENT_STREAM = "text/event-stream"
MOST_STREAMS = 200  # of one node; each costs about 60 kB and a check every two seconds
_HEADERS = {"cache-control": "no-store", "x-accel-buffering": "no"}  # the second one makes nginx pass events on at once


def stream(service: Service, events: AsyncGenerator[bytes, None]) -> Response:
    """A response with these events. Raises `TooManyStreams` if too many are open."""
    if service.streams >= MOST_STREAMS:
        raise TooManyStreams(f"{MOST_STREAMS} pages with live numbers are open already")
    return Response(200, _counted(service, events), _HEADERS, EVENT_STREAM)


async def _counted(service: Service, events: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    service.streams += 1
    try:
        async for event in events:
            yield event
    finally:
        service.streams -= 1
        await events.aclose()


async def wait_for_first(seconds: float, *events: asyncio.Event) -> None:
    """Wait for the first of these events, but no longer than this."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*waiting, return_exceptions=True)
