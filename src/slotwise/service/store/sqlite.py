"""The embedded store: one SQLite file that one process owns."""

import asyncio
import fcntl
import sqlite3
from pathlib import Path
from typing import IO

from slotwise.checks import BadInput
from slotwise.service.errors import StoreDown
from slotwise.service.store.group_commit import GroupCommit
from slotwise.service.store.interface import NO_CALLBACKS, Display, Operation, ResultT, StoreCallbacks
from slotwise.service.store.migrations import check_ours, migrate
from slotwise.service.store.sqlite_ledger import SqliteLedger

PREFIX = "sqlite:///"


def path_of(address: str) -> Path:
    """The path in an address like sqlite:///shop.db."""
    if not address.startswith(PREFIX) or not address[len(PREFIX) :] or "\0" in address:
        raise BadInput(f"store = {address!r} is not an address; sqlite:///PATH is needed, as in sqlite:///slotwise.db")
    path = Path(address[len(PREFIX) :])
    if not path.parent.is_dir():
        raise BadInput(f"cannot open the store {str(path)!r}: the folder {str(path.parent)!r} does not exist")
    return path


class SqliteStore:
    """A store in one file.

    Create it inside a running event loop. The loop runs its callbacks. `Store` describes the methods.
    """

    def __init__(self, path: Path, callbacks: StoreCallbacks = NO_CALLBACKS) -> None:
        self._path = path
        self._lock = _lock(path)
        try:
            self._writer = GroupCommit(lambda: _open(path), callbacks)
        except BaseException as error:
            self._lock.close()
            if isinstance(error, sqlite3.Error):
                raise BadInput(f"cannot open the store {str(path)!r}: {error}") from None
            raise
        self._reader: SqliteLedger | None = None

    @property
    def waiting(self) -> int:
        return self._writer.waiting

    def add(self, display: Display) -> None:
        self._writer.add(display)

    def do(self, operation: Operation[ResultT]) -> "asyncio.Future[ResultT]":
        return self._writer.do(operation)

    async def read(self, operation: Operation[ResultT]) -> ResultT:
        return await asyncio.to_thread(self.read_here, operation)

    def read_here(self, operation: Operation[ResultT]) -> ResultT:
        try:
            return read_store(self._path, operation)
        except sqlite3.Error as error:
            raise StoreDown from error

    def peek(self, id: str) -> Display | None:
        """Look up a display on this thread, because that takes less time than switching to another thread."""
        try:
            if self._reader is None:
                self._reader = SqliteLedger(connect_to_read(self._path))
            self._reader.forget()
            return self._reader.display(id)
        except sqlite3.Error as error:
            raise StoreDown from error

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.close()  # before the writer, because the last connection checkpoints the WAL
        await self._writer.close()
        self._lock.close()


def read_store(path: Path, operation: Operation[ResultT]) -> ResultT:
    """Run a read-only operation, whether or not a service owns the store."""
    connection = connect_to_read(path)
    try:
        connection.execute("BEGIN")  # one consistent snapshot, even if other groups are committed meanwhile
        return operation(SqliteLedger(connection))
    finally:
        connection.close()


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection. It may be open while another process owns the store."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _open(path: Path) -> tuple[sqlite3.Connection, SqliteLedger]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=5.0, cached_statements=256)
    check_ours(connection, str(path))  # before the file is changed in any way
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("PRAGMA cache_size = -32768")
    migrate(connection, str(path))
    return connection, SqliteLedger(connection)


def _lock(path: Path) -> IO[bytes]:
    """A lock that the operating system releases when the process ends, even if it crashes."""
    file = path.resolve()  # a store has one lock, even if several links point to it
    try:
        handle = file.with_name(file.name + ".lock").open("wb")
    except OSError as error:
        raise BadInput(f"cannot open the store {str(path)!r}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise BadInput(f"the store {str(path)!r} is in use by another process; stop that process first") from None
    return handle
