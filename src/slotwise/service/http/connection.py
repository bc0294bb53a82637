"""One HTTP connection: uvicorn's protocol on httptools, with limits and with errors as problem+json.

This class corrects the following behaviour of uvicorn's own protocol:
- It waits without limit for the end of a request head, and accepts a head of any size.
- It reports parser errors as plain text.
- It treats trailers as headers.
- It ignores the body of a request that offers a protocol upgrade.
"""

import asyncio
import resource

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from slotwise.service.http.problems import MEDIA_TYPE, Problem

HEAD_SECONDS = 10.0  # the time in which the request line and the headers must arrive
MAX_HEAD_BYTES = 64 << 10  # limits the request line, the headers, and anything else outside a body, such as trailers
RESERVED_FILES = 100  # file descriptors for everything except connections: the store and its readers
_UPGRADE_HEADERS = (b"connection", b"upgrade", b"http2-settings")


class Connection(HttpToolsProtocol):
    """One connection. Uvicorn creates an object of this class for every connection that it accepts."""

    _head_timer: asyncio.TimerHandle | None = None  # runs while a head is awaited
    _in_head = False
    _bytes_outside_bodies = 0  # since the last head or chunk of a body ended

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()
        if len(self.connections) > resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES:
            self._reject(Problem(503, "there are too many connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes_outside_bodies += len(data)
        rest = memoryview(data)
        try:
            while rest:
                rest = self._feed(rest)
        except httptools.HttpParserError as error:
            is_http = self.cycle is not None or data.partition(b" ")[0].isalpha()
            if isinstance(error, httptools.HttpParserInvalidMethodError) and is_http:
                self._reject(Problem(501, "there is no such method"))
            else:
                self._reject(Problem(400, "this is not an HTTP/1.1 request"))
        else:
            if self._in_head:  # most heads arrive whole and need no timer
                self._start_head_timer()
            if self._bytes_outside_bodies > MAX_HEAD_BYTES:
                self._reject(Problem(431, f"the request line and headers exceed {MAX_HEAD_BYTES:,} bytes"))

    def on_message_begin(self) -> None:
        self._unset_keepalive_if_required()  # not in data_received: an empty line must not keep a connection open
        super().on_message_begin()
        self._in_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are ignored, because they could contradict headers that were checked, such as Host
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._bytes_outside_bodies = False, 0
        self._unset_keepalive_if_required()
        self._stop_head_timer()
        if not self._offers_upgrade():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._bytes_outside_bodies = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes_outside_bodies = 0
        if not self._offers_upgrade():
            super().on_message_complete()

    def _offers_upgrade(self) -> bool:
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _feed(self, data: memoryview) -> memoryview:
        """Feed the parser, and return the rest of the data, which it has not parsed.

        After a head that offers a protocol upgrade, the parser treats the body as data of the other protocol. To
        decline the offer, a new parser reads the same head without the offer, and then the body.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            line = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
            headers = [b"%s: %s" % pair for pair in self.headers if pair[0] not in _UPGRADE_HEADERS]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.feed_data(b"\r\n".join([line, *headers, b"", b""]))
            return data[upgrade.args[0] :]
        return data[len(data) :]

    def _is_idle(self) -> bool:
        """Whether no request waits for its response."""
        return self.cycle is None or self.cycle.response_complete

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._on_head_timeout)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        self._stop_head_timer()
        if self._is_idle():
            self._reject(Problem(408, f"the request line and headers did not arrive within {HEAD_SECONDS:g} seconds"))
        else:
            self._start_head_timer()  # uvicorn may have paused reading until the previous request is answered

    def _reject(self, problem: Problem) -> None:
        """Close the connection. First send the problem, unless it would become part of another response."""
        self._stop_head_timer()
        if not self._is_idle() or (self.cycle is not None and not self._in_head):
            self.transport.close()
        elif not self.transport.is_closing():
            content = problem.content()
            headers = {"content-type": MEDIA_TYPE, "content-length": len(content), "connection": "close"}
            lines = [f"{name}: {value}\r\n" for name, value in {**headers, **problem.headers}.items()]
            self.transport.write(STATUS_LINE[problem.status] + "".join(lines).encode() + b"\r\n" + content)
            self.transport.close()
