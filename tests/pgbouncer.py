"""PgBouncer in transaction mode, for tests. It is used if it is installed."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from tests.waiting import wait_until

COMMAND = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def pooled(address: str, connections: int) -> Iterator[str]:
    """The address of the same database behind PgBouncer. PgBouncer opens at most this many connections to it."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _pooled(address, folder, connections)


def _pooled(address: str, folder: str, connections: int) -> Iterator[str]:
    assert COMMAND is not None
    parts = urlsplit(address)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = parse_qs(parts.query)["host"][0]
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "auth_type": "any",
        "pool_mode": "transaction",
        "default_pool_size": connections,
        "unix_socket_dir": "",
    }
    lines = ["[databases]", f"* = host={server} user=postgres", "[pgbouncer]"]
    config = Path(folder) / "pgbouncer.ini"
    config.write_text("\n".join([*lines, *[f"{name} = {value}" for name, value in settings.items()]]) + "\n")
    config.parent.chmod(0o755)
    # it refuses to run as root, and must be allowed to use the socket of the server
    user = ["-u", Path(server).owner()] if os.geteuid() == 0 else []
    process = subprocess.Popen([COMMAND, *user, str(config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pooled = f"postgresql://postgres@127.0.0.1:{port}{parts.path}"

    def answers() -> bool:
        try:
            psycopg.connect(pooled, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    try:
        wait_until(answers, pause=0.05)
        yield pooled
    finally:
        process.terminate()
        process.wait()
