"""A service in its own process, started by a command that prints its address."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.epoll_client import encode_request, repeat, send_requests


class RunningServer:
    """Starts the command, and returns when the service is ready."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, key: str | None = None
    ) -> None:
        self._key = key
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert self.process.stdout is not None
        address = None
        while address is None:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"{' '.join(command)} ended before it served")
            address = re.search(r":(\d+)$", line.strip())
        self.port = int(address[1])
        while True:
            try:
                self.call("GET", "/readyz")
                return
            except (RuntimeError, OSError):
                time.sleep(0.01)

    def call(self, method: str, path: str, body: object = None) -> dict:
        content = b"" if body is None else json.dumps(body).encode()
        request = encode_request(path, content, method, self._key)
        (response,) = send_requests(self.port, repeat(request, 1), 1, keep_bodies=True).bodies
        return json.loads(response) if response.startswith(b"{") else {}

    def define(self, page: str, n_items: int, n_positions: int = 5) -> None:
        self.call("PUT", f"/v1/pages/{page}", {"positions": [f"position-{k}" for k in range(n_positions)]})
        items = [{"item": f"item {k}"} for k in range(n_items)]
        for k in range(0, n_items, 1000):
            self.call("POST", f"/v1/pages/{page}/items:batch", {"items": items[k : k + 1000]})

    def processor_seconds(self) -> float:
        """The processor time of all threads, in steps of 10 ms."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def loop_seconds(self) -> float:
        """The processor time of the main thread, which runs the event loop."""
        return int(Path(f"/proc/{self.process.pid}/task/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def wait_for_ensembles(self) -> None:
        """Wait until no page waits for an ensemble. A batch may still be running when this returns."""
        while re.search(rb"^slotwise_refresh_waiting [^0]", self._metrics(), re.MULTILINE):
            time.sleep(0.1)

    def _metrics(self) -> bytes:
        request = encode_request("/metrics", b"", "GET")
        return send_requests(self.port, repeat(request, 1), 1, keep_bodies=True).bodies[0]

    def memory(self) -> float:
        """The memory of the process, in MB."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def end(self, how: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(how)
        self.process.communicate()
