"""Run a service in a child process that ends with this process."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from slotwise.checks import BadInput
from slotwise.client.http_client import HttpClient, Unreachable, error_detail
from slotwise.client.server_main import HOST

PORT = 8000
Mode = Literal["demo", "keys"]
READY_SECONDS, STOP_SECONDS = 300.0, 15.0  # READY_SECONDS limits the time without progress while kernels are compiled


class ServerProcess:
    """A service process. The constructor starts it, and the end of a `with` block stops it.

    In the mode `demo`, it needs no keys and serves the page of the demo shop.
    """

    def __init__(self, store: Path, port: int = PORT, seed: int = 0, mode: Mode = "demo") -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        arguments = [str(store), str(_port_or_any(port)), str(seed), mode]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "slotwise.client.server_main", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C reaches only this process, which then stops the child
        )

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._log.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def url(self) -> str:
        """The address of the service. This blocks until the service listens."""
        assert self._process.stdout is not None
        words = self._process.stdout.readline().decode().split()
        if not words:
            raise BadInput(f"the service did not start: {self._last_error_line()}")
        return words[-1]

    def wait_until_ready(self, url: str, on_progress: Callable[[str], None] = lambda _: None) -> None:
        """Wait until the kernels are compiled. `on_progress` gets the reason why the service is not ready yet."""
        deadline, reason = time.monotonic() + READY_SECONDS, ""
        with HttpClient(url) as client:
            while time.monotonic() < deadline and self._process.poll() is None:
                try:
                    reply = client.request("GET", "/readyz")
                    if reply.status == 200:
                        return
                    before, reason = reason, error_detail(reply.body)
                    if reason != before:
                        deadline = time.monotonic() + READY_SECONDS
                        on_progress(reason)
                except Unreachable:
                    pass  # not listening yet
                time.sleep(0.05)
        raise BadInput(f"the service did not become ready: {self._last_error_line()}")

    def stop(self) -> None:
        process = self._process
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _last_error_line(self) -> str:
        self.stop()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"its exit code is {self._process.returncode}"


def _port_or_any(port: int) -> int:
    """The port if it is free; otherwise 0, which means any free port."""
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return 0
    return port
