"""A store has one owner: a second process gets a one-line error, and the first one is not disturbed."""

import asyncio
import contextlib
import os
import sqlite3
import threading
import time
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.sqlite.file_lock import NETWORK_FILE_SYSTEMS, file_system_of
from slotwise.service.store.sqlite.sqlite_store import SqliteStore, path_of
from tests.service.running_service import ITEMS, POSITIONS, Client, process, run_scenario
from tests.waiting import wait_until


def test_a_second_process_is_rejected_and_the_first_continues(tmp_path: Path, slotwise_process) -> None:
    statuses: list[str] = []
    over = threading.Event()
    with process(tmp_path / "store.db") as first:
        first.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        first.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()

        def visit() -> None:
            while not over.is_set():
                shown = first.http.post("/v1/pages/shop/recommendations", json={}).raise_for_status().json()
                event = {"type": "click", "token": shown["token"], "position": "hero"}
                answer = first.http.post("/v1/events", json={"events": [event]}).raise_for_status().json()
                statuses.append("degraded" if shown["degraded"] else answer["results"][0]["status"])

        visiting = threading.Thread(target=visit)
        visiting.start()
        second = slotwise_process("serve", "--dev", "--port", "0", "--store", f"sqlite:///{tmp_path / 'store.db'}")
        wait_until(lambda: len(statuses) > 50)
        over.set()
        visiting.join()
    second.assert_refused("in use by another process")
    assert set(statuses) == {"accepted"}


@pytest.mark.parametrize("how", ["same", "roundabout", "relative", "link", "linked folder"])
def test_the_lock_holds_for_every_path_to_the_store(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    store = folder / "store.db"
    (tmp_path / "linked").symlink_to(folder)
    (folder / "link.db").symlink_to(store)
    names = {
        "same": store,
        "roundabout": folder / ".." / "real" / "store.db",
        "relative": Path(os.path.relpath(store)),
        "link": folder / "link.db",
        "linked folder": tmp_path / "linked" / "store.db",
    }

    async def scenario() -> None:
        first = SqliteStore(store)
        with pytest.raises(BadInput, match="in use by another process"):
            SqliteStore(names[how])
        await first.close()
        await SqliteStore(names[how]).close()  # it can be opened once the owner has closed it

    asyncio.run(scenario())


ON_LINUX = pytest.mark.skipif(os.uname().sysname != "Linux", reason="elsewhere, a file beside the store is locked")
SERVE = ("serve", "--dev", "--port", "0", "--store")


@ON_LINUX
def test_the_lock_cannot_be_bypassed(tmp_path: Path, slotwise_process) -> None:
    store, other = tmp_path / "store.db", tmp_path / "other.db"
    with process(store):
        for file in tmp_path.glob("*.lock"):
            file.unlink()
        slotwise_process(*SERVE, f"sqlite:///{store}").assert_refused("in use by another process")
        os.link(store, other)
        slotwise_process(*SERVE, f"sqlite:///{other}").assert_refused("2 hard links")
        store.unlink()
        slotwise_process(*SERVE, f"sqlite:///{other}").assert_refused("in use by another process")


def test_a_hard_link_is_refused_under_each_name(tmp_path: Path, slotwise) -> None:
    """SQLite would look for the write-ahead log beside the other name, so a reader would miss what is in it."""
    store, link = tmp_path / "store.db", tmp_path / "link.db"

    async def create() -> None:
        await SqliteStore(store).close()

    asyncio.run(create())
    os.link(store, link)
    for path in (store, link):
        slotwise("verify", "--store", f"sqlite:///{path}").assert_refused("2 hard links", str(path))
        slotwise(*SERVE, f"sqlite:///{path}").assert_refused("2 hard links", str(path))


@ON_LINUX
def test_a_refused_owner_does_not_release_the_locks_of_sqlite(tmp_path: Path) -> None:
    """SQLite's locks belong to the process. They are lost when it closes any descriptor of the file."""
    path = tmp_path / "store.db"

    def locks() -> int:
        inode = path.stat().st_ino
        lines = Path("/proc/locks").read_text().splitlines()
        return sum("POSIX" in line and f":{inode} " in line for line in lines)

    async def scenario() -> None:
        store = SqliteStore(path)
        assert await store.read(lambda _: locks()) > 0
        with pytest.raises(BadInput, match="in use"):
            SqliteStore(path)
        assert await store.read(lambda _: locks()) > 0
        await store.close()

    asyncio.run(scenario())


def test_a_new_store_is_private_because_it_has_secrets(tmp_path: Path) -> None:
    async def create() -> None:
        store = SqliteStore(tmp_path / "store.db")
        await store.do(lambda ledger: ledger.check_writable())
        assert {file.stat().st_mode & 0o077 for file in tmp_path.glob("store.db*")} == {0}
        await store.close()

    asyncio.run(create())


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/", "ext4"), ("/data/a", "nfs4"), ("/database/a", "ext4"), ("/data/local/a", "xfs"), ("/a b/c", "fuse.sshfs")],
)
def test_the_file_system_of_a_path(path: str, kind: str) -> None:
    mounts = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
40 22 0:40 / /data rw,relatime shared:2 - nfs4 server:/export rw,vers=4.2
41 40 8:1 / /data/local rw - xfs /dev/sda1 rw
42 22 0:41 / /a\\040b rw,nosuid - fuse.sshfs host:/ rw
"""
    assert file_system_of(Path(path), mounts) == kind
    assert (kind in NETWORK_FILE_SYSTEMS) == (kind in ("nfs4", "fuse.sshfs"))


def test_a_network_file_system_is_refused(tmp_path: Path, slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"40 22 0:40 / {tmp_path} rw - nfs4 server:/export rw\n")
    monkeypatch.setattr("slotwise.service.store.sqlite.file_lock._MOUNTS", mounts)
    slotwise(*SERVE, f"sqlite:///{tmp_path}/store.db").assert_refused("network file system (nfs4)", "local disk")
    assert not (tmp_path / "store.db").exists()


def test_a_store_that_is_not_a_file_is_refused(tmp_path: Path, slotwise) -> None:
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    (tmp_path / "folder.db").mkdir()
    os.mkfifo(tmp_path / "pipe.db")
    for name in ("loop.db", "folder.db", "pipe.db"):
        slotwise(*SERVE, f"sqlite:///{tmp_path}/{name}").assert_refused("cannot open the store", name)
        slotwise("verify", "--store", f"sqlite:///{tmp_path}/{name}").assert_refused(name)


@pytest.mark.parametrize("address", ["sqlite:///:memory:", "sqlite:///folder/:memory:"])
def test_a_store_in_memory_is_refused(address: str) -> None:
    with pytest.raises(BadInput, match="name a file"):
        path_of(address)


def test_a_store_that_another_process_writes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process holds the lock for longer than SQLite waits: no display is dropped, and nothing is degraded."""
    monkeypatch.setattr("slotwise.service.store.sqlite.sqlite_store.BUSY_SECONDS", 0.05)

    async def scenario(client: Client) -> None:
        await client.page()
        with contextlib.closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            shown = await client.recommend()
            click = {"type": "click", "display": shown["id"], "position": "hero"}
            answer = await client.http.post("/v1/events", json={"events": [click]})
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "another process" in answer.json()["detail"]
            assert not (await client.recommend())["degraded"]
            other.execute("COMMIT")
        assert await client.send(click) == ["accepted"]
        assert "slotwise_store_up 1.0" in (await client.http.get("/metrics")).text

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db")[:2] == (2, 1)


def test_short_transactions_of_another_process_are_not_noticed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        with contextlib.closing(
            sqlite3.connect(tmp_path / "store.db", isolation_level=None, timeout=60, check_same_thread=False)
        ) as other:
            for _ in range(20):
                shown = await client.recommend()
                await asyncio.to_thread(write_slowly, other)
                event = {"type": "click", "token": shown["token"], "position": "hero"}
                writing = asyncio.create_task(asyncio.to_thread(write_slowly, other))
                assert await client.send(event) == ["accepted"]
                await writing

    def write_slowly(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'heartbeat'")
        time.sleep(0.005)
        connection.execute("COMMIT")

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []
