"""Read and change the keys of a store without its service, also while the service runs.

Nothing else may be written this way: a running service has the counts in memory, and would not notice.
"""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.service.store.ledger import KeyLedger
from slotwise.service.store.open_store import is_postgres
from slotwise.service.store.sqlite.file_lock import StoreInUse, check_file
from slotwise.service.store.sqlite.sqlite_schema import check_current, check_ours
from slotwise.service.store.sqlite.sqlite_store import SqliteStore, connect_to_read, path_of
from slotwise.service.store.tables.change_history import ChangeHistory

_HEADER_BYTES, _MAGIC, _WRITE_VERSION, _WAL, _USER_VERSION = 64, b"SQLite format 3\0", 18, 2, slice(60, 64)
_RETRY_SECONDS = 0.05
BUSY_SECONDS = 30.0  # how long to wait for a transaction of the service or of another command
KeyResult = TypeVar("KeyResult")


def create_any_store(store: Path | str) -> None:
    """Create a store, given by the path of a SQLite file or by its address, unless there is one."""
    if isinstance(store, Path) or not is_postgres(store):
        create_store(store if isinstance(store, Path) else path_of(store))
        return
    require("postgres", "a PostgreSQL store")
    from slotwise.service.store.postgres.postgres_store import create_postgres

    create_postgres(store)


def change_any_keys(store: Path | str, operation: Callable[[KeyLedger], KeyResult]) -> KeyResult:
    """Run an operation in a transaction of its own, on any store."""
    if isinstance(store, Path) or not is_postgres(store):
        return change_keys(store if isinstance(store, Path) else path_of(store), operation)
    require("postgres", "a PostgreSQL store")
    from slotwise.service.store.postgres.postgres_store import change_postgres

    return change_postgres(store, operation)


def create_store(path: Path) -> None:
    """Create a store, unless there is one. If another process is creating it, wait for that process."""
    deadline = time.monotonic() + BUSY_SECONDS

    async def open_once() -> None:
        await SqliteStore(path).close()

    while _has_no_tables(path):
        try:
            asyncio.run(open_once())
        except StoreInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _has_no_tables(path: Path) -> bool:
    """Whether the tables of a store must be created. A file of another kind has nothing to create."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if not header.startswith(_MAGIC):
        return not header
    if header[_WRITE_VERSION] != _WAL:  # not through SQLite: a reader could hinder the process that creates the store
        return int.from_bytes(header[_USER_VERSION], "big") == 0
    try:
        with closing(connect_to_read(path)) as connection:
            return bool(connection.execute("PRAGMA user_version").fetchone()[0] == 0)
    except sqlite3.Error:
        return False  # `change_keys` says what is wrong


def change_keys(path: Path, operation: Callable[[KeyLedger], KeyResult]) -> KeyResult:
    """Run an operation in a transaction of its own.

    Raises `BadInput` if there is no store, if its tables have another version, or if it stays busy.
    """
    if not path.exists():
        raise BadInput(f"there is no store {str(path)!r}; `slotwise keys create` creates one")
    check_file(path)
    try:
        return _in_transaction(path, operation)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise BadInput(
                f"the store {str(path)!r} is busy: another process has written to it for {BUSY_SECONDS:g} seconds"
            ) from None
        raise BadInput(f"cannot change the store {str(path)!r}: {error}") from None
    except sqlite3.DatabaseError as error:
        raise BadInput(f"cannot read the store {str(path)!r}: {error}") from None


def _in_transaction(path: Path, operation: Callable[[KeyLedger], KeyResult]) -> KeyResult:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=BUSY_SECONDS
    )
    try:
        check_ours(connection, str(path))
        check_current(connection, str(path))
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")  # a checkpoint could take long
        connection.execute("BEGIN IMMEDIATE")
        try:
            result = operation(ChangeHistory(connection))
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        return result
    finally:
        connection.close()
