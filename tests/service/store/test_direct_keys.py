"""Keys are changed in a store directly: with and without a service on it, and never in a store of another version."""

import asyncio
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.service.keys.api_keys import NewKey
from slotwise.service.keys.key_changes import KeySpec, create_key
from slotwise.service.maintenance.verify import verify
from slotwise.service.store import direct_keys
from slotwise.service.store.direct_keys import change_keys, create_store
from slotwise.service.store.ledger import KeyLedger
from slotwise.service.store.sqlite.file_lock import FileLock
from slotwise.service.store.sqlite.sqlite_schema import MIGRATIONS
from slotwise.service.store.sqlite.sqlite_store import SqliteStore
from tests.command_line import COMMAND
from tests.waiting import HANG


def new_key(ledger: KeyLedger) -> NewKey:
    return create_key(ledger, KeySpec("web", ["serve"]), time.time())


def test_a_store_is_created_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    for known in (1, 2):
        create_store(path)
        change_keys(path, new_key)
        assert len(change_keys(path, lambda ledger: ledger.keys())) == known
    assert verify(path).differences == []


def test_two_commands_create_the_same_store_at_once(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    create = [*COMMAND, "keys", "create", "--store", f"sqlite:///{path}", "--scope", "read", "--json", "--name"]
    commands = [
        subprocess.Popen([*create, name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for name in ("first", "second")
    ]
    for command in commands:
        _, errors = command.communicate(timeout=HANG)
        assert command.returncode == 0, errors
    assert {key.name for key in change_keys(path, lambda ledger: ledger.keys())} == {"first", "second"}
    assert verify(path).differences == []


def test_a_store_that_another_process_creates_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    lock = FileLock(path)  # as the other process holds it; the file has no tables yet
    threading.Timer(0.2, lock.release).start()
    create_store(path)
    assert change_keys(path, lambda ledger: ledger.keys()) == []


def test_a_key_is_created_while_a_service_writes(tmp_path: Path) -> None:
    path = tmp_path / "store.db"

    async def scenario() -> None:
        store = SqliteStore(path)
        changing = asyncio.create_task(asyncio.to_thread(change_keys, path, new_key))
        while not changing.done():
            await store.do(lambda ledger: ledger.check_writable())
        new = await changing
        assert await store.read(lambda ledger: ledger.keys()) == [new.key]
        assert await store.do(lambda ledger: ledger.key(new.key.id)) == new.key
        await store.close()

    asyncio.run(scenario())


def test_a_busy_store_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    create_store(path)
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: other.execute("COMMIT")).start()
    change_keys(path, new_key)
    other.close()


def test_a_store_that_stays_busy_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    create_store(path)
    monkeypatch.setattr(direct_keys, "BUSY_SECONDS", 0.05)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(BadInput, match="busy"):
        change_keys(path, new_key)
    other.close()
    assert change_keys(path, lambda ledger: ledger.keys()) == []


def set_version(path: Path, version: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()


def no_tables(path: Path) -> None:
    path.write_bytes(b"not a database, but long enough to be one " * 100)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda path: set_version(path, len(MIGRATIONS) - 1), "slotwise serve"),
        (lambda path: set_version(path, len(MIGRATIONS) + 1), "newer"),
        (no_tables, "not a database"),
    ],
    ids=["an older version", "a newer version", "another file"],
)
def test_another_version_is_refused_and_not_changed(tmp_path: Path, spoil: Callable[[Path], None], reason: str) -> None:
    path = tmp_path / "store.db"
    create_store(path)
    spoil(path)
    before = path.read_bytes()
    create_store(path)
    with pytest.raises(BadInput, match=reason):
        change_keys(path, new_key)
    assert path.read_bytes() == before


def test_an_operation_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    create_store(path)

    def fail(ledger: KeyLedger) -> None:
        new_key(ledger)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        change_keys(path, fail)
    assert change_keys(path, lambda ledger: (ledger.keys(), ledger.keys_version())) == ([], 0)


def test_only_create_creates_a_store(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="slotwise keys create"):
        change_keys(tmp_path / "store.db", lambda ledger: ledger.keys())
    assert list(tmp_path.iterdir()) == []
