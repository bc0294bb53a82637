"""Responses as ASGI messages: whole, streamed, and without a body."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from slotwise.service.api.route import Response
from slotwise.service.http.send_response import send_response


def sent(
    response: Response, method: str = "GET", disconnect_after: int | None = None
) -> tuple[dict[bytes, bytes], Any]:
    """The headers, and the bodies in the order they were sent."""
    messages: list[dict[str, Any]] = []
    disconnected = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)
        if disconnect_after is not None and len(messages) > disconnect_after:
            disconnected.set()
        await asyncio.sleep(0)

    asyncio.run(send_response(response, {"method": method}, receive, send))
    start, *bodies = messages
    assert [message["more_body"] for message in bodies] == [True] * (len(bodies) - 1) + [False]
    return dict(start["headers"]), [message["body"] for message in bodies]


@pytest.mark.parametrize(("method", "body"), [("GET", b"{}"), ("HEAD", b"")])
def test_head_has_the_headers_without_the_body(method: str, body: bytes) -> None:
    headers, bodies = sent(Response(200, b"{}", {"etag": '"1"'}), method)
    assert bodies == [body]
    assert headers[b"content-length"] == b"2"
    assert headers[b"content-type"] == b"application/json"
    assert headers[b"etag"] == b'"1"'
    assert headers[b"x-content-type-options"] == b"nosniff"


def test_no_content_has_no_length_and_no_type() -> None:
    headers, bodies = sent(Response(204))
    assert bodies == [b""]
    assert headers.keys().isdisjoint({b"content-length", b"content-type"})


class Chunks:
    """A stream that counts the chunks that were read from it."""

    def __init__(self) -> None:
        self.taken, self.closed = 0, False

    async def stream(self) -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(1000):
                self.taken += 1
                yield b"x"
        finally:
            self.closed = True


def test_a_stream_is_sent_chunk_by_chunk_without_a_length() -> None:
    chunks = Chunks()
    headers, bodies = sent(Response(200, chunks.stream(), media_type="application/x-ndjson"))
    assert b"".join(bodies) == b"x" * 1000
    assert headers[b"content-type"] == b"application/x-ndjson"
    assert b"content-length" not in headers


def test_a_stream_ends_when_the_client_disconnects() -> None:
    chunks = Chunks()
    sent(Response(200, chunks.stream()), disconnect_after=5)
    assert chunks.taken < 10
    assert chunks.closed
