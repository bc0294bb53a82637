"""A SQLite store that is copied, and one that a copy writes."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from slotwise.checks import BadInput
from slotwise.files import flush_folder
from slotwise.service.maintenance.store_copy.copied_tables import FILLED, TABLES, CopiedTable
from slotwise.service.maintenance.store_copy.store_end import CopyProgress, Row, decoded, encoded, selection
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.sqlite.file_lock import FileLock
from slotwise.service.store.sqlite.sqlite_schema import check_current, check_ours, migrate
from slotwise.service.store.sqlite.sqlite_store import connect_to_read
from slotwise.service.store.tables.bulk_insert import insert
from slotwise.service.store.tables.checksums import rebuild_checksums
from slotwise.service.store.tables.key_table import COPYING, SAVE_META

AT_ONCE = 5_000  # rows
_COUNTED = "coalesce(number >= (SELECT counted_from FROM pages WHERE pages.page = displays.page), 1)"
_EXPRESSIONS = {"counted": f"{_COUNTED} AS counted"}
_LAST_NUMBER = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'displays'"


class SqliteSource:
    """`SourceStore` describes the methods."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def count(self, table: CopiedTable) -> int:
        return int(self._connection.execute(f"SELECT count(*) FROM {table.name} WHERE {table.where}").fetchone()[0])

    def rows(self, table: CopiedTable, after: Sequence[Any] = ()) -> Iterator[list[Row]]:
        cursor = self._connection.execute(selection(table, _EXPRESSIONS, after), after)
        while chunk := cursor.fetchmany(AT_ONCE):
            yield chunk

    def last_number(self) -> int:
        return int(self._connection.execute(_LAST_NUMBER).fetchone()[0])


class SqliteTarget(SqliteSource):
    """A file beside the store, which becomes the store at the end. `TargetStore` describes the methods."""

    def __init__(self, connection: sqlite3.Connection, draft: Path, path: Path) -> None:
        super().__init__(connection)
        self._draft, self._path = draft, path

    def progress(self) -> CopyProgress | None:
        row = self._connection.execute("SELECT value FROM meta WHERE key = ?", (COPYING,)).fetchone()
        return None if row is None else decoded(row[0], str(self._draft))

    def write(self, table: CopiedTable | None, rows: Sequence[Row], progress: CopyProgress) -> None:
        with self._transaction():
            if table is not None and table.name == "meta":
                for row in rows:
                    self._connection.execute(SAVE_META, row)
            elif table is not None:
                columns = [column for column in table.columns if column != "counted"]
                insert(self._connection, f"{table.name} ({', '.join(columns)})", [row[: len(columns)] for row in rows])
            self._connection.execute(SAVE_META, (COPYING, encoded(progress)))

    def finish(self, progress: CopyProgress) -> None:
        with self._transaction():
            self._connection.execute("DELETE FROM sqlite_sequence WHERE name = 'displays'")
            self._connection.execute("INSERT INTO sqlite_sequence VALUES ('displays', ?)", (progress.last_number,))
            rebuild_checksums(self._connection)

    def differences(self) -> list[str]:
        return verify(self._draft).differences

    def publish(self) -> None:
        with self._transaction():
            self._connection.execute("DELETE FROM meta WHERE key = ?", (COPYING,))
            rebuild_checksums(self._connection, ["meta"])
        self._connection.execute("PRAGMA journal_mode = DELETE")  # one file, without a write-ahead log
        self._connection.close()
        self._draft.replace(self._path)
        flush_folder(self._path.parent)

    def clear(self) -> None:
        """Delete a copy that was killed in its last step, without its progress."""
        if self.progress() is None and any(self.count(table) for table in TABLES if table.name in FILLED):
            with self._transaction():
                for table in TABLES:
                    self._connection.execute(f"DELETE FROM {table.name} WHERE {table.where}")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")


@contextmanager
def sqlite_source(path: Path) -> Iterator[SqliteSource]:
    """The store in a file. Raises BadInput if a service uses it."""
    if not path.is_file():
        raise BadInput(f"there is no store {str(path)!r}")
    lock = FileLock(path)
    try:
        with closing(connect_to_read(path)) as connection:
            check_ours(connection, str(path))
            check_current(connection, str(path))
            connection.execute("BEGIN")
            yield SqliteSource(connection)
    finally:
        lock.release()


@contextmanager
def sqlite_target(path: Path) -> Iterator[SqliteTarget]:
    """A new store. A file beside it keeps what earlier calls have copied."""
    if path.exists() and path.stat().st_size:
        raise BadInput(f"the store {str(path)!r} exists; a copy needs a file that does not exist")
    lock = FileLock(path)
    draft = lock.path.with_name(f"{lock.path.name}.copying")
    try:
        draft.touch(0o600)  # a store has the secrets that sign tokens
        with closing(sqlite3.connect(draft, isolation_level=None, cached_statements=256)) as connection:
            check_ours(connection, str(draft))
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")  # a lost commit is copied again
            migrate(connection, str(draft))
            target = SqliteTarget(connection, draft, lock.path)
            target.clear()
            yield target
    except sqlite3.Error as error:
        raise BadInput(f"cannot write the copy {str(draft)!r}: {error}") from None
    finally:
        if not lock.path.stat().st_size:  # the copy is not complete
            lock.path.unlink()
        lock.release()
