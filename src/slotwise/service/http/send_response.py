"""Send a response. No other module makes ASGI response messages.

Starlette's response classes are not used, because they take 2.3 us for a response of 560 bytes, while this module takes
1.2 us. For comparison, the work on a request before its handler takes about 8 us.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from starlette.types import Receive, Scope, Send

from slotwise.service.api.route import Response

SLICE = 64 << 10  # bytes sent at once: between two slices, the server waits until the client has read enough
_NO_STORE = (b"cache-control", b"no-store")
_SAFETY_HEADERS = [(b"x-content-type-options", b"nosniff"), _NO_STORE]


async def send_response(response: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """Send a response. Its content is bytes or an async generator of bytes. A generator is streamed."""
    status, content, headers, media_type = response
    is_stream = type(content) is not bytes
    if status == 204:
        pairs = [*_SAFETY_HEADERS]
    elif is_stream:
        pairs = [(b"content-type", media_type.encode()), *_SAFETY_HEADERS]
    else:
        length = b"%d" % len(content)
        pairs = [(b"content-type", media_type.encode()), (b"content-length", length), *_SAFETY_HEADERS]
    if headers:
        if "cache-control" in headers:
            pairs.remove(_NO_STORE)
        pairs += [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    if is_stream:
        await _stream(content, receive, send)
    elif len(content) > SLICE:
        await _send_slices(content, send)
    last = b"" if is_stream or len(content) > SLICE or scope["method"] == "HEAD" else content
    await send({"type": "http.response.body", "body": last, "more_body": False})


async def _send_slices(content: bytes, send: Send) -> None:
    view = memoryview(content)
    for first in range(0, len(view), SLICE):
        await send({"type": "http.response.body", "body": view[first : first + SLICE], "more_body": True})


async def _stream(chunks: AsyncGenerator[bytes, None], receive: Receive, send: Send) -> None:
    """Send chunks until the last one, or until the client disconnects."""
    disconnected = asyncio.create_task(_wait_for_disconnect(receive))
    try:
        async with aclosing(chunks):
            async for chunk in chunks:
                if disconnected.done():
                    break
                await _send_slices(chunk, send)
    finally:
        disconnected.cancel()
        with suppress(asyncio.CancelledError):
            await disconnected


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
