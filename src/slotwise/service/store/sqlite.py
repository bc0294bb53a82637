"""The embedded store: one SQLite file, owned by one process."""

import asyncio
import fcntl
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import IO

from slotwise.checks import BadInput
from slotwise.service.errors import StoreDown
from slotwise.service.store.group_commit import GroupCommit
from slotwise.service.store.interface import Answer, Display, Operation
from slotwise.service.store.ledger import SqliteLedger
from slotwise.service.store.migrations import check_ours, migrate

PREFIX = "sqlite:///"


def path_of(address: str) -> Path:
    """The file that an address like sqlite:///shop.db names."""
    if not address.startswith(PREFIX) or not address[len(PREFIX) :] or "\0" in address:
        raise BadInput(f"store = {address!r} is not an address; sqlite:///PATH is needed, as in sqlite:///slotwise.db")
    path = Path(address[len(PREFIX) :])
    if not path.parent.is_dir():
        raise BadInput(f"cannot open the store {str(path)!r}: the folder {str(path.parent)!r} does not exist")
    return path


class SqliteStore:
    """Made inside a running event loop, on which it answers."""

    def __init__(
        self,
        path: Path,
        watch: Callable[[int, float], None] = lambda *_: None,
        failed: Callable[[], None] = lambda: None,
        recovered: Callable[[], None] = lambda: None,
        dropped: Callable[[list[Display]], None] = lambda _: None,
    ) -> None:
        self._path = path
        self._lock = _lock(path)
        try:
            self._writer = GroupCommit(lambda: _open(path), watch, failed, recovered, dropped)
        except BaseException as error:
            self._lock.close()
            if isinstance(error, sqlite3.Error):
                raise BadInput(f"cannot open the store {str(path)!r}: {error}") from None
            raise
        self._reader: SqliteLedger | None = None

    @property
    def waiting(self) -> int:
        """How much waits to be committed."""
        return self._writer.waiting

    def add(self, display: Display) -> None:
        """Commit a display with the next group; nobody waits for it."""
        self._writer.add(display)

    def do(self, operation: Operation[Answer]) -> "asyncio.Future[Answer]":
        """Run an operation in the next group; answered when the group is committed, else StoreDown."""
        return self._writer.do(operation)

    async def read(self, operation: Operation[Answer]) -> Answer:
        """Run an operation that only reads, beside the groups, on what is committed."""
        try:
            return await asyncio.to_thread(read_store, self._path, operation)
        except sqlite3.Error as error:
            raise StoreDown from error

    def peek(self, id: str) -> Display | None:
        """A committed display, at once: a look into the index takes less than handing it to a thread."""
        try:
            if self._reader is None:
                self._reader = SqliteLedger(connect_to_read(self._path))
            self._reader.forget()
            return self._reader.display(id)
        except sqlite3.Error as error:
            raise StoreDown from error

    async def close(self) -> None:
        """Commit what waits, then let go of the store."""
        if self._reader is not None:
            self._reader.close()  # first: whoever closes last folds the write-ahead log in, and a reader cannot
        await self._writer.close()
        self._lock.close()


def read_store(path: Path, operation: Operation[Answer]) -> Answer:
    """Run an operation that only reads, whether or not a service owns the store."""
    connection = connect_to_read(path)
    try:
        connection.execute("BEGIN")  # one view of the store, whatever is committed meanwhile
        return operation(SqliteLedger(connection))
    finally:
        connection.close()


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, beside whoever owns the store."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


def _open(path: Path) -> tuple[sqlite3.Connection, SqliteLedger]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=5.0, cached_statements=256)
    check_ours(connection, str(path))  # before anything in it is changed
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 4000")
    connection.execute("PRAGMA cache_size = -32768")
    migrate(connection, str(path))
    return connection, SqliteLedger(connection)


def _lock(path: Path) -> IO[bytes]:
    """A lock that the operating system takes back when the process ends, however it ends."""
    file = path.resolve()  # by whatever links it is called, a store has one lock
    try:
        handle = file.with_name(file.name + ".lock").open("wb")
    except OSError as error:
        raise BadInput(f"cannot open the store {str(path)!r}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise BadInput(f"the store {str(path)!r} is in use by another process; stop that one first") from None
    return handle
