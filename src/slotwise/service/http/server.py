"""The server: uvicorn, in this process, until a signal ends it."""

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

import uvicorn

from slotwise.checks import BadInput
from slotwise.service.api.route import Route
from slotwise.service.http.app import App, make_app, running
from slotwise.service.http.connection import Connection
from slotwise.service.service import Service

BACKLOG = 1024  # callers that wait to be accepted
ACCEPTED_AT_ONCE = 16  # before the first of them is looked at, and sent away when there are too many
KEEP_ALIVE_SECONDS = 75  # longer than those of most proxies, so that it is they who hang up
PATIENT_SECONDS = 2.0  # without a word
STOP_SECONDS = 5  # for what is under way when the service is stopped
SWITCH_SECONDS = 0.0005  # the writer's thread keeps Python's lock that long at most while the event loop wants it
GC_THRESHOLD = (10_000, 20, 20)  # objects made before the collector looks; requests leave no cycles


def bind(host: str, port: int) -> socket.socket:
    """A socket on this port, any free one for 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends at once, without waiting for more, only where it is told that this is TCP
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        found.listen(BACKLOG)
    except OSError as error:
        found.close()
        hint = "; --port 0 takes a free one" if error.errno == errno.EADDRINUSE else ""
        raise BadInput(f"cannot listen on {host} port {port}: {error.strerror}{hint}") from None
    return found


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept; asyncio knows one number only for how many wait and how many it accepts at once."""
        await super().startup(sockets)
        for one in sockets or []:
            one.listen(BACKLOG)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Whoever serves listens to signals."""
        yield


@asynccontextmanager
async def listening(app: App, listener: socket.socket) -> AsyncIterator["asyncio.Task[None]"]:
    """Serve an application on a socket until the block ends; the task ends before that only when it fails."""
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
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
    tell: Callable[[str], None],
    more: Sequence[Route] = (),
    seed: int | None = None,
) -> None:
    """Serve this store until SIGTERM or SIGINT; what was recommended until then is committed."""
    with bind(host, port) as listener:
        async with running(path, seed=seed) as service:
            telling = asyncio.create_task(_tell_when_ready(service, tell))
            await _serve_until_stopped(make_app(service, more), listener, tell)
            telling.cancel()


async def _tell_when_ready(service: Service, tell: Callable[[str], None]) -> None:
    try:
        await asyncio.wait_for(service.compiled.wait(), PATIENT_SECONDS)
    except TimeoutError:
        tell("compiling, once on this machine, for about half a minute")
        await service.compiled.wait()
    tell("ready; /docs has every call, Ctrl-C ends it")


async def _serve_until_stopped(app: App, listener: socket.socket, tell: Callable[[str], None]) -> None:
    gc.freeze()  # what was imported stays: the collector need not look at it again and again
    gc.set_threshold(*GC_THRESHOLD)
    sys.setswitchinterval(SWITCH_SECONDS)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with listening(app, listener) as serving:
        host, port, *_ = listener.getsockname()
        shown = f"[{host}]" if ":" in host else host
        tell(f"slotwise serves on http://{shown}:{port}")
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
        if stopped.done():
            tell("stopping")
