"""Read the body of a request, and check its media type, its size, and how long it takes to arrive."""

import asyncio

from starlette.types import Message, Receive

from slotwise.service.http.problems import Problem
from slotwise.service.http.shared_timeout import SharedTimeout

TIMEOUT_SECONDS = 10.0  # within this time, the whole body must arrive
MOST_HELD = 256 << 20  # bytes of incomplete bodies in memory, over all connections
MAX_DRAINED = 64 << 20  # bytes of a too large body that are read at most; then the connection is closed


class BodyReader:
    """Reads the bodies of one route."""

    held = 0  # bytes of incomplete bodies, over all routes

    def __init__(self, media_types: tuple[str, ...], max_bytes: int) -> None:
        self._media_types, self._max_bytes = media_types, max_bytes
        self._exact_media_types = {name.encode() for name in media_types}  # most clients send exactly one of these
        self._timeout = SharedTimeout(TIMEOUT_SECONDS)

    async def read(self, receive: Receive, headers: dict[bytes, bytes]) -> bytes:
        """Read the whole body. Raises a Problem with status 400, 408, 413 or 415 if the body is not acceptable."""
        length = headers.get(b"content-length", b"0")
        if len(length) > 7 and length.isdigit() and int(length) > MAX_DRAINED:
            raise self._too_large()
        task = self._timeout.start()
        try:
            message = await receive()
            content: bytes = message.get("body", b"")
            is_complete = message["type"] == "http.request" and not message.get("more_body", False)
            if not is_complete or len(content) > self._max_bytes:  # most bodies arrive in one message
                content = await self._receive_rest(message, receive)
        except asyncio.CancelledError:
            if self._timeout.stop(task):
                raise  # cancelled by the server
            task.uncancel()
            detail = f"the body did not arrive within {TIMEOUT_SECONDS:g} seconds"
            raise Problem(408, detail, headers={"connection": "close"}) from None
        finally:
            self._timeout.stop(task)
        if content and headers.get(b"content-type") not in self._exact_media_types:
            check_media_type(headers.get(b"content-type", b""), self._media_types)
        return content

    async def _receive_rest(self, message: Message, receive: Receive) -> bytes:
        """Read the rest of a body that starts with this message.

        A body that is too large is also read to its end. If the connection were closed while the client still sends,
        the client would not see the response.
        """
        chunks, size = [], 0
        try:
            while True:
                if message["type"] == "http.disconnect":
                    raise Problem(400, "the connection was closed before the end of the body")
                chunk = message.get("body", b"")
                size += len(chunk)
                if size <= self._max_bytes:
                    chunks.append(chunk)
                    BodyReader.held += len(chunk)
                if BodyReader.held > MOST_HELD:
                    raise Problem(503, "too many large bodies arrive at once", headers={"connection": "close"})
                if size > MAX_DRAINED or not message.get("more_body", False):
                    break
                message = await receive()
        finally:
            BodyReader.held -= sum(map(len, chunks))
        if size > self._max_bytes:
            raise self._too_large()
        return b"".join(chunks)

    def _too_large(self) -> Problem:
        return Problem(413, f"the body is larger than {self._max_bytes:,} bytes", headers={"connection": "close"})


def check_media_type(content_type: bytes, allowed: tuple[str, ...]) -> None:
    """Raise a Problem if a Content-Type header names none of these media types."""
    media_type = content_type.decode("latin-1").partition(";")[0].strip().lower()
    if media_type not in allowed:
        raise Problem(415, f"the Content-Type {media_type!r} is not {' or '.join(allowed)}")
