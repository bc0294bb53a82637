"""The transactions of the writer of a SQLite store."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress

from slotwise.service.store.interface import Reader, TrafficRows
from slotwise.service.store.records import Display
from slotwise.service.store.sqlite.sqlite_ledger import SqliteLedger
from slotwise.service.store.transactions import Committed, Failure


class SqliteTransactions:
    """Owns the connection that writes. `Transactions` describes the methods."""

    is_shared = False
    refresh_seconds: float | None = None
    repeat_seconds = 0.0

    def __init__(
        self, connect: Callable[[], tuple[sqlite3.Connection, SqliteLedger]], open_reader: Callable[[], Reader]
    ) -> None:
        self._connect, self._open_reader = connect, open_reader
        self._changes = 0  # of the connection, before the transaction

    def open(self) -> None:
        self._connection, self._ledger = self._connect()

    def begin(self, _displays: Sequence[Display], _traffic: TrafficRows | None) -> SqliteLedger:
        self._changes = self._connection.total_changes
        self._connection.execute("BEGIN IMMEDIATE")
        return self._ledger

    def commit(self) -> Committed:
        self._ledger.flush()
        self._connection.execute("COMMIT")
        return Committed(self._connection.total_changes > self._changes, self._ledger.take_dropped())

    def roll_back(self) -> None:
        self._ledger.forget()
        with suppress(sqlite3.Error):  # nothing was committed; the next group tries again
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def give_up(self) -> None:
        """A group of SQLite is either committed or not."""

    def failure_of(self, error: Exception) -> Failure:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:  # the other bits give the details
            return Failure.BUSY
        used_wrongly = sqlite3.IntegrityError | sqlite3.ProgrammingError | sqlite3.DataError
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, used_wrongly):
            return Failure.STORE
        return Failure.OPERATION

    def refresh(self) -> None:
        """One process owns the store."""

    def open_reader(self) -> Reader:
        return self._open_reader()

    def close(self) -> None:
        self._connection.close()
