"""The PostgreSQL store: one database that any number of nodes share."""

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from slotwise.checks import BadInput
from slotwise.service.errors import StoreDown
from slotwise.service.store.group_commit import GroupCommit
from slotwise.service.store.interface import NO_CALLBACKS, Reader, StoreCallbacks, TrafficRows
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.postgres.postgres_connection import PostgresConnection
from slotwise.service.store.postgres.postgres_ledger import PostgresLedger
from slotwise.service.store.postgres.postgres_schema import TRAFFIC_LOCK, check_current, migrate
from slotwise.service.store.postgres.postgres_transactions import CONNECT_SECONDS, PostgresTransactions
from slotwise.service.store.records import Display

MOST_READERS = 4  # connections of a node beside the one that writes
READER_SECONDS = 3.0  # how long a read waits for a connection
FREE_READER_SECONDS = 0.5  # how long it waits if a connection is free, or can be opened
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_FIX = "SELECT 1 FROM meta LIMIT 1"  # PostgreSQL fixes the moment of a transaction at its first statement


def described(address: str) -> str:
    """The address without user and password, for messages. Raises BadInput if it is not valid."""
    try:
        parts = conninfo_to_dict(address)
    except psycopg.ProgrammingError as error:
        raise BadInput(f"the store is not an address of PostgreSQL: {error}") from None
    return f"the database {parts.get('dbname', 'of the user')!r} on {parts.get('host', 'this machine')}"


class PostgresStore:
    """A store in a database.

    Create it inside a running event loop. The loop runs its callbacks. `Store` describes the methods.
    """

    def __init__(self, address: str, callbacks: StoreCallbacks = NO_CALLBACKS) -> None:
        where = described(address)
        self._transactions = PostgresTransactions(address, where, self._open_free_reader)
        self._pool = ConnectionPool(
            address,
            min_size=1,
            max_size=MOST_READERS,
            kwargs={
                "autocommit": True,
                "connect_timeout": CONNECT_SECONDS,
                "application_name": "slotwise reader",
                "prepare_threshold": None,
            },
            check=ConnectionPool.check_connection,
            reconnect_timeout=1.0,
            open=False,
            name="slotwise-readers",
        )
        try:
            self._writer = GroupCommit(self._transactions, callbacks)
        except psycopg.Error as error:
            raise BadInput(f"cannot open the store in {where}: {error}") from None
        self._pool.open()

    @property
    def waiting(self) -> int:
        return self._writer.waiting

    def clock(self) -> float:
        """The clock of the database."""
        return time.monotonic() + self._transactions.clock_offset

    @property
    def is_shared(self) -> bool:
        return True

    @property
    def node(self) -> int | None:
        """The id of this node, or None while the database is away."""
        return self._transactions.node

    def add(self, display: Display) -> None:
        self._writer.add(display)

    def do(self, operation: Operation[ResultT], traffic: TrafficRows | None = None) -> "asyncio.Future[ResultT]":
        return self._writer.do(operation, traffic)

    async def read(self, operation: Operation[ResultT]) -> ResultT:
        return await asyncio.to_thread(self.read_here, operation)

    def read_here(self, operation: Operation[ResultT]) -> ResultT:
        return self._open_reader().read(operation)

    def begin_read(self) -> "asyncio.Future[Reader]":
        return self._writer.begin_read()

    async def find(self, id: str) -> Display | None:
        return await self.read(lambda ledger: ledger.display(id))

    async def close(self) -> None:
        await self._writer.close()
        await asyncio.to_thread(self._pool.close)

    def _open_free_reader(self) -> "PostgresReader":
        """Open a reader without waiting for others to end. The thread that writes must not wait for readers."""
        stats = self._pool.get_stats()
        if stats["pool_available"] == 0 and stats["pool_size"] == stats["pool_max"]:
            raise StoreDown("too many reads of the store are in progress: try again")
        return self._open_reader(FREE_READER_SECONDS)

    def _open_reader(self, timeout: float = READER_SECONDS) -> "PostgresReader":
        try:
            return PostgresReader(self._pool, timeout)
        except (psycopg.Error, PoolTimeout) as error:
            raise StoreDown from error


class PostgresReader:
    """A read transaction on a connection of the pool. `Reader` describes the methods."""

    def __init__(self, pool: ConnectionPool[Connection[Any]], timeout: float) -> None:
        self._pool, self._closed = pool, threading.Event()
        self._connection = pool.getconn(timeout)
        try:
            with self._connection.pipeline():
                self._connection.execute(_BEGIN)
                self._connection.execute(_FIX)
        except BaseException:
            pool.putconn(self._connection)
            raise

    def read(self, operation: Operation[ResultT]) -> ResultT:
        try:
            return operation(PostgresLedger(PostgresConnection(self._connection)))
        except psycopg.Error as error:
            raise StoreDown from error
        finally:
            self.close()

    def close(self) -> None:
        if not self._closed.is_set():
            self._closed.set()
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")
            self._pool.putconn(self._connection)


def create_postgres(address: str) -> None:
    """Create the tables of a store in a database, unless it has them."""
    where = described(address)
    try:
        with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            migrate(connection, where)
    except psycopg.Error as error:
        raise BadInput(f"cannot create a store in {where}: {error}") from None


def change_postgres(address: str, operation: Callable[[PostgresLedger], ResultT]) -> ResultT:
    """Run an operation on keys in a transaction of its own. Nodes may run on the store."""
    where = described(address)
    try:
        with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            check_current(connection, where)
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (TRAFFIC_LOCK,))
                return operation(PostgresLedger(PostgresConnection(connection)))
    except psycopg.Error as error:
        raise BadInput(f"cannot change the store in {where}: {error}") from None


def read_postgres(address: str, operation: Callable[[PostgresLedger], ResultT]) -> ResultT:
    """Run a read-only operation on a database, whether or not nodes run on it."""
    where = described(address)
    try:
        with psycopg.connect(address, autocommit=True, connect_timeout=CONNECT_SECONDS) as connection:
            check_current(connection, where)
            connection.execute(_BEGIN)
            return operation(PostgresLedger(PostgresConnection(connection)))
    except psycopg.Error as error:
        raise BadInput(f"cannot read the store in {where}: {error}") from None
