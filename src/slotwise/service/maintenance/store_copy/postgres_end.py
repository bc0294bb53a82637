"""A PostgreSQL store that is copied, and one that a copy writes."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.sql import SQL

from slotwise.checks import BadInput
from slotwise.service.maintenance.store_copy.copied_tables import FILLED, CopiedTable
from slotwise.service.maintenance.store_copy.sqlite_end import AT_ONCE
from slotwise.service.maintenance.store_copy.store_end import CopyProgress, Row, decoded, encoded, selection
from slotwise.service.maintenance.verify import verify_ledger
from slotwise.service.store.postgres.postgres_connection import PostgresConnection
from slotwise.service.store.postgres.postgres_ledger import NO_NODE, PostgresLedger
from slotwise.service.store.postgres.postgres_schema import COPY_LOCK, TRAFFIC_LOCK, check_current, migrate
from slotwise.service.store.postgres.postgres_store import described
from slotwise.service.store.postgres.postgres_transactions import CONNECT_SECONDS
from slotwise.service.store.tables.key_table import COPYING, SAVE_META

USED_SECONDS = 3.0  # a node that runs commits a group every second
_UNCOUNTED = "(SELECT max(number) + 1 FROM displays d WHERE d.page = pages.page AND d.generation < pages.counted_from)"
_EXPRESSIONS = {
    "counted": "coalesce((generation >= (SELECT p.counted_from FROM pages p WHERE p.page = displays.page))::integer, "
    "1)",
    "revision": "(revision + coalesce((SELECT sum(e.revision) FROM node_epochs e WHERE e.page = pages.page), 0))"
    "::bigint",
    # displays from before an import have lower numbers than later ones
    "counted_from": f"CASE WHEN counted_from = 0 THEN 0 ELSE coalesce({_UNCOUNTED}, 0) END",
}
_OF_NODES = {"counts": (NO_NODE,), "epochs": (NO_NODE, 0), "rates": (NO_NODE,), "daily_rates": (NO_NODE,)}
_NODE_COLUMNS = ["node", "revision"]
_SESSIONS = (  # PostgreSQL hides the names of the sessions of other roles
    "SELECT count(*) FILTER (WHERE application_name IN ('slotwise writer', 'slotwise reader')), "
    "count(*) FILTER (WHERE application_name IS NULL) FROM pg_stat_activity WHERE datname = current_database()"
)
_USED = "SELECT count(*) FROM nodes WHERE seen > extract(epoch FROM clock_timestamp()) - %s"
_LAST_NUMBER = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM displays_number_seq"


class PostgresSource:
    """`SourceStore` describes the methods."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def count(self, table: CopiedTable) -> int:
        return int(_fetch(self._connection, f"SELECT count(*) FROM {table.name} WHERE {table.where}"))

    def rows(self, table: CopiedTable, after: Sequence[Any] = ()) -> Iterator[list[Row]]:
        statement = selection(table, _EXPRESSIONS, after).replace("%", "%%").replace("?", "%s")
        with self._connection.transaction(), self._connection.cursor(f"copy_{table.name}") as cursor:
            cursor.execute(statement, after)
            while chunk := cursor.fetchmany(AT_ONCE):
                yield chunk

    def last_number(self) -> int:
        return int(_fetch(self._connection, _LAST_NUMBER))


class PostgresTarget(PostgresSource):
    """`TargetStore` describes the methods."""

    def __init__(self, connection: Connection[Any], where: str) -> None:
        super().__init__(connection)
        self._where = where
        self._generations: dict[int, int] = {}  # `counted_from` of each page

    def progress(self) -> CopyProgress | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = %s", (COPYING,)).fetchone()
        return None if row is None else decoded(row[0], self._where)

    def write(self, table: CopiedTable | None, rows: Sequence[Row], progress: CopyProgress) -> None:
        with self._connection.transaction():
            self._connection.execute("SET LOCAL synchronous_commit = off")  # a lost commit is copied again
            if table is not None and table.name == "meta":
                for row in rows:
                    self._save_meta(row)
            elif table is not None:
                self._copy(table, rows)
            self._save_meta((COPYING, encoded(progress)))

    def _save_meta(self, row: Sequence[Any]) -> None:
        PostgresConnection(self._connection).execute(SAVE_META, row)

    def _copy(self, table: CopiedTable, rows: Sequence[Row]) -> None:
        of_nodes = _OF_NODES.get(table.name, ())
        columns = [*table.columns, *_NODE_COLUMNS[: len(of_nodes)]]
        name = f"node_{table.name}" if of_nodes else table.name
        written: Sequence[Row] = rows
        if table.name == "displays":
            columns[-1] = "generation"
            written = [(*row[:-1], self._generation(row)) for row in rows]
        elif of_nodes:
            written = [(*row, *of_nodes) for row in rows]
        copy = SQL(f"COPY {name} ({', '.join(columns)}) FROM STDIN")
        with self._connection.cursor() as cursor, cursor.copy(copy) as into:
            for row in written:
                into.write_row(row)

    def _generation(self, row: Row) -> int:
        """The generation of a display. If it does not count, that is below the one of its page."""
        page, counted = row[3], row[-1]
        if not self._generations:
            self._generations = dict(self._connection.execute("SELECT page, counted_from FROM pages").fetchall())
        return self._generations.get(page, 0) - (not counted)

    def finish(self, progress: CopyProgress) -> None:
        with self._connection.transaction():
            if progress.last_number:
                self._connection.execute("SELECT setval('displays_number_seq', %s)", (progress.last_number,))
            self._connection.execute("SELECT setval('pages_page_seq', max(page)) FROM pages HAVING max(page) > 0")
            self._connection.execute("ANALYZE")

    def differences(self) -> list[str]:
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return verify_ledger(PostgresLedger(PostgresConnection(self._connection))).differences

    def publish(self) -> None:
        self._connection.execute("DELETE FROM meta WHERE key = %s", (COPYING,))


@contextmanager
def postgres_source(address: str) -> Iterator[PostgresSource]:
    """The store in a database. As long as it is open, no node can commit. Raises BadInput if nodes use it."""
    where = described(address)
    with _connected(address, where) as connection:
        check_current(connection, where)
        _check_unused(connection, where)
        connection.execute("SELECT pg_advisory_lock(%s)", (TRAFFIC_LOCK,))  # before the snapshot of the transaction
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield PostgresSource(connection)


@contextmanager
def postgres_target(address: str) -> Iterator[PostgresTarget]:
    """A store in a database without tables, or in one that has a part of the copy already."""
    where = described(address)
    with _connected(address, where) as connection:
        if not _fetch(connection, "SELECT pg_try_advisory_lock(%s)", COPY_LOCK):
            raise BadInput(f"another command copies a store to {where}")
        migrate(connection, where, is_copy=True)
        target = PostgresTarget(connection, where)
        if target.progress() is None:
            for table in FILLED:
                if _fetch(connection, f"SELECT EXISTS (SELECT 1 FROM {table})"):
                    raise BadInput(f"the store in {where} is not empty; a copy needs an empty database")
            _check_unused(connection, where)
        yield target


@contextmanager
def _connected(address: str, where: str) -> Iterator[Connection[Any]]:
    try:
        with psycopg.connect(
            address, autocommit=True, connect_timeout=CONNECT_SECONDS, application_name="slotwise copy"
        ) as connection:
            yield connection
    except psycopg.Error as error:
        raise BadInput(f"cannot copy the store in {where}: {error}") from None


def _check_unused(connection: Connection[Any], where: str) -> None:
    """Raise BadInput if nodes use the store."""
    ((nodes, hidden),) = connection.execute(_SESSIONS).fetchall()
    if nodes or (hidden and _fetch(connection, _USED, USED_SECONDS)):
        raise BadInput(f"nodes use the store in {where}; stop them, and run the command again")


def _fetch(connection: Connection[Any], statement: str, *values: Any) -> Any:
    row = connection.execute(statement, values or None).fetchone()
    assert row is not None
    return row[0]
