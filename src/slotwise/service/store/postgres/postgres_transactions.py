"""The transactions of the writer of one node on PostgreSQL.

Each group has a number. Its transaction first moves the number of the node from g - 1 to g. If the connection is lost
during COMMIT, the writer looks the number up: at g, the group is committed, and at g - 1, it is repeated. The look-up
waits for the row lock of the first try. If the database stays away, the group is given up, and the node takes a new id.
Should the first try be committed all the same, its changes come back as those of another node.
"""

import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import psycopg
from psycopg import Connection, errors

from slotwise.service.store.changes_elsewhere import (
    ChangedCounts,
    ChangedDefinition,
    ChangesElsewhere,
    GroupElsewhere,
)
from slotwise.service.store.interface import Reader, TrafficRows
from slotwise.service.store.postgres.postgres_connection import PostgresConnection
from slotwise.service.store.postgres.postgres_ledger import JOURNAL_SECONDS, NO_NODE, PostgresLedger
from slotwise.service.store.postgres.postgres_schema import TRAFFIC_LOCK, migrate
from slotwise.service.store.records import Display
from slotwise.service.store.transactions import Committed, Failure

REFRESH_SECONDS = 0.5
REPEAT_SECONDS = 5.0
AWAY_SECONDS = JOURNAL_SECONDS / 2  # after this time without reading the journal, its rows may have been deleted
CONNECT_SECONDS = 3
LIMITS = (  # a node that hangs must not hold its locks for long; for this transaction only, as PgBouncer needs it
    "SELECT set_config('lock_timeout', '4s', true), set_config('statement_timeout', '10s', true), "
    "set_config('idle_in_transaction_session_timeout', '5s', true), "
    # each statement of a group has one good plan; planning it each time takes a third of the time of a small group
    "set_config('plan_cache_mode', 'force_generic_plan', true)"
)
# The limit of idle time does not run while a pipeline is incomplete. PostgreSQL 17 and newer can limit all of it
LIMIT_WHOLE = ", set_config('transaction_timeout', '60s', true)"
# Each statement must see what its locks have waited for, even if the database has another level by default
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
_NOW = "extract(epoch FROM clock_timestamp())::float8"
_MOVE = f"UPDATE nodes SET number = %s, seen = {_NOW} WHERE node = %s AND number = %s RETURNING seen"
_READ_CLOCK = f"SELECT {_NOW}"
_REGISTER = f"INSERT INTO nodes (name, began, seen) VALUES (%s, {_NOW}, {_NOW}) RETURNING node, seen"
_WRITE_JOURNAL = (
    "INSERT INTO journal (node, number, previous, definition, at, body) "
    f"VALUES (%s, %s, %s, CASE WHEN %s THEN nextval('definitions') END, {_NOW}, %s)"
)
READ_JOURNAL = (
    "SELECT j.node, j.number, j.previous, j.definition, j.body FROM nodes n "
    "LEFT JOIN unnest(%s::bigint[], %s::bigint[]) AS c (node, number) ON c.node = n.node "
    "JOIN journal j ON j.node = n.node AND j.number > coalesce(c.number, 0) "
    "WHERE n.node <> %s AND n.number > coalesce(c.number, 0) ORDER BY j.definition NULLS LAST, j.node, j.number"
)
_Body = tuple[list[ChangedCounts], list[ChangedDefinition]]
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_Body).decode


class NotCommitted(Exception):
    """The connection was lost, and the group was not committed: repeat it."""


class NodeForgotten(Exception):
    """The node has another number in the database than in memory. It needs a new id."""


class PostgresTransactions:
    """Owns the connection that writes. `Transactions` describes the methods."""

    is_shared = True
    refresh_seconds: float | None = REFRESH_SECONDS
    repeat_seconds = REPEAT_SECONDS
    away_seconds = AWAY_SECONDS

    def __init__(self, address: str, where: str, open_reader: Callable[[], Reader]) -> None:
        self._address, self._where, self._open_reader = address, where, open_reader
        self._connection: Connection[Any] | None = None
        self._ledger: PostgresLedger | None = None
        self.node: int | None = None
        self._number = self._last_journal = 0  # of the last group, and of the last one that is in the journal
        self._cursor: dict[int, int] = {}  # the last group in the journal that was read, of each node
        self._began = self._read_at = 0.0  # when the last group began and the journal was read, by the database's clock
        self.clock_offset = 0.0  # the clock of the database, relative to the monotonic clock of this machine

    def open(self) -> None:
        connection = self._connected()
        migrate(connection, self._where)
        self._register(connection)

    def begin(self, _displays: Sequence[Display], traffic: TrafficRows | None) -> PostgresLedger:
        connection = self._connected()
        if self.node is None:
            self._register(connection)
        lock = "SELECT pg_advisory_xact_lock" + ("" if traffic is None else "_shared") + "(%s)"
        ledger = self._ledger
        if ledger is None:
            ledger = self._ledger = PostgresLedger(PostgresConnection(connection), self.node or NO_NODE)
        ledger.forget()
        with connection.pipeline():
            connection.execute(_BEGIN, prepare=False)
            connection.execute(LIMITS + (LIMIT_WHOLE if connection.info.server_version >= 170_000 else ""))
            connection.execute(lock, (TRAFFIC_LOCK,))
            moved = connection.execute(_MOVE, (self._number + 1, self.node, self._number))
            receive = ledger.prepare(traffic or TrafficRows())
        row = moved.fetchone()
        if row is None:
            raise NodeForgotten
        self._began, self.clock_offset = row[0], row[0] - time.monotonic()
        receive()
        return ledger

    def commit(self) -> Committed:
        connection, ledger = self._connection, self._ledger
        assert connection is not None
        assert ledger is not None
        try:
            with connection.pipeline():
                ledger.flush()
                journaled = self._write_journal(connection, ledger)
                rows = self._select_journal(connection)
                connection.execute("COMMIT", prepare=False)
            found = rows.fetchall()
        except psycopg.Error:
            if not connection.broken:
                raise
            found = self._settle()
            journaled = bool(ledger.journal or ledger.definitions)
        self._number += 1
        if journaled:
            self._last_journal = self._number
        return Committed(True, ledger.take_dropped(), self._elsewhere(found, self._began))

    def _settle(self) -> list[Any]:
        """After the connection was lost during COMMIT: return what others did meanwhile if the group is committed.

        Raises NotCommitted if it is not.
        """
        deadline = time.monotonic() + self.repeat_seconds
        while True:
            self._disconnect()
            try:
                connection = self._connected()
                with connection.transaction():
                    connection.execute(LIMITS)
                    row = connection.execute(
                        "SELECT number FROM nodes WHERE node = %s FOR UPDATE", (self.node,)
                    ).fetchone()
                    if row is None or row[0] <= self._number:
                        raise NotCommitted
                    found: list[Any] = self._select_journal(connection).fetchall()
                    return found
            except psycopg.Error:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def roll_back(self) -> None:
        if self._ledger is not None:
            self._ledger.forget()
        connection = self._connection
        if connection is None:
            return
        with suppress(psycopg.Error):
            connection.execute("ROLLBACK")
        if connection.closed or connection.broken:
            self._disconnect()

    def give_up(self) -> None:
        self._disconnect()
        self.node = None

    def failure_of(self, error: Exception) -> Failure:
        if isinstance(error, NotCommitted | errors.SerializationFailure | errors.DeadlockDetected):
            return Failure.CONFLICT
        if isinstance(error, NodeForgotten):
            return Failure.STORE
        if isinstance(error, errors.UniqueViolation):
            return Failure.CONFLICT if error.diag.constraint_name == "event_ids_pkey" else Failure.OPERATION
        if isinstance(error, errors.DiskFull):
            return Failure.STORE
        if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | errors.ReadOnlySqlTransaction):
            return Failure.CONFLICT  # the connection is lost, or a limit of time is exceeded
        return Failure.OPERATION

    def refresh(self) -> ChangesElsewhere | None:
        if self.node is None:
            return None  # the next group registers the node
        connection = self._connected()
        with connection.pipeline():
            clock = connection.execute(_READ_CLOCK)
            rows = self._select_journal(connection)
        ((now,),) = clock.fetchall()
        return self._elsewhere(rows.fetchall(), now)

    def open_reader(self) -> Reader:
        return self._open_reader()

    def close(self) -> None:
        self._disconnect()

    def _connected(self) -> Connection[Any]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._address, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="slotwise writer"
            )
            _check_pooler(self._connection)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
        self._connection = self._ledger = None

    def _register(self, connection: Connection[Any]) -> None:
        """Take an id that no node has had. Pages that are loaded from now on contain all groups up to the cursor."""
        cursor = dict(connection.execute("SELECT node, number FROM nodes").fetchall())
        row = connection.execute(_REGISTER, (f"{socket.gethostname()}:{os.getpid()}",)).fetchone()
        assert row is not None
        self.node, self.clock_offset = row[0], row[1] - time.monotonic()
        self._read_at = row[1]
        self._number, self._last_journal, self._cursor, self._ledger = 0, 0, cursor, None

    def _write_journal(self, connection: Connection[Any], ledger: PostgresLedger) -> bool:
        """Note what the group changed, if it changed anything that other nodes have in memory."""
        counts = [
            ChangedCounts(
                page,
                [(*key, *change) for key, change in changed.cells.items() if change != [0, 0]],  # type: ignore[misc]
                list(changed.displays.items()),
            )
            for page, changed in ledger.journal.items()
        ]
        if not counts and not ledger.definitions:
            return False
        values = (self.node, self._number + 1, self._last_journal, bool(ledger.definitions))
        connection.execute(_WRITE_JOURNAL, (*values, _encode((counts, ledger.definitions))))
        return True

    def _select_journal(self, connection: Connection[Any]) -> Any:
        return connection.execute(READ_JOURNAL, (list(self._cursor), list(self._cursor.values()), self.node))

    def _elsewhere(self, rows: list[Any], now: float) -> ChangesElsewhere | None:
        """Move the cursor, and decode what other nodes have committed. `now` is not after the journal was read."""
        missed, self._read_at = now - self._read_at > self.away_seconds, now
        if not rows:
            return ChangesElsewhere([], False) if missed else None
        groups, before = [], dict(self._cursor)
        for node, number, _previous, _definition, body in rows:
            groups.append(GroupElsewhere(node, number, *_decode(body)))
            self._cursor[node] = max(number, self._cursor.get(node, 0))
        for node in {row[0] for row in rows}:
            missed = missed or min(row[2] for row in rows if row[0] == node) > before.get(node, 0)
        return ChangesElsewhere(groups, not missed)


def _check_pooler(connection: Connection[Any]) -> None:
    """Prepare no statements behind a pooler like PgBouncer: the next transaction may be on another connection.

    There, the name of a prepared statement can be that of another node's statement.
    """
    row = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    if row is None or row[0] != connection.info.backend_pid:  # a pooler tells clients a number of its own
        connection.prepare_threshold = None
