"""Backups of a store in use, and restored stores. Backups that are killed leave their target as it was."""

import contextlib
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.service.maintenance.backup import back_up, restore
from slotwise.service.maintenance.verify import verify
from tests.service.running_service import ITEMS, POSITIONS, Client, Process, process, run_scenario
from tests.waiting import wait_until

KILLED = """
import os, signal, sys
from pathlib import Path
from slotwise.service.maintenance import backup

source, target = map(Path, sys.argv[1:])
before = target.read_bytes()

def end(*_):
    os.kill(os.getpid(), signal.SIGKILL)

def run(action, when):
    backup.STEP = 1
    def report(done, total):
        if {"first page": done == 1, "half": done == total // 2, "last page": done == total}.get(when):
            end()
    if when == "before the check":
        backup.verify = end
    if when == "before the rename":
        Path.replace = end
    backup.back_up(source, target, report) if action == "backup" else backup.restore(source, target, True, report)

for action in ("backup", "restore"):
    for when in ("first page", "half", "last page", "before the check", "before the rename"):
        child = os.fork()
        if not child:
            run(action, when)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL, (action, when)
        assert target.read_bytes() == before, (action, when)
print("done")
"""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two displays and two clicks."""
    folder = tmp_path_factory.mktemp("original")

    async def scenario(client: Client) -> None:
        await client.page()
        for _ in range(2):
            shown = await client.recommend()
            event = {"type": "click", "token": shown["token"], "position": "hero"}
            assert await client.send(event) == ["accepted"]

    run_scenario(folder, scenario)
    return folder / "store.db"


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "store.db"))


def clicked(path: Path) -> set[str]:
    """The displays with an accepted click in a store."""
    query = "SELECT id FROM displays JOIN events ON display = number WHERE kind = 1 AND accepted"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return {id for (id,) in connection.execute(query)}


class Load:
    """Clicks, sent by threads until the block ends. `accepted` has the displays whose click was accepted."""

    def __init__(self, server: Process) -> None:
        self._server, self._over, self.accepted = server, threading.Event(), set[str]()
        self._threads = [threading.Thread(target=self._visit) for _ in range(2)]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _visit(self) -> None:
        http = self._server.http
        while not self._over.is_set():
            shown = http.post("/v1/pages/shop/recommendations", json={}).raise_for_status().json()
            event = {"type": "click", "display": shown["id"], "position": "hero"}
            answer = http.post("/v1/events", json={"events": [event]}).raise_for_status().json()
            assert answer["results"] == [{"status": "accepted"}]
            self.accepted.add(shown["id"])


def test_a_backup_under_load_has_every_event_accepted_before(tmp_path: Path, slotwise) -> None:
    store, target, restored = (tmp_path / name for name in ("store.db", "backup.db", "restored.db"))
    with process(store) as server:
        server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
        with Load(server) as load:
            wait_until(lambda: len(load.accepted) > 50)
            before = set(load.accepted)
            made = slotwise("backup", str(target), "--store", f"sqlite:///{store}", "--json").json()
        refused = slotwise("restore", str(target), "--store", f"sqlite:///{store}", "--replace")
        refused.assert_refused("in use by another process")
        slotwise("backup", str(store), "--store", f"sqlite:///{target}").assert_refused("in use")
        assert server.stop() == 0
    slotwise("restore", str(target), "--store", f"sqlite:///{restored}", "--json").json()
    assert verify(restored).differences == []
    assert before <= clicked(restored) <= load.accepted
    assert made["events"] == len(clicked(restored))
    assert verify(store).differences == []


def test_a_killed_copy_leaves_the_target_as_it_was(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.db"
    shutil.copy(store, target)
    with contextlib.closing(sqlite3.connect(target)) as connection:
        connection.executescript("PRAGMA journal_mode = DELETE; UPDATE meta SET value = 99 WHERE key = 'heartbeat';")
    done = subprocess.run([sys.executable, "-c", KILLED, str(store), str(target)], capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr
    assert verify(target).differences == []
    back_up(store, target)
    assert clicked(target) == clicked(store)


def test_a_backup_is_one_private_file(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "folder" / "backup.db"
    target.parent.mkdir()
    seen: list[tuple[int, int]] = []
    copied = back_up(store, target, lambda *progress: seen.append(progress))
    assert (copied.displays, copied.events, copied.n_bytes) == (2, 2, target.stat().st_size)
    assert [file.name for file in target.parent.iterdir()] == ["backup.db"]
    assert target.stat().st_mode & 0o777 == 0o600
    assert seen[-1][0] == seen[-1][1] > 0


def test_a_damaged_store_is_neither_backed_up_nor_restored(store: Path, tmp_path: Path) -> None:
    good, damaged = tmp_path / "good.db", tmp_path / "damaged.db"
    back_up(store, good)
    before = good.read_bytes()
    shutil.copy(good, damaged)
    with contextlib.closing(sqlite3.connect(damaged, isolation_level=None)) as connection:
        connection.execute("UPDATE counts SET clicks = clicks + 1")
    for call in (lambda: back_up(damaged, good), lambda: restore(damaged, good, replace=True)):
        with pytest.raises(BadInput, match="fails the check"):
            call()
    assert good.read_bytes() == before
    with pytest.raises(BadInput, match="fails the check"):
        restore(damaged, tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


@pytest.mark.parametrize("replace", ["restore", "back up"])
def test_the_log_of_a_replaced_store_is_not_applied_to_the_new_one(store: Path, tmp_path: Path, replace: str) -> None:
    """After a crash, the events of the old store are still in its write-ahead log."""
    backup, expected = tmp_path / "backup.db", clicked(store)
    back_up(store, backup)
    crashed = tmp_path / "crashed.db"

    async def add_events(client: Client) -> None:
        shown = await client.recommend()
        await client.send({"type": "click", "token": shown["token"], "position": "hero"})
        for suffix in ("", "-wal"):
            shutil.copy(f"{store}{suffix}", f"{crashed}{suffix}")

    run_scenario(tmp_path, add_events)
    assert Path(f"{crashed}-wal").stat().st_size > 0
    if replace == "restore":
        restore(backup, crashed, replace=True)
    else:
        back_up(backup, crashed)
    assert not Path(f"{crashed}-wal").exists()
    assert clicked(crashed) == expected
    assert verify(crashed).differences == []


def test_files_that_belong_to_a_store_are_not_written(store: Path, tmp_path: Path, slotwise) -> None:
    """SQLite would take the backup for a part of the store beside it, or a part that is left for one of the backup."""
    back_up(store, tmp_path / "backup.db")
    for suffix in ("-wal", "-shm", "-journal"):
        refused = slotwise("backup", f"{store}{suffix}", "--store", f"sqlite:///{store}")
        refused.assert_refused("keeps beside a store")
        refused = slotwise("restore", str(tmp_path / "backup.db"), "--store", f"sqlite:///{store}{suffix}", "--replace")
        refused.assert_refused("keeps beside a store")
        left = Path(f"{tmp_path / 'new.db'}{suffix}")
        left.write_bytes(b"left")
        slotwise("backup", str(tmp_path / "new.db"), "--store", f"sqlite:///{store}").assert_refused(
            "left of an earlier"
        )
        assert left.read_bytes() == b"left"
        left.unlink()
    (tmp_path / "link.db").symlink_to(f"{store}-wal")
    slotwise("backup", str(tmp_path / "link.db"), "--store", f"sqlite:///{store}").assert_refused(
        "keeps beside a store"
    )
    assert verify(store).differences == []


def test_what_cannot_be_restored_is_refused(store: Path, tmp_path: Path, slotwise) -> None:
    address = f"sqlite:///{tmp_path / 'new.db'}"
    slotwise("restore", str(tmp_path / "nothing.db"), "--store", address).assert_refused("there is no store")
    slotwise("restore", str(store), "--store", f"sqlite:///{store}", "--replace").assert_refused("the store itself")
    slotwise("backup", str(store), "--store", f"sqlite:///{store}").assert_refused("the store itself")
    other = shutil.copy(store, tmp_path / "other.db")
    slotwise("restore", str(store), "--store", f"sqlite:///{other}").assert_refused("--replace")
    (tmp_path / "text.db").write_text("no database" * 1000)
    slotwise("restore", str(tmp_path / "text.db"), "--store", address).assert_refused("cannot copy")
    with contextlib.closing(sqlite3.connect(other)) as connection:
        connection.execute("PRAGMA user_version = 99")
    slotwise("restore", str(other), "--store", address).assert_refused("version 99 of the tables")
    (tmp_path / "empty.db").write_bytes(b"")
    slotwise("restore", str(tmp_path / "empty.db"), "--store", address).assert_refused("no tables")
    assert not (tmp_path / "new.db").exists()
