"""The server. It runs uvicorn in this process until a signal stops it."""

import asyncio
import logging
import signal
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from slotwise.extras import require
from slotwise.service.api.route import Route
from slotwise.service.errors import StoreDown
from slotwise.service.garbage_collection import collecting_in_background
from slotwise.service.http.access.access import Access, DevAccess, OpenAccess
from slotwise.service.http.access.forwarding import TrustedProxies
from slotwise.service.http.access.key_access import key_access
from slotwise.service.http.app import make_app, make_metrics_app
from slotwise.service.http.connection import HEAD_SECONDS, Connection, ConnectionConfig
from slotwise.service.http.listeners import BACKLOG, Network, address_of, bind
from slotwise.service.http.network_settings import network_of
from slotwise.service.http.rejections import Rejections
from slotwise.service.http.reload import Reloader
from slotwise.service.http.workers import bound, is_replacement, parent_ended, worker
from slotwise.service.log_output import configure_log
from slotwise.service.loopback import LOOPBACK
from slotwise.service.malloc_arenas import limit_arenas
from slotwise.service.service import Resources, Service, running
from slotwise.service.settings import Settings

ACCEPTED_AT_ONCE = 16  # connections that asyncio accepts before it handles the first one
KEEP_ALIVE_SECONDS = 75  # longer than in most proxies, so that the proxy closes idle connections
COMPILE_NOTICE_SECONDS = 2.0  # the service reports that it compiles if this takes longer
STORE_CHECK_SECONDS = 0.5  # the pause after a failed test write, before the service is ready
SWITCH_SECONDS = 0.0005  # how long the writer's thread may keep the GIL while the event loop waits for it
TLS_CLOSE_SECONDS = 1.0  # an idle client may not read, and so not see that the server closes the TLS connection
SHUTDOWN_SECONDS = 5.0  # the default time that requests in progress get when the service stops


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Like uvicorn's method, but with limits of the times to open and to close a TLS connection."""
        loop, self.servers, context = asyncio.get_running_loop(), [], self.config.ssl
        for listener in sockets or []:
            accepting = await loop.create_server(
                lambda: Connection(self.config, self.server_state, {}),
                sock=listener,
                ssl=context,
                backlog=ACCEPTED_AT_ONCE,
                ssl_handshake_timeout=None if context is None else HEAD_SECONDS,
                ssl_shutdown_timeout=None if context is None else TLS_CLOSE_SECONDS,
            )
            self.servers.append(accepting)
            listener.listen(BACKLOG)  # asyncio uses one number for both the backlog and ACCEPTED_AT_ONCE
        self.started = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # `_serve_until_stopped` handles signals


@asynccontextmanager
async def listening(
    app: ASGIApp,
    listener: socket.socket,
    proxies: TrustedProxies | None = None,
    tls: ssl.SSLContext | None = None,
    shutdown_seconds: float = SHUTDOWN_SECONDS,
    rejections: Rejections | None = None,
) -> AsyncIterator["asyncio.Task[None]"]:
    """Serve an application on a socket until the block ends. The task ends earlier only if the server fails.

    At the end, the server stops accepting connections and requests, and finishes those in progress.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    config = ConnectionConfig(
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
        timeout_graceful_shutdown=shutdown_seconds,  # type: ignore[arg-type]
    )
    config.load()
    config.proxies, config.ssl, config.rejections = proxies, tls, rejections
    server = _Server(config)
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield serving
    finally:
        server.should_exit = True
        await serving


async def serve(
    settings: Settings,
    report: Callable[[str], None],
    extra_routes: Sequence[Route[Any]] = (),
    reread: Callable[[], Settings] | None = None,
) -> None:
    """Serve a store until SIGTERM or SIGINT. Then finish the requests in progress, and commit every issued display.

    `report` is called with each line about the progress. SIGHUP calls `reread`, and applies what can change.
    """
    limit_arenas()
    configure_log(settings.log_level, settings.log_format)
    if settings.traces:
        require("otel", "--traces")
    network = network_of(settings)
    tls = network.tls.context() if network.tls else None
    resources = Resources(settings.refresh_share, 1e6 * settings.memory)
    with bound(network) as listener, _bound_metrics(network) as metrics, ExitStack() as stack:
        async with (
            running(settings.store, seed=settings.seed, resources=resources) as service,
            _access(service, settings) as access,
        ):
            stack.enter_context(collecting_in_background())
            reloader = Reloader(settings, reread or (lambda: settings), service, tls, report)
            stop = _handle_signals(reloader)
            reporting = asyncio.create_task(_report_when_ready(service, report))
            if worker() is not None:
                stack.enter_context(_stopping_with_parent(stop))
            app = stack.enter_context(_traced(make_app(service, access, extra_routes), service, settings))
            rejections = Rejections(service.metrics)
            if tls is not None:
                rejections.watch_handshakes(tls)
            if is_replacement():
                await _wait(asyncio.create_task(_wait_until_compiled(service)), stop)
            async with (
                listening(app, listener, network.proxies, tls, settings.shutdown_seconds, rejections) as serving,
                _serving_metrics(service, metrics),
            ):
                if worker() is None:
                    report(f"slotwise serves on {address_of(listener, tls is not None)}")
                if metrics is not None:
                    report(f"metrics are on {address_of(metrics)}/metrics")
                await _wait(serving, stop)
                service.stopping.set()
                if stop.is_set():
                    report("stopping")
            reporting.cancel()


async def _wait_until_compiled(service: Service) -> None:
    await service.compiled.wait()


@contextmanager
def _stopping_with_parent(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` if the process that started this worker ends."""
    waiting = asyncio.create_task(parent_ended())
    waiting.add_done_callback(lambda ended: None if ended.cancelled() else stop.set())
    try:
        yield
    finally:
        waiting.cancel()


@contextmanager
def _traced(app: ASGIApp, service: Service, settings: Settings) -> Iterator[ASGIApp]:
    """The application with traces, if the settings ask for them."""
    if not settings.traces:
        yield app
        return
    from slotwise.service.http.traces import TracedApp, exporting_tracer, trace_commits

    with exporting_tracer() as tracer:
        trace_commits(service, tracer)
        yield TracedApp(app, tracer)


@asynccontextmanager
async def _access(service: Service, settings: Settings) -> AsyncIterator[Access]:
    if settings.dev:
        yield DevAccess()
    else:
        async with key_access(service, settings.store) as access:
            yield access


@asynccontextmanager
async def _serving_metrics(service: Service, listener: socket.socket | None) -> AsyncIterator[None]:
    if listener is None:
        yield
        return
    access = DevAccess() if listener.getsockname()[0] in LOOPBACK else OpenAccess()
    async with listening(make_metrics_app(service, access), listener):
        yield


@contextmanager
def _bound_metrics(network: Network) -> Iterator[socket.socket | None]:
    if network.metrics_port is None:
        yield None
        return
    port = network.metrics_port and network.metrics_port + (worker() or 0)  # each worker has a port of its own
    with bind(network.metrics_host, port, "--metrics-port") as listener:
        yield listener


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


def _handle_signals(reloader: Reloader) -> asyncio.Event:
    """Prepare the process for serving. The event is set when the service must stop."""
    sys.setswitchinterval(SWITCH_SECONDS)
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, reloader.reload)
    return stop


async def _wait(serving: "asyncio.Task[None]", stop: asyncio.Event) -> None:
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait([serving, stopped], return_when=asyncio.FIRST_COMPLETED)
