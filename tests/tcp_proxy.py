"""A proxy between a node and PostgreSQL that cuts connections when a test asks for it."""

import select
import socket
import threading
import time
from contextlib import suppress
from enum import Enum

from tests.waiting import HANG

COMMIT = b"COMMIT"


class Fault(Enum):
    """When the connection ends: before the next COMMIT is sent, right after it, or after the answer."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


class TcpProxy:
    """Forwards to the Unix domain socket of a server. Each connection has a thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.fault: Fault | None = None
        self.refuses, self.delay = False, 0.0  # of connections; seconds, for every answer
        self.faults = 0  # that have happened
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def cut(self) -> None:
        """Cut all connections."""
        with self._lock:
            for end in self._open:
                _shut(end)

    def close(self) -> None:
        """Cut all connections, and accept no more."""
        _shut(self._listener)
        self._listener.close()
        self.refuses = True
        self.cut()
        for thread in list(self._threads):
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refuses:
                client.close()
                continue
            thread = threading.Thread(target=self._forward, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _forward(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._path)
            ends = {client, server}
            with self._lock:
                self._open |= ends
            try:
                while self._pass_on(client, server):
                    pass
            finally:
                with self._lock:
                    self._open -= ends

    def _pass_on(self, client: socket.socket, server: socket.socket) -> bool:
        """Forward what has arrived. Returns whether the connection continues."""
        for end in select.select([client, server], [], [])[0]:
            chunk = end.recv(1 << 16)
            if not chunk:
                return False
            if end is server:
                time.sleep(self.delay)
                client.sendall(chunk)
                continue
            fault = self._take_fault() if COMMIT in chunk else None
            if fault is Fault.BEFORE:
                return False
            server.sendall(chunk)
            if fault is Fault.DURING:
                return False
            if fault is Fault.AFTER:
                select.select([server], [], [], 1.0)  # the answer has arrived here, and goes no further
                return False
        return True

    def _take_fault(self) -> Fault | None:
        with self._lock:
            fault, self.fault = self.fault, None
            self.faults += fault is not None
            return fault

    def wait_for_faults(self, number: int) -> None:
        """Wait until this many faults have happened."""
        deadline = time.monotonic() + HANG
        while self.faults < number:
            assert time.monotonic() < deadline, "no transaction came through the proxy"
            time.sleep(0.005)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
