"""A connection to a service for very many requests: HTTP/1.1 on an asyncio protocol.

It knows just enough of HTTP to talk to a service of ours. A client library for everything (aiohttp) takes three times
as long per request, and a load that is busy with itself measures itself.
"""

import asyncio

from slotwise.client.address import Address


class Lost(Exception):
    """The connection broke, or could not be made, before the answer was there."""


class Stream:
    """Requests to one service, one at a time, over a connection that is kept, and made anew after it broke."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._wire: _Wire | None = None
        self._heads: dict[str, bytes] = {}

    async def open(self) -> "_Wire":
        """Connect, unless that is done."""
        if self._wire is None or self._wire.transport.is_closing():
            loop, to = asyncio.get_running_loop(), self._address
            try:
                _, self._wire = await loop.create_connection(_Wire, to.host, to.port, ssl=to.secure or None)
            except OSError as error:
                raise Lost(error.strerror or str(error)) from None
        return self._wire

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        wire = await self.open()
        wire.answer = asyncio.get_running_loop().create_future()
        wire.transport.write(b"%s%d\r\n\r\n%s" % (self._head(path), len(body), body))
        try:
            return await wire.answer
        except BaseException:
            wire.transport.abort()  # whatever answer is still to come must not be taken for that of the next request
            raise

    def close(self) -> None:
        """Let go of the connection."""
        if self._wire is not None:
            self._wire.transport.abort()

    def _head(self, path: str) -> bytes:
        if path not in self._heads:
            lines = [
                f"POST {self._address.prefix}{path} HTTP/1.1",
                f"Host: {self._address.host_header}",
                "Content-Type: application/json",
                "Content-Length: ",
            ]
            self._heads[path] = "\r\n".join(lines).encode()
        return self._heads[path]


class _Wire(asyncio.Protocol):
    """The connection itself."""

    transport: asyncio.Transport
    answer: "asyncio.Future[tuple[int, bytes]] | None" = None

    def __init__(self) -> None:
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._fail("the connection was closed")

    def data_received(self, data: bytes) -> None:
        self._seen = seen = self._seen + data if self._seen else data
        end = seen.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _length(seen[:end])
        if length is None:
            self._fail("an answer without a length")
        elif len(seen) >= end + 4 + length:
            self._seen = b""
            if self.answer is not None and not self.answer.done():
                self.answer.set_result((int(seen[9:12]), seen[end + 4 : end + 4 + length]))

    def _fail(self, why: str) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(Lost(why))


def _length(head: bytes) -> int | None:
    at = head.lower().find(b"\r\ncontent-length:")
    if at < 0 or not head.startswith(b"HTTP/1."):
        return None
    text = head[at + 17 :].partition(b"\r\n")[0].strip()
    return int(text) if text.isdigit() else None
