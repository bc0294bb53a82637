"""Open the store that an address names. Only the packages of that store are imported."""

from pathlib import Path

from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.service.store.interface import NO_CALLBACKS, Store, StoreCallbacks
from slotwise.service.store.ledger import Operation, ResultT
from slotwise.service.store.sqlite.sqlite_store import PREFIX, SqliteStore, path_of, read_file

POSTGRES_PREFIXES = ("postgresql://", "postgres://")
SCHEMES = f"{PREFIX}PATH or postgresql://USER@HOST/DATABASE"


def is_postgres(address: str) -> bool:
    """Whether an address names a PostgreSQL database."""
    return address.startswith(POSTGRES_PREFIXES)


def open_store(store: Path | str, callbacks: StoreCallbacks = NO_CALLBACKS) -> Store:
    """Open a store inside a running event loop: a SQLite file, or what an address names."""
    if isinstance(store, Path):
        return SqliteStore(store, callbacks)
    if not is_postgres(store):
        return SqliteStore(path_of(store), callbacks)
    require("postgres", "a PostgreSQL store")
    from slotwise.service.store.postgres.postgres_store import PostgresStore

    return PostgresStore(store, callbacks)


def sqlite_path(address: str, command: str, instead: str) -> Path:
    """The path of a SQLite store. Raises BadInput for another store, and says what to use instead of the command."""
    if is_postgres(address):
        raise BadInput(f"{command} copies SQLite stores only; {instead}")
    return path_of(address)


def read_committed(store: Path | str, operation: Operation[ResultT]) -> ResultT:
    """Run a read-only operation on a store, while services may run on it. Raises BadInput if this fails."""
    if isinstance(store, str) and is_postgres(store):
        require("postgres", "a PostgreSQL store")
        from slotwise.service.store.postgres.postgres_store import read_postgres

        return read_postgres(store, operation)
    return read_file(store if isinstance(store, Path) else path_of(store), operation)
