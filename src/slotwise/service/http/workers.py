"""Several processes on one machine that share a port, over a store that many nodes share.

The first process opens the port and starts the others, which inherit it. Each of them is a node of its own. A process
that ends unexpectedly is started again; meanwhile, the others accept its connections.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from slotwise.checks import BadInput
from slotwise.service.http.listeners import Network, address_of, bind, bound_unix_socket

WORKER_VARIABLE, LISTENER_VARIABLE = "_SLOTWISE_WORKER", "_SLOTWISE_LISTENER"  # set for a process that is started here
REPLACEMENT_VARIABLE = "_SLOTWISE_REPLACEMENT"  # set too if the process takes the place of one that has ended
PARENT_VARIABLE = "_SLOTWISE_PARENT"  # the process id of the process that starts the workers
RESTART_SECONDS = 1.0
BAD_INPUT = 2  # the exit code of a command for invalid settings
PARENT_SECONDS = 1.0  # how often a worker looks whether the process that started it has ended
_POLL_SECONDS = 0.1


def worker() -> int | None:
    """The number of this process if another one started it as a worker."""
    number = os.environ.get(WORKER_VARIABLE)
    return None if number is None else int(number)


def is_replacement() -> bool:
    """Whether this worker takes the place of one that has ended. It accepts no connection before it is ready."""
    return REPLACEMENT_VARIABLE in os.environ


async def parent_ended() -> None:
    """Wait until the process that started this worker has ended. Only that process can stop all workers together."""
    parent = int(os.environ[PARENT_VARIABLE])
    while os.getppid() == parent:
        await asyncio.sleep(PARENT_SECONDS)


@contextmanager
def bound(network: Network) -> Iterator[socket.socket]:
    """The socket that a service listens on. A worker inherits it."""
    inherited = os.environ.get(LISTENER_VARIABLE)
    if inherited is not None:
        with socket.socket(fileno=os.dup(int(inherited))) as listener:
            yield listener
    elif network.uds is None:
        with bind(network.host, network.port) as listener:
            yield listener
    else:
        with bound_unix_socket(network.uds, network.uds_mode) as listener:
            yield listener


def run_workers(number: int, network: Network, report: Callable[[str], None]) -> None:
    """Run this command in several processes until SIGTERM or SIGINT. SIGHUP is passed on."""
    with bound(network) as listener:
        workers = [_Worker(k, listener) for k in range(number)]
        stop = threading.Event()

        def pass_on(number: int, _frame: Any) -> None:
            for each in workers:
                each.send(number)

        def end(_number: int, _frame: Any) -> None:
            stop.set()

        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, end)
        signal.signal(signal.SIGHUP, pass_on)
        report(f"{number} workers: slotwise serves on {address_of(listener, network.tls is not None)}")
        try:
            while not stop.wait(_POLL_SECONDS):
                for each in workers:
                    each.restart_if_ended(report)
        finally:
            for each in workers:
                each.send(signal.SIGTERM)
            for each in workers:
                each.process.wait()


class _Worker:
    """One of the processes."""

    def __init__(self, number: int, listener: socket.socket) -> None:
        self.number, self._listener = number, listener
        self._ended: float | None = None
        self._start()

    def _start(self, is_replacement: bool = False) -> None:
        fd = self._listener.fileno()
        environment = os.environ | {
            WORKER_VARIABLE: str(self.number),
            LISTENER_VARIABLE: str(fd),
            PARENT_VARIABLE: str(os.getpid()),
        }
        if is_replacement:
            environment[REPLACEMENT_VARIABLE] = "1"
        command = [sys.executable, "-m", "slotwise", *sys.argv[1:]]
        self.process = subprocess.Popen(command, env=environment, pass_fds=[fd])

    def send(self, number: int) -> None:
        """Send a signal, if the process has not ended."""
        if self.process.poll() is None:
            self.process.send_signal(number)

    def restart_if_ended(self, report: Callable[[str], None]) -> None:
        """Start the process again if it has ended. Raises BadInput if it cannot serve with these settings."""
        code = self.process.poll()
        if code is None:
            return
        if code == BAD_INPUT:
            raise BadInput("a worker cannot serve; its own message says why")
        if self._ended is None:
            self._ended = time.monotonic()
            report(f"worker {self.number} ended with {code}; it is started again")
        elif time.monotonic() - self._ended > RESTART_SECONDS:
            self._ended = None
            self._start(is_replacement=True)
