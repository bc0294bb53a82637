"""One connection: the HTTP of uvicorn and httptools, with the patience and the words of this service.

The library waits for ever for a head that does not end, however long it grows, and says in plain text what is wrong.
"""

import asyncio

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from slotwise.service.problems import MEDIA_TYPE, Problem

HEAD_SECONDS = 10.0  # for a request's line and headers to arrive
MOST_HEAD = 64 << 10  # bytes of them that come after the first ones


class Connection(HttpToolsProtocol):
    """Made by the server for everyone who calls."""

    _patience: asyncio.TimerHandle | None = None  # while a head is awaited
    _begun = False  # a head
    _more = 0  # bytes of it that came after its first ones

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody calls."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """They have gone."""
        self._end_patience()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on. Most requests arrive whole, and need no clock."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # to what is not offered: the request is answered like any other
        except httptools.HttpParserError as error:
            if isinstance(error, httptools.HttpParserInvalidMethodError) and data.partition(b" ")[0].isalpha():
                self._refuse(Problem(501, "there is no such method"))
            else:
                self._refuse(Problem(400, "this is not a request in HTTP/1.1"))
        else:
            if self._begun:
                self._more += len(data) if self._patience is not None else 0
                self._wait_for_head()
                if self._more > MOST_HEAD:
                    self._refuse(Problem(431, f"the line and headers of a request may have {MOST_HEAD:,} bytes"))

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        self._begun = True

    def on_headers_complete(self) -> None:
        """It has ended."""
        self._begun = False
        self._end_patience()
        super().on_headers_complete()

    def _wait_for_head(self) -> None:
        if self._patience is None:
            self._patience = self.loop.call_later(HEAD_SECONDS, self._send_away)

    def _end_patience(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience, self._more = None, 0

    def _send_away(self) -> None:
        self._refuse(Problem(408, f"the line and headers of a request did not arrive in {HEAD_SECONDS:g} seconds"))

    def _refuse(self, problem: Problem) -> None:
        self._end_patience()
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()  # nothing is written into the middle of an answer
        elif not self.transport.is_closing():
            content = problem.body()
            head = f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(content)}\r\nconnection: close\r\n\r\n"
            self.transport.write(STATUS_LINE[problem.status] + head.encode() + content)
            self.transport.close()
