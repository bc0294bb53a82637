"""One HTTP connection: uvicorn's protocol on httptools, with limits and with errors as problem+json.

This class corrects the following behaviour of uvicorn's own protocol:
- It waits without limit for the end of a request head, and accepts a head of any size.
- It reports parser errors as plain text, and does so in the middle of an earlier response.
- It waits without limit for a client that does not read its responses.
- It drops a request if the client then closes its sending side, as `nc -N` does.
- It treats trailers as headers.
- It ignores the body of a request that offers a protocol upgrade.
- It fails, and logs a traceback, if the target of a request has no path.
"""

import asyncio
import resource
from inspect import CORO_CREATED, getcoroutinestate

import httptools
import uvicorn
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from slotwise.service.http.access.forwarding import TrustedProxies
from slotwise.service.http.problems import MEDIA_TYPE, Problem
from slotwise.service.http.rejections import Rejections

HEAD_SECONDS = 10.0  # the time in which the request line and the headers must arrive
MAX_HEAD_BYTES = 64 << 10  # limits the request line, the headers, and anything else outside a body, such as trailers
WRITE_SECONDS = 20.0  # the time in which a client must read a part of what waits to be sent
FIRST_REQUEST_SECONDS = 0.5  # how long a server that stops waits for the first request of a connection
RESERVED_FILES = 100  # file descriptors for everything except connections: the store and its readers
_WHY_REJECTED = {  # for the log, so without anything that the client sent
    408: "no complete head of a request arrived in time",
    431: "the head of a request is too large",
    503: "there are too many connections",
}
_UPGRADE_HEADERS = (b"connection", b"upgrade", b"http2-settings")


class ConnectionConfig(uvicorn.Config):
    """The configuration of a server, with the proxies that it trusts, and what counts rejected connections."""

    proxies: TrustedProxies | None = None
    rejections: Rejections | None = None


class Connection(HttpToolsProtocol):
    """One connection. Uvicorn creates an object of this class for every connection that it accepts."""

    _proxies: TrustedProxies | None = None  # if the connection comes from one of them
    _head_timer: asyncio.TimerHandle | None = None  # runs while a head is awaited
    _write_timer: asyncio.TimerHandle | None = None  # runs while a client does not read
    _in_head = False
    _is_ending = False  # the server stops
    _received = 0  # bytes that arrived last
    _head_bytes = 0  # at least the size of the current head: all data with a piece of it
    _bytes_outside_bodies = 0  # since the last head or chunk of a body ended
    _rejection: Problem | None = None  # sent after the responses to earlier requests; nothing more is read
    _running: RequestResponseCycle | None = None  # the latest request whose task was started
    _task: "asyncio.Task[None] | None" = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_head_timer()
        proxies = getattr(self.config, "proxies", None)
        if proxies is not None and proxies.trusts(self.client[0] if self.client else None):
            self._proxies = proxies
        if len(self.connections) > resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES:
            self._reject(Problem(503, "there are too many connections"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self._stop_write_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._rejection is not None:
            return
        self._received = len(data)
        self._bytes_outside_bodies += len(data)
        if self._in_head:
            self._head_bytes += len(data)
        rest = memoryview(data)
        try:
            while rest:
                rest = self._feed(rest)
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, Problem):
                raise
            self._reject(error.__context__)
        except httptools.HttpParserError as error:
            self._reject(Problem(400, f"the request is not valid HTTP/1.1: {error}"))
        else:
            if self._in_head:  # most heads arrive whole and need no timer
                self._start_head_timer()
            if self._bytes_outside_bodies > MAX_HEAD_BYTES:
                self._reject(_head_too_large())

    def eof_received(self) -> bool:  # type: ignore[override]
        """The client sends nothing more. Respond to its requests, then close the connection."""
        if self._in_head or (self.cycle is not None and self.cycle.more_body):
            self._reject(Problem(400, "the connection was closed before the end of the request"))
        elif not self._is_idle():
            self.cycle.keep_alive = False
        stays_open = not self._is_idle() or self._rejection is not None
        return stays_open and self.scheme == "http"  # asyncio cannot close one side of a TLS connection

    def on_message_begin(self) -> None:
        self._unset_keepalive_if_required()  # not in data_received: an empty line must not keep a connection open
        super().on_message_begin()
        self._in_head, self._head_bytes = True, self._received

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are ignored, because they could contradict headers that were checked, such as Host
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head, self._bytes_outside_bodies = False, 0
        self._unset_keepalive_if_required()
        self._stop_head_timer()
        if self._head_bytes > MAX_HEAD_BYTES and self._exact_head_bytes() > MAX_HEAD_BYTES:
            self._in_head = True  # no cycle belongs to this head
            raise _head_too_large()
        if not self.url.startswith(b"/") or self.parser.get_method() == b"CONNECT":
            self._check_target()
        if self._proxies is not None:
            self._read_forwarded(self._proxies)
        if not self._offers_upgrade():
            super().on_headers_complete()
            if self._is_ending:
                self.cycle.keep_alive = False

    def on_body(self, body: bytes) -> None:
        self._bytes_outside_bodies = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._bytes_outside_bodies = 0
        if not self._offers_upgrade():
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._rejection is not None and self._is_idle():
            self._send_rejection(self._rejection)
        elif self.transport.is_closing():
            self._abort_unless_read()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_unless_read()

    def shutdown(self) -> None:
        """End the connection after the requests in progress. A client that has just connected may send its first."""
        self._is_ending = True
        if self.cycle is None:
            self.loop.call_later(FIRST_REQUEST_SECONDS, self._end_if_silent)
        else:
            super().shutdown()
            self._abort_unless_read()

    def _end_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def _abort_unless_read(self) -> None:
        """Limit how long a closed connection waits for a client that does not read the rest."""
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self._start_write_timer()

    def _start_write_timer(self) -> None:
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(WRITE_SECONDS, self.transport.abort)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running, self._task = cycle, (task := self.loop.create_task(cycle.run_asgi(app)))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def _read_forwarded(self, proxies: TrustedProxies) -> None:
        """Replace the address and the scheme of the proxy by those of its client."""
        address = proxies.client(b",".join(value for name, value in self.headers if name == b"x-forwarded-for"))
        if address is not None:
            self.scope["client"] = (address, 0)
        for name, value in self.headers:
            if name == b"x-forwarded-proto" and value in (b"http", b"https"):
                self.scope["scheme"] = value.decode()

    def _check_target(self) -> None:
        """Raise Problem if the target of the request, such as `http://host/path`, has no path."""
        try:
            path = None if self.parser.get_method() == b"CONNECT" else httptools.parse_url(self.url).path
        except httptools.HttpParserInvalidURLError:
            path = None
        if path is None:
            self._in_head = True  # no cycle belongs to this head
            raise Problem(400, "the target of the request has no path, and this service is not a proxy")

    def _exact_head_bytes(self) -> int:
        line = len(self.parser.get_method()) + len(self.url) + len(b"  HTTP/1.1\r\n")
        return line + sum(len(name) + len(value) + len(b": \r\n") for name, value in self.headers)

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
        return not self.pipeline and (self._running is None or self._running.response_complete)

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
        """Stop reading, respond to the earlier requests, then send the problem and close the connection."""
        self._stop_head_timer()
        if self._rejection is not None or self.transport.is_closing():
            return
        self._rejection = problem
        self._count_rejection(problem)
        self.flow.pause_reading()
        cycle = self.cycle
        if not self._in_head and cycle is not None and cycle.more_body:  # the body of this request is malformed
            if cycle.response_complete:
                self.transport.close()
            elif self.pipeline and self.pipeline[0][0] is cycle:
                self.pipeline.popleft()
                self.cycle = self._running  # type: ignore[assignment]
            elif cycle.response_started:
                cycle.keep_alive = False
            else:
                self._abandon(cycle)
        if self._is_idle():
            self._send_rejection(problem)

    def _count_rejection(self, problem: Problem) -> None:
        rejections = getattr(self.config, "rejections", None)
        if rejections is not None:
            rejections.count(
                str(problem.status), _WHY_REJECTED.get(problem.status, "the request is not valid HTTP/1.1")
            )

    def _abandon(self, cycle: RequestResponseCycle) -> None:
        """Ignore the response of a running request. A task that has not started yet does nothing."""
        cycle.disconnected = True
        cycle.message_event.set()
        self._running = None
        if self._task is not None and getcoroutinestate(self._task.get_coro()) == CORO_CREATED:  # type: ignore[arg-type]
            self._task.cancel()

    def _send_rejection(self, problem: Problem) -> None:
        if not self.transport.is_closing():
            content = problem.content()
            headers = {"content-type": MEDIA_TYPE, "content-length": len(content), "connection": "close"}
            lines = [f"{name}: {value}\r\n" for name, value in {**headers, **problem.headers}.items()]
            self.transport.write(STATUS_LINE[problem.status] + "".join(lines).encode() + b"\r\n" + content)
            self.transport.close()
            self._abort_unless_read()


def _head_too_large() -> Problem:
    return Problem(431, f"the request line and headers exceed {MAX_HEAD_BYTES:,} bytes")
