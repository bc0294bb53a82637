"""The embedded store: one SQLite file that one process owns."""

import asyncio
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from weakref import WeakSet

from slotwise.checks import BadInput
from slotwise.service.errors import StoreDown
from slotwise.service.store.group_commit import GroupCommit
from slotwise.service.store.interface import NO_CALLBACKS, Reader, StoreCallbacks, TrafficRows
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.records import Display
from slotwise.service.store.sqlite.file_lock import FileLock, check_file
from slotwise.service.store.sqlite.sqlite_ledger import SqliteLedger
from slotwise.service.store.sqlite.sqlite_schema import check_current, check_ours, migrate, version_of
from slotwise.service.store.sqlite.sqlite_transactions import SqliteTransactions

PREFIX = "sqlite:///"
LONGEST_READ = 10.0  # seconds that closing a store waits for a reader
BUSY_SECONDS = 5.0  # how long a transaction waits for another process that writes to the store


def path_of(address: str) -> Path:
    """The path in an address like sqlite:///shop.db."""
    if not address.startswith(PREFIX) or not address[len(PREFIX) :] or "\0" in address:
        raise BadInput(f"store = {address!r} is not an address; sqlite:///PATH is needed, as in sqlite:///slotwise.db")
    path = Path(address[len(PREFIX) :])
    if path.name == ":memory:":
        raise BadInput(f"store = {address!r} would be lost when the service stops; name a file: sqlite:///slotwise.db")
    if not path.parent.is_dir():
        raise BadInput(f"cannot open the store {str(path)!r}: the folder {str(path.parent)!r} does not exist")
    return path


class SqliteStore:
    """A store in one file.

    Create it inside a running event loop. The loop runs its callbacks. `Store` describes the methods.
    """

    def __init__(self, path: Path, callbacks: StoreCallbacks = NO_CALLBACKS) -> None:
        self._readers: WeakSet[SqliteReader] = WeakSet()
        self._lock = FileLock(path)
        self._path = self._lock.path  # not `path`: a symbolic link may point elsewhere later
        try:
            transactions = SqliteTransactions(lambda: _open(self._path), self._open_reader)
            self._writer = GroupCommit(transactions, callbacks)
        except BaseException as error:
            self._lock.release()
            if isinstance(error, sqlite3.Error):
                raise BadInput(f"cannot open the store {str(path)!r}: {error}") from None
            raise
        self._reader: SqliteLedger | None = None
        self._reads: set[asyncio.Future[object]] = set()
        self._read_lock, self._is_closed = threading.Lock(), False  # of `read_here`

    @property
    def waiting(self) -> int:
        return self._writer.waiting

    def add(self, display: Display) -> None:
        self._writer.add(display)

    def do(self, operation: Operation[ResultT], traffic: TrafficRows | None = None) -> "asyncio.Future[ResultT]":
        return self._writer.do(operation, traffic)

    async def read(self, operation: Operation[ResultT]) -> ResultT:
        reading = asyncio.ensure_future(asyncio.to_thread(read_store, self._path, operation))
        self._reads.add(reading)  # type: ignore[arg-type]
        reading.add_done_callback(self._reads.discard)
        try:
            return await asyncio.shield(reading)
        except sqlite3.Error as error:
            raise StoreDown from error

    def read_here(self, operation: Operation[ResultT]) -> ResultT:
        with self._read_lock:
            if self._is_closed:
                raise StoreDown
            try:
                return read_store(self._path, operation)
            except sqlite3.Error as error:
                raise StoreDown from error

    def begin_read(self) -> "asyncio.Future[Reader]":
        return self._writer.begin_read()

    def _open_reader(self) -> Reader:
        reader = SqliteReader(self._path)
        self._readers.add(reader)
        return reader

    @property
    def clock(self) -> None:
        return None

    @property
    def node(self) -> None:
        return None

    @property
    def is_shared(self) -> bool:
        return False

    async def find(self, id: str) -> Display | None:
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
        await asyncio.gather(*self._reads, return_exceptions=True)  # the lock is released after the last connection
        await asyncio.to_thread(self._end_reads_here)
        for reader in list(self._readers):
            await asyncio.to_thread(reader.closed.wait, LONGEST_READ)
        self._lock.release()

    def _end_reads_here(self) -> None:
        with self._read_lock:
            self._is_closed = True


class SqliteReader:
    """A read transaction on a connection of its own. `Reader` describes the methods."""

    def __init__(self, path: Path) -> None:
        self.closed = threading.Event()
        self._connection = connect_to_read(path, check_same_thread=False)
        self._connection.execute("BEGIN")
        self._connection.execute("SELECT 1 FROM meta").fetchone()  # SQLite fixes the moment at the first read

    def read(self, operation: Operation[ResultT]) -> ResultT:
        try:
            return operation(SqliteLedger(self._connection))
        except sqlite3.Error as error:
            raise StoreDown from error
        finally:
            self.close()

    def close(self) -> None:
        self._connection.close()
        self.closed.set()


def read_store(path: Path, operation: Operation[ResultT]) -> ResultT:
    """Run a read-only operation, whether or not a service owns the store."""
    connection = connect_to_read(path)
    try:
        connection.execute("BEGIN")  # one consistent snapshot, even if other groups are committed meanwhile
        return operation(SqliteLedger(connection))
    finally:
        connection.close()


def read_file(path: Path, operation: Operation[ResultT]) -> ResultT:
    """Like `read_store`. Raises BadInput if the file is not a store of this version, or cannot be read."""
    if not path.is_file():
        raise BadInput(f"there is no store {str(path)!r}")
    check_file(path)
    try:
        with closing(connect_to_read(path)) as connection:
            check_ours(connection, str(path))
            check_current(connection, str(path))
        return read_store(path, operation)
    except sqlite3.Error as error:
        raise BadInput(f"cannot read the store {str(path)!r}: {error}") from None


def connect_to_read(path: Path, check_same_thread: bool = True) -> sqlite3.Connection:
    """A read-only connection. It may be open while another process owns the store."""
    address = f"{path.absolute().as_uri()}?mode=ro"
    return sqlite3.connect(
        address, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=check_same_thread
    )


def _open(path: Path) -> tuple[sqlite3.Connection, SqliteLedger]:
    connection = sqlite3.connect(path, isolation_level=None, timeout=BUSY_SECONDS, cached_statements=256)
    try:
        check_ours(connection, str(path))  # before the file is changed in any way
        version_of(connection, str(path))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA wal_autocheckpoint = 4000")
        connection.execute("PRAGMA cache_size = -32768")
        migrate(connection, str(path))
    except BaseException:
        connection.close()
        raise
    return connection, SqliteLedger(connection)
