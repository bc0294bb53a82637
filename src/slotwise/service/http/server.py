"""The server. It runs uvicorn in this process until a signal stops it."""

import asyncio
import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from slotwise.checks import BadInput
from slotwise.service.api.route import Route
from slotwise.service.errors import StoreDown
from slotwise.service.http.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.http.connection import Connection
from slotwise.service.service import DEFAULT_RESOURCES, Resources, Service, running

BACKLOG = 1024  # connections that wait to be accepted
ACCEPTED_AT_ONCE = 16  # connections that asyncio accepts before it handles the first one
KEEP_ALIVE_SECONDS = 75  # longer than in most proxies, so that the proxy closes idle connections
COMPILE_NOTICE_SECONDS = 2.0  # the service reports that it compiles if this takes longer
STORE_CHECK_SECONDS = 0.5  # the pause after a failed test write, before the service is ready
SHUTDOWN_SECONDS = 5  # the time that requests in progress get when the service stops
SWITCH_SECONDS = 0.0005  # how long the writer's thread may keep the GIL while the event loop waits for it
GC_THRESHOLD = (10_000, 20, 20)  # collections are rare, because requests leave no cycles


def bind(host: str, port: int) -> socket.socket:
    """A listening socket on this port. Port 0 selects a free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol of the socket is given; without it, small responses are delayed
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        hint = "; --port 0 takes a free one" if error.errno == errno.EADDRINUSE else ""
        raise BadInput(f"cannot listen on {host} port {port}: {error.strerror}{hint}") from None
    return listener


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listener in sockets or []:
            listener.listen(BACKLOG)  # asyncio uses one number for both the backlog and ACCEPTED_AT_ONCE

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # `_serve_until_stopped` handles signals


@asynccontextmanager
async def listening(app: ASGIApp, listener: socket.socket) -> AsyncIterator["asyncio.Task[None]"]:
    """Serve an application on a socket until the block ends. The task ends earlier only if the server fails."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        interface="asgi3",
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield serving
    finally:
        server.should_exit = True
        await serving


async def serve(
    path: Path,
    host: str,
    port: int,
    report: Callable[[str], None],
    extra_routes: Sequence[Route[Any]] = (),
    seed: int | None = None,
    resources: Resources = DEFAULT_RESOURCES,
) -> None:
    """Serve this store until SIGTERM or SIGINT. Then commit every issued display.

    `report` is called with each line about the progress.
    """
    with bind(host, port) as listener:
        async with running(path, seed=seed, resources=resources) as service:
            reporting = asyncio.create_task(_report_when_ready(service, report))
            await _serve_until_stopped(make_app(service, DevAccess(), extra_routes), listener, report)
            reporting.cancel()


async def _report_when_ready(service: Service, report: Callable[[str], None]) -> None:
    try:
        await asyncio.wait_for(service.compiled.wait(), COMPILE_NOTICE_SECONDS)
    except TimeoutError:
        report("compiling, once on this machine; /readyz says how far it is")
        await service.compiled.wait()
    await _wait_for_store(service, report)
    report("ready; /docs describes the HTTP interface, Ctrl-C stops the service")


async def _wait_for_store(service: Service, report: Callable[[str], None]) -> None:
    """Wait until the store can be written."""
    is_reported = False
    while True:
        try:
            return await service.check_store()
        except StoreDown as down:
            if not is_reported:
                report(f"not ready: {down.detail}")
            is_reported = True
            await asyncio.sleep(STORE_CHECK_SECONDS)


async def _serve_until_stopped(app: ASGIApp, listener: socket.socket, report: Callable[[str], None]) -> None:
    gc.freeze()  # imported modules stay in memory, so the collector need not visit them again
    gc.set_threshold(*GC_THRESHOLD)
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with listening(app, listener) as serving:
        host, port, *_ = listener.getsockname()
        url_host = f"[{host}]" if ":" in host else host
        report(f"slotwise serves on http://{url_host}:{port}")
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        if stopped.done():
            report("stopping")
