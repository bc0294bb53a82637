"""One connection: the HTTP of uvicorn and httptools, with the patience and the words of this service.

The library waits for ever for a head that does not end, however long it grows, and says in plain text what is wrong. It
takes the headers after a body for those before it, and the body of a request that offers an upgrade for no part of it.
"""

import asyncio
import resource

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from slotwise.service.http.problems import MEDIA_TYPE, Problem

HEAD_SECONDS = 10.0  # for a request's line and headers to arrive
MOST_HEAD = 64 << 10  # bytes of them, and of whatever else is no body
SPARE_FILES = 100  # that the process may open beside its connections: the store, and those who read it
_OFFERS = (b"connection", b"upgrade", b"http2-settings")  # headers


class Connection(HttpToolsProtocol):
    """Made by the server for everyone who calls."""

    _patience: asyncio.TimerHandle | None = None  # while a head is awaited
    _begun = False  # a head
    _read = 0  # bytes since a head or a piece of a body ended

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(transport)
        self._wait_for_head()
        if len(self.connections) > resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_FILES:
            self._refuse(Problem(503, "there are too many connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self._end_patience()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on. Most requests arrive whole, and need no clock."""
        self._read += len(data)
        rest = memoryview(data)
        try:
            while rest:
                rest = self._feed(rest)
        except httptools.HttpParserError as error:
            spoke_http = self.cycle is not None or data.partition(b" ")[0].isalpha()
            if isinstance(error, httptools.HttpParserInvalidMethodError) and spoke_http:
                self._refuse(Problem(501, "there is no such method"))
            else:
                self._refuse(Problem(400, "this is not a request in HTTP/1.1"))
        else:
            if self._begun:
                self._wait_for_head()
            if self._read > MOST_HEAD:
                self._refuse(Problem(431, f"the line and headers of a request may have {MOST_HEAD:,} bytes"))

    def on_message_begin(self) -> None:
        """A head begins; nothing else that comes keeps an idle connection open."""
        self._unset_keepalive_if_required()
        super().on_message_begin()
        self._begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers. Those that come after a body are not of the head: they could belie it."""
        if self._begun:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """It has ended."""
        self._begun, self._read = False, 0
        self._unset_keepalive_if_required()
        self._end_patience()
        if not self._offers_upgrade():
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._read = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request has ended."""
        self._read = 0
        if not self._offers_upgrade():
            super().on_message_complete()

    def _offers_upgrade(self) -> bool:
        return bool(self.parser.should_upgrade()) and self.parser.get_method() != b"CONNECT"

    def _feed(self, data: memoryview) -> memoryview:
        """Let the parser read; what it left.

        After a head that offers another protocol it sees no body: such a head is read again without the offer.
        """
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            line = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
            headers = [b"%s: %s" % pair for pair in self.headers if pair[0] not in _OFFERS]
            self.parser = httptools.HttpRequestParser(self)
            self.parser.feed_data(b"\r\n".join([line, *headers, b"", b""]))
            return data[offer.args[0] :]
        return data[len(data) :]

    def _idle(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self._send_away)

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _send_away(self) -> None:
        self._end_patience()
        if self._idle():
            self._refuse(Problem(408, f"the line and headers of a request did not arrive in {HEAD_SECONDS:g} seconds"))
        else:
            self._wait_for_head()  # reading may have stopped until the request before this one is answered

    def _refuse(self, problem: Problem) -> None:
        self._end_patience()
        if not self._idle() or (self.cycle is not None and not self._begun):
            self.transport.close()  # nothing is written into the middle of an answer, or after all answers
        elif not self.transport.is_closing():
            content = problem.body()
            headers = {"content-type": MEDIA_TYPE, "content-length": len(content), "connection": "close"}
            lines = [f"{name}: {value}\r\n" for name, value in {**headers, **problem.headers}.items()]
            self.transport.write(STATUS_LINE[problem.status] + "".join(lines).encode() + b"\r\n" + content)
            self.transport.close()
