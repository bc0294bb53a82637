"""Back up a store to one file while a service runs on it, and restore a store from such a file."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.files import beside
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.sqlite.file_lock import FileLock, check_file
from slotwise.service.store.sqlite.sqlite_schema import check_current, check_ours, migrate
from slotwise.service.store.sqlite.sqlite_store import connect_to_read

SIDE_FILES = ("-wal", "-shm", "-journal")  # SQLite keeps files with these endings beside a database
STEP = 1_000  # pages of the database that are copied between two reports of the progress
Report = Callable[[int, int], None]  # called with the number of pages that are copied, and of all pages


class Copied(NamedTuple):
    """What a backup has, or a restored store."""

    path: str
    n_bytes: int
    displays: int
    events: int


def back_up(store: Path, target: Path, report: Report = lambda _done, _total: None) -> Copied:
    """Copy a store to one file, check the copy, and then replace `target` by it. A service may use the store meanwhile.

    The copy has every event that was accepted before the call. If anything fails, `target` stays as it is.
    """
    _check_source(store)
    _check_name(target)
    if target.exists():
        if target.samefile(store):
            raise BadInput(f"{str(target)!r} is the store itself; name another file")
        _check_not_in_use(target)
    else:
        _check_nothing_left(target)
    with beside(target, private=True) as draft:
        _copy(store, draft, report)
        copied = _check(draft, target)
        if target.exists():
            _remove_log(target.resolve())
        return copied


def restore(backup: Path, store: Path, replace: bool = False, report: Report = lambda _done, _total: None) -> Copied:
    """Check a backup, and make it the store. A backup that an older slotwise wrote is migrated.

    Raises BadInput if a service uses the store. An existing store is refused unless `replace` is set. If anything
    fails, it stays as it is.
    """
    _check_source(backup)
    _check_name(store)
    existed = store.exists()
    if existed and not replace:
        raise BadInput(f"the store {str(store)!r} exists; replace it with --replace, or name another file")
    if existed and store.samefile(backup):
        raise BadInput(f"{str(backup)!r} is the store itself; name another file")
    lock = FileLock(store)
    try:
        with beside(lock.path, private=True) as draft:
            _copy(backup, draft, report, any_version=True)
            copied = _check(draft, store)
            _remove_log(lock.path)
        return copied
    except BaseException:
        if not existed:
            lock.path.unlink(missing_ok=True)
        raise
    finally:
        lock.release()


def _check_source(path: Path) -> None:
    if not path.is_file():
        raise BadInput(f"there is no store {str(path)!r}")
    check_file(path)


def _check_name(path: Path) -> None:
    """Raise BadInput if SQLite would take this file for a part of another database."""
    for name in (path.name, path.resolve().name):
        if name.endswith(SIDE_FILES):
            raise BadInput(f"{str(path)!r} has the name of a file that SQLite keeps beside a store; name another file")


def _check_nothing_left(path: Path) -> None:
    """Raise BadInput if files of an earlier database are beside this path. SQLite would apply them to the new file."""
    for suffix in SIDE_FILES:
        side = Path(f"{os.fspath(path.resolve())}{suffix}")
        if side.exists():
            raise BadInput(f"{str(side)!r} is left of an earlier store; delete it, or name another file for the backup")


def _check_not_in_use(path: Path) -> None:
    """Raise BadInput if a service uses this file as its store."""
    FileLock(path).release()


def _copy(source: Path, draft: Path, report: Report, any_version: bool = False) -> None:
    """Copy a database. One transaction lasts until the end, because SQLite starts again if the source changes.

    If `any_version` is set, the copy of an older version is migrated. Otherwise the version must be the current one.
    """
    try:
        with (
            closing(connect_to_read(source)) as reader,
            closing(sqlite3.connect(draft, isolation_level=None)) as writer,
        ):
            check_ours(reader, str(source))
            if not any_version:
                check_current(reader, str(source))
            elif reader.execute("PRAGMA user_version").fetchone() == (0,):
                raise BadInput(f"{str(source)!r} is not a backup: it has no tables")
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the snapshot begins here
            writer.execute("PRAGMA journal_mode = OFF")  # a draft that fails is deleted
            writer.execute("PRAGMA synchronous = OFF")  # the draft is flushed when it is complete
            reader.backup(writer, pages=STEP, progress=lambda _, left, total: report(total - left, total))
            if any_version:
                migrate(writer, str(source))
            writer.execute("PRAGMA journal_mode = DELETE")  # one file, without a write-ahead log
    except sqlite3.Error as error:
        raise BadInput(f"cannot copy the store {str(source)!r}: {error}") from None


def _check(draft: Path, target: Path) -> Copied:
    verdict = verify(draft)
    if verdict.differences:
        raise BadInput(f"{str(target)!r} is not written, because the copy fails the check: {verdict.differences[0]}")
    return Copied(str(target), draft.stat().st_size, verdict.displays, verdict.events)


def _remove_log(path: Path) -> None:
    """Move the write-ahead log of the old store into its file. SQLite would apply it to the new one."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:  # if the old store is damaged, its log is of no use
        if error.sqlite_errorcode not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise BadInput(f"cannot replace the store {str(path)!r}: {error}") from None
        for suffix in SIDE_FILES:
            Path(f"{os.fspath(path)}{suffix}").unlink(missing_ok=True)
