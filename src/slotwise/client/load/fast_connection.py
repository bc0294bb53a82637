"""FastConnection: HTTP/1.1 on an asyncio protocol, for very many requests.

It implements only the subset of HTTP that a slotwise service uses. A general client library (aiohttp) takes three times
as long per request. If the load generator were the bottleneck, it would not measure the service.
"""

import asyncio

from slotwise.client.address import ServiceAddress


class ConnectionLost(Exception):
    """The connection could not be opened, or broke before the response was complete."""


class FastConnection:
    """Sends requests to one service, one at a time. The connection stays open and is reopened after a failure."""

    def __init__(self, address: ServiceAddress, key: str | None = None) -> None:
        self._address, self._key = address, key
        self._protocol: _ResponseProtocol | None = None
        self._heads: dict[str, bytes] = {}

    async def open(self) -> "_ResponseProtocol":
        """Connect, unless the connection is open."""
        if self._protocol is None or self._protocol.transport.is_closing():
            loop, address = asyncio.get_running_loop(), self._address
            try:
                _, self._protocol = await loop.create_connection(
                    _ResponseProtocol, address.host, address.port, ssl=address.secure or None
                )
            except OSError as error:
                raise ConnectionLost(error.strerror or str(error)) from None
        return self._protocol

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request. Returns the status and the body of the response."""
        protocol = await self.open()
        protocol.response = asyncio.get_running_loop().create_future()
        protocol.transport.write(b"%s%d\r\n\r\n%s" % (self._head(path), len(body), body))
        try:
            return await protocol.response
        except BaseException:
            protocol.transport.abort()  # a late response must not be mistaken for the response to the next request
            raise

    def close(self) -> None:
        if self._protocol is not None:
            self._protocol.transport.abort()

    def _head(self, path: str) -> bytes:
        """The request head up to the value of Content-Length."""
        if path not in self._heads:
            lines = [
                f"POST {self._address.prefix}{path} HTTP/1.1",
                f"Host: {self._address.host_header}",
                "Content-Type: application/json",
                *([f"Authorization: Bearer {self._key}"] if self._key else []),
                "Content-Length: ",
            ]
            self._heads[path] = "\r\n".join(lines).encode()
        return self._heads[path]


class _ResponseProtocol(asyncio.Protocol):
    """Collects the bytes of a response and completes `response` with its status and body."""

    transport: asyncio.Transport
    response: "asyncio.Future[tuple[int, bytes]] | None" = None

    def __init__(self) -> None:
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, _: Exception | None) -> None:
        self._fail("the connection was closed")

    def data_received(self, data: bytes) -> None:
        self._buffer = buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        length = _content_length(buffer[:end])
        if length is None:
            self._fail("a response without Content-Length")
        elif len(buffer) >= end + 4 + length:
            self._buffer = b""
            if self.response is not None and not self.response.done():
                self.response.set_result((int(buffer[9:12]), buffer[end + 4 : end + 4 + length]))

    def _fail(self, reason: str) -> None:
        if self.response is not None and not self.response.done():
            self.response.set_exception(ConnectionLost(reason))


def _content_length(head: bytes) -> int | None:
    at = head.lower().find(b"\r\ncontent-length:")
    if at < 0 or not head.startswith(b"HTTP/1."):
        return None
    text = head[at + 17 :].partition(b"\r\n")[0].strip()
    return int(text) if text.isdigit() else None
