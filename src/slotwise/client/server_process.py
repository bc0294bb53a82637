"""A service in a process of its own, which ends with this one."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from slotwise.checks import BadInput
from slotwise.client.http_client import Remote, Unreachable
from slotwise.client.server_main import HOST
from slotwise.service.http.server import bind

PORT = 8000
READY_SECONDS, STOP_SECONDS = 300.0, 15.0  # compiling the kernels takes long, once


class ServerProcess:
    """Started at once; use it in a `with` block, at whose end it is stopped."""

    def __init__(self, store: Path, port: int = PORT, seed: int = 0) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            [sys.executable, "-m", "slotwise.client.server_main", str(store), str(_free(port)), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,  # Ctrl-C in the terminal is for this process, which then stops the other
        )

    def __enter__(self) -> "ServerProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._log.close()

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def url(self) -> str:
        """Its address, known when it listens."""
        assert self._process.stdout is not None
        words = self._process.stdout.readline().decode().split()
        if not words:
            raise BadInput(f"the service did not start: {self._last_words()}")
        return words[-1]

    def wait_until_ready(self, url: str) -> None:
        """Until the kernels are compiled."""
        deadline = time.monotonic() + READY_SECONDS
        with Remote(url) as remote:
            while time.monotonic() < deadline and self._process.poll() is None:
                try:
                    if remote.ask("GET", "/readyz").status == 200:
                        return
                except Unreachable:
                    pass  # it listens in a moment
                time.sleep(0.05)
        raise BadInput(f"the service did not become ready: {self._last_words()}")

    def stop(self) -> None:
        """End it, by its process id."""
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

    def _last_words(self) -> str:
        self.stop()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"it ended with exit code {self._process.returncode}"


def _free(port: int) -> int:
    """The port when it is free, else 0: any other one."""
    try:
        bind(HOST, port).close()
    except BadInput:
        return 0
    return port
