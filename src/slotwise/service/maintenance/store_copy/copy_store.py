"""Copy a store to an empty one of another kind, in steps. A copy that was killed goes on where it was.

At the end, all rows of both stores are compared, and the counts are recomputed from the log.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.service.maintenance.store_copy.copied_tables import TABLES, CopiedTable
from slotwise.service.maintenance.store_copy.sqlite_end import sqlite_source, sqlite_target
from slotwise.service.maintenance.store_copy.store_end import CopyProgress, Row, SourceStore, TargetStore
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.open_store import is_postgres
from slotwise.service.store.sqlite.sqlite_store import path_of
from slotwise.service.store.tables.checksums import MODULUS, hash_of

Report = Callable[[int, int], None]  # called with the number of rows that are done, and of all rows


class CopiedStore(NamedTuple):
    """What a copy has."""

    pages: int
    items: int
    keys: int
    displays: int
    events: int
    resumed: bool  # whether an earlier command had copied a part


def copy_store(source: str, target: str, report: Report = lambda _done, _total: None) -> CopiedStore:
    """Copy a store. Raises BadInput if a service uses it, or if the target is not empty.

    If the copy is interrupted, the next call goes on. The target is no store before it is complete and compared.
    """
    if is_postgres(source) == is_postgres(target):
        raise BadInput("a copy goes from SQLite to PostgreSQL or back; slotwise backup and pg_dump copy the others")
    require("postgres", "a PostgreSQL store")
    with _source(source) as copied, _target(target) as copy:
        if damage := verify(source).differences:
            raise BadInput(f"the store is not copied, because slotwise verify finds a difference: {damage[0]}")
        progress = copy.progress()
        resumed = progress is not None
        if progress is None:
            progress = CopyProgress(_name(source), last_number=copied.last_number())
            copy.write(None, [], progress)
        elif progress.source != _name(source):
            raise BadInput(f"{target} has a part of a copy of another store; delete it, and copy again")
        total = 2 * sum(map(copied.count, TABLES))  # rows are read, and compared
        _copy_rows(copied, copy, progress, lambda done: report(done, total))
        copy.finish(progress)
        if resumed:
            _check_unchanged(copied, progress)
        _compare(copy, progress, lambda done: report(total // 2 + done, total))
        n = {table.name: copy.count(table) for table in TABLES}
        copy.publish()
        return CopiedStore(n["pages"], n["items"], n["keys"], n["displays"], n["events"], resumed)


def _source(address: str) -> AbstractContextManager[SourceStore]:
    if not is_postgres(address):
        return sqlite_source(path_of(address))
    from slotwise.service.maintenance.store_copy.postgres_end import postgres_source

    return postgres_source(address)


def _target(address: str) -> AbstractContextManager[TargetStore]:
    if not is_postgres(address):
        return sqlite_target(path_of(address))
    from slotwise.service.maintenance.store_copy.postgres_end import postgres_target

    return postgres_target(address)


def _name(address: str) -> str:
    """What identifies a source, without its password."""
    if not is_postgres(address):
        return str(path_of(address).resolve())
    from slotwise.service.store.postgres.postgres_store import described

    return described(address)


def _copy_rows(source: SourceStore, target: TargetStore, progress: CopyProgress, report: Callable[[int], None]) -> None:
    report(progress.rows)
    for k, table in enumerate(TABLES):
        if k < progress.table:
            continue
        if len(progress.sums) == k:
            progress.sums.append(0)
        for rows in source.rows(table, progress.after):
            progress.sums[k] = (progress.sums[k] + _sum(table, rows)) % MODULUS
            progress.after, progress.rows = list(rows[-1][: table.n_keys]), progress.rows + len(rows)
            target.write(table, rows, progress)
            report(progress.rows)
        progress.table, progress.after = k + 1, []
        target.write(None, [], progress)


def _check_unchanged(source: SourceStore, progress: CopyProgress) -> None:
    """Raise BadInput if the source has other rows than those that were copied."""
    for table, copied in zip(TABLES, progress.sums, strict=True):
        if sum(_sum(table, rows) for rows in source.rows(table)) % MODULUS != copied:
            raise BadInput("the source has changed since the copy began: delete the copy, and copy again")


def _sum(table: CopiedTable, rows: Sequence[Row]) -> int:
    return sum(hash_of(row[: table.n_compared]) for row in rows)


def _compare(target: TargetStore, progress: CopyProgress, report: Callable[[int], None]) -> None:
    """Raise BadInput unless the target has the rows of the source, and counts that follow from its log."""
    done = 0
    for table, copied in zip(TABLES, progress.sums, strict=True):
        found = 0
        for rows in target.rows(table):
            found += _sum(table, rows)
            done += len(rows)
            report(done)
        if found % MODULUS != copied:
            raise BadInput(f"the copy has other rows of the table {table.name}; delete the copy, and copy again")
    if target.last_number() != progress.last_number:
        raise BadInput("the copy would number its displays differently; delete the copy, and copy again")
    if differences := target.differences():
        raise BadInput(f"the copy fails the check; delete it, and copy again: {differences[0]}")
