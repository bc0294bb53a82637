"""Copies of a store from SQLite to PostgreSQL and back: the same rows, also after a copy was killed."""

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from slotwise.checks import BadInput
from slotwise.service.keys.key_changes import KeySpec, create_key
from slotwise.service.maintenance.store_copy import sqlite_end
from slotwise.service.maintenance.store_copy.copied_tables import TABLES
from slotwise.service.maintenance.store_copy.copy_store import copy_store
from slotwise.service.maintenance.store_copy.postgres_end import PostgresTarget, postgres_source
from slotwise.service.maintenance.store_copy.sqlite_end import SqliteTarget, sqlite_source
from slotwise.service.maintenance.store_copy.store_end import CopyProgress, Row, SourceStore
from slotwise.service.maintenance.verify import verify
from slotwise.service.registers import EventKind
from slotwise.service.store.direct_keys import change_any_keys
from slotwise.service.store.interface import TrafficRows
from slotwise.service.store.open_store import is_postgres, open_store
from slotwise.service.store.postgres.postgres_store import create_postgres
from slotwise.service.store.records import Event
from slotwise.service.store.sqlite.sqlite_schema import migrate
from slotwise.service.store.sqlite.sqlite_store import path_of
from tests.postgres_server import PostgresServer

DUMP = Path(__file__).parent.parent / "store" / "written_by" / "version_8_late_import.sql"
ONLY_IN_STORE = {"checksums", "sqlite_sequence"}  # what a copy computes


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A store with displays from before an import, late clicks, a holdout, an event id and a key."""
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(DUMP.read_text())
        migrate(connection, str(path))
    address = f"sqlite:///{path}"
    spec = KeySpec("site", ["serve", "feedback"], pages=["shop"], rate=5.0)
    change_any_keys(address, lambda ledger: create_key(ledger, spec, 1e9))
    click(address, "shop-9", "hero", "event-1")
    prune(address)
    return address


def prune(address: str) -> None:
    """Move two displays from the log to the snapshot."""

    async def move() -> None:
        store = open_store(address)
        ((now,),) = await store.read(
            lambda ledger: ledger.connection.execute("SELECT max(drop_after) + 1 FROM displays").fetchall()  # type: ignore[attr-defined]
        )
        assert await store.do(lambda ledger: ledger.prune(now, 2)) == 2
        await store.close()

    asyncio.run(move())


def click(address: str, display: str, position: str, id: str | None = None) -> str:
    """Send a click to a store, and return its status."""
    events = [Event(EventKind.CLICK, display, None, None, position, id)]

    async def send() -> str:
        store = open_store(address)
        recorded = await store.do(lambda ledger: ledger.record_events(events, 1.0), TrafficRows(events))
        await store.close()
        return recorded.outcomes[0].status

    return asyncio.run(send())


@contextlib.contextmanager
def reading(address: str) -> Iterator[SourceStore]:
    with postgres_source(address) if is_postgres(address) else sqlite_source(path_of(address)) as opened:
        yield opened


def rows_of(address: str) -> dict[str, list[Row]]:
    """What two copies of a store have in common."""
    with reading(address) as opened:
        rows = {
            table.name: [row[: table.n_compared] for chunk in opened.rows(table) for row in chunk] for table in TABLES
        }
        return rows | {"last number": [(opened.last_number(),)]}


def counts_of(address: str) -> Any:
    async def read() -> Any:
        store = open_store(address)
        counts = await store.read(lambda ledger: ledger.counts(1))
        await store.close()
        return sorted(counts.cells), counts.displays, counts.revision

    return asyncio.run(read())


def test_a_copy_to_postgres_and_back_is_the_same_store(source: str, postgres: PostgresServer, tmp_path: Path) -> None:
    address, back = postgres.database(), f"sqlite:///{tmp_path}/back.db"
    original = rows_of(source)
    assert [name for name, rows in original.items() if not rows] == [], "they are not tested"
    copied = copy_store(source, address)
    assert (copied.pages, copied.keys, copied.displays, copied.resumed) == (1, 1, 12, False)
    assert rows_of(address) == original
    assert counts_of(address) == counts_of(source)
    copy_store(address, back)
    assert rows_of(back) == original
    assert counts_of(back) == counts_of(source)
    for store in (address, back):  # a late click on a display from before the import changes the rates only
        before = counts_of(store)
        assert click(store, "shop-3", "left") == "accepted"
        assert counts_of(store)[:2] == before[:2]
        assert click(store, "shop-12", "left", "event-1") == "conflict"
        assert click(store, "shop-12", "left") == "accepted"
        assert counts_of(store) != before
        assert verify(store).differences == []


def test_every_column_is_copied(source: str) -> None:
    copied = {table.name: set(table.columns) - {"counted"} for table in TABLES}
    with contextlib.closing(sqlite3.connect(path_of(source))) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in set(tables) - ONLY_IN_STORE:
            columns = {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
            assert {column.strip('"') for column in copied[name]} == columns, name


@pytest.mark.parametrize("target", [PostgresTarget, SqliteTarget])
def test_a_copy_that_fails_at_any_commit_goes_on(
    target: Any, source: str, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each try commits two chunks of five rows, and then ends between two commits, or after the last one."""
    address, back = postgres.database(), f"sqlite:///{tmp_path}/back.db"
    original = rows_of(source)
    if target is SqliteTarget:
        copy_store(source, address)
    start, end = (source, address) if target is PostgresTarget else (address, back)
    monkeypatch.setattr(f"{target.__module__}.AT_ONCE", 5)
    monkeypatch.setattr(sqlite_end, "AT_ONCE", 5)
    write, commits = target.write, 0

    def fail(self: Any, table: Any, rows: Any, progress: CopyProgress) -> None:
        nonlocal commits
        if commits == 2:
            raise KeyboardInterrupt
        commits += 1
        write(self, table, rows, progress)

    monkeypatch.setattr(target, "write", fail)
    tries = 0
    while True:
        commits, tries = 0, tries + 1
        try:
            copied = copy_store(start, end)
            break
        except KeyboardInterrupt:
            with pytest.raises(BadInput, match=r"not complete|no store"):
                change_any_keys(end, lambda ledger: ledger.keys())
    assert tries > 15
    assert copied.resumed
    assert rows_of(end) == original


KILLED = """
import os, signal, sys
from slotwise.service.maintenance.store_copy import copy_store, sqlite_end
from slotwise.service.maintenance.store_copy.sqlite_end import SqliteTarget
from slotwise.service.maintenance.store_copy.postgres_end import PostgresTarget
sqlite_end.AT_ONCE = 5
target = {"sqlite": SqliteTarget, "postgresql": PostgresTarget}[sys.argv[2].partition(":")[0]]
step, left = getattr(target, sys.argv[3]), [int(sys.argv[4])]
def killed(self, *args):
    step(self, *args)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
setattr(target, sys.argv[3], killed)
copy_store.copy_store(sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("step", ["write", "finish"])
def test_a_copy_that_is_killed_goes_on(step: str, source: str, postgres: PostgresServer, tmp_path: Path) -> None:
    address, back = postgres.database(), f"sqlite:///{tmp_path}/back.db"
    original = rows_of(source)
    for start, end in ((source, address), (address, back)):
        number = "20" if step == "write" else "1"
        killed = subprocess.run([sys.executable, "-c", KILLED, start, end, step, number], check=False)
        assert killed.returncode < 0
        assert copy_store(start, end).resumed
        assert rows_of(end) == original
    assert not list(tmp_path.glob("*.copying*"))


def test_a_copy_is_refused_where_it_would_lose_something(
    source: str, postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, other, file = postgres.database(), postgres.database(), f"sqlite:///{tmp_path}/back.db"
    for start, end in ((source, file), (address, other)):
        with pytest.raises(BadInput, match="from SQLite to PostgreSQL or back"):
            copy_store(start, end)
    with pytest.raises(BadInput, match="no store"):
        copy_store(file, address)
    with pytest.raises(BadInput, match="no store"):
        copy_store(address, file)
    assert not (tmp_path / "back.db").exists()

    async def in_use(address: str, start: str, end: str) -> None:
        store = open_store(address)
        try:
            with pytest.raises(BadInput, match=r"in use|nodes use"):
                await asyncio.to_thread(copy_store, start, end)
        finally:
            await store.close()

    asyncio.run(in_use(source, source, address))
    copy_store(source, address)
    asyncio.run(in_use(address, address, file))
    with pytest.raises(BadInput, match="not empty"):
        copy_store(source, address)
    with pytest.raises(BadInput, match="exists"):
        copy_store(address, source)
    with psycopg.connect(other) as connection:
        connection.execute("CREATE TABLE theirs (x INTEGER)")
    with pytest.raises(BadInput, match="not those of a slotwise store"):
        copy_store(source, other)


def test_a_source_that_changes_between_two_tries_is_found(
    source: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.database()
    with monkeypatch.context() as patched:
        patched.setattr(PostgresTarget, "finish", lambda *_: os.kill(os.getpid(), 2))
        with pytest.raises(KeyboardInterrupt):
            copy_store(source, address)
    assert click(source, "shop-12", "left") == "accepted"
    with pytest.raises(BadInput, match="the source has changed"):
        copy_store(source, address)


def test_a_damaged_source_and_a_damaged_copy_are_found(
    source: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, other = postgres.database(), postgres.database()
    create_postgres(address)  # a store without any row is empty
    finish = PostgresTarget.finish

    def damage(self: Any, progress: CopyProgress) -> None:
        finish(self, progress)
        self._connection.execute("UPDATE items SET version = 7 WHERE number = 0 AND page = 1")

    with monkeypatch.context() as patched:
        patched.setattr(PostgresTarget, "finish", damage)
        with pytest.raises(BadInput, match="other rows of the table items"):
            copy_store(source, address)
    with contextlib.closing(sqlite3.connect(path_of(source))) as connection, connection:
        connection.execute("UPDATE items SET version = 7 WHERE number = 0 AND page = 1")
    with pytest.raises(BadInput, match="finds a difference: the table items"):
        copy_store(source, other)


def test_the_progress_ends_with_all_rows(source: str, postgres: PostgresServer) -> None:
    reported: list[tuple[int, int]] = []
    copy_store(source, postgres.database(), lambda done, total: reported.append((done, total)))
    assert reported == sorted(reported)
    assert reported[-1][0] == reported[-1][1]
