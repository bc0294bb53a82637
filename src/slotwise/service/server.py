"""The server: granian, in this process, until a signal ends it."""

import asyncio
import gc
import logging
import signal
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from granian.constants import HTTPModes, Interfaces
from granian.server.embed import Server

from slotwise.checks import BadInput
from slotwise.service.api.route import Route
from slotwise.service.app import make_app, running

BACKLOG = 1024
GC_THRESHOLD = (10_000, 20, 20)  # objects made before the collector looks; requests leave no cycles


def free_port(host: str, port: int) -> int:
    """The port itself when it is free, any free one for 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise BadInput(f"cannot listen on {host} port {port}: {error.strerror}") from None
        return int(probe.getsockname()[1])


async def serve(path: Path, host: str, port: int, tell: Callable[[str], None], more: Sequence[Route] = ()) -> None:
    """Serve this store until SIGTERM or SIGINT; what was recommended until then is committed."""
    port = free_port(host, port)
    logging.getLogger("_granian").setLevel(logging.ERROR)
    async with running(path) as service:
        server = Server(
            make_app(service, more),
            address=host,
            port=port,
            interface=Interfaces.ASGINL,
            http=HTTPModes.http1,
            websockets=False,
            backlog=BACKLOG,
            log_enabled=False,
        )
        gc.freeze()  # what was imported stays: the collector need not look at it again and again
        gc.set_threshold(*GC_THRESHOLD)
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        serving = asyncio.create_task(server.serve())
        shown = f"[{host}]" if ":" in host else host
        tell(f"slotwise serves on http://{shown}:{port}")
        ended, _ = await asyncio.wait([serving, asyncio.create_task(stop.wait())], return_when=asyncio.FIRST_COMPLETED)
        if serving not in ended:
            tell("stopping")
            server.stop()  # type: ignore[no-untyped-call]
            await serving
        else:
            serving.result()
