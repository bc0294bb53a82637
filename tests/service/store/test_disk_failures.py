"""Disks that are full or read-only, or become so. The tests use real file systems, on machines that may mount them."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotwise.service.maintenance.verify import verify
from tests.command_line import run_process
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import wait_until


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


class Ext4Image:
    """An ext4 file system in a file, which the kernel can make fail. It cannot be remounted while files are open."""

    def __init__(self, folder: Path) -> None:
        self.file, self.folder = folder / "image", folder / "mounted"
        self.folder.mkdir()
        with self.file.open("wb") as file:
            file.truncate(32 << 20)
        self._mounting = ["mount", "-o", "loop,errors=remount-ro", str(self.file), str(self.folder)]
        run_or_skip("mkfs.ext4", "-q", str(self.file))
        run_or_skip(*self._mounting)

    def turn_read_only(self) -> None:
        """Trigger an error of the file system: from now on every write fails with EROFS, also to open files."""
        run_or_skip("sync", "-f", str(self.folder))  # so that the next write to a memory-mapped file faults
        device = Path(run_or_skip("findmnt", "-n", "-o", "SOURCE", str(self.folder)).strip()).name
        trigger = Path("/sys/fs/ext4") / device / "trigger_fs_error"
        try:
            trigger.write_text("a test")
        except OSError as error:
            pytest.skip(f"a file system cannot be made to fail here: {error}")

    def repair(self) -> None:
        """Unmount, check and mount, as an administrator does."""
        subprocess.run(["umount", str(self.folder)], check=True)
        checked = subprocess.run(["e2fsck", "-f", "-y", str(self.file)], capture_output=True, text=True)
        assert checked.returncode in (0, 1), checked.stdout  # clean, or repaired
        subprocess.run(self._mounting, check=True)


def run_or_skip(*command: str) -> str:
    """Run a command that only some machines and users can run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        pytest.skip(f"{command[0]} is not on this machine")
    if done.returncode != 0:
        pytest.skip(f"{command[0]} is not possible here: {done.stderr.strip()}")
    return done.stdout


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Ext4Image]:
    mounted = Ext4Image(tmp_path)
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", str(mounted.folder)], check=True)


def clicked_displays(server: Process) -> list[dict[str, Any]]:
    """Twenty displays, each with a click that was acknowledged."""
    shown = [recommend(server) for _ in range(20)]
    assert [status(click(server, display)) for display in shown] == ["accepted"] * 20
    return shown


def fill(disk: Path) -> Path:
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return ballast


def define(server: Process) -> None:
    server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()


def recommend(server: Process) -> dict[str, Any]:
    answer = server.http.post("/v1/pages/shop/recommendations", json={})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def click(server: Process, shown: dict[str, Any], position: str = "hero") -> httpx.Response:
    event = {"type": "click", "display": shown["id"], "position": position}
    return server.http.post("/v1/events", json={"events": [event]})


def status(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["results"][0]["status"])


def test_a_full_disk_rejects_events_and_still_recommends(disk: Path) -> None:
    store = disk / "store.db"
    with process(store) as server:
        define(server)
        early = clicked_displays(server)
        ballast = fill(disk)
        degraded = assert_degraded(server, early, seconds=2.5)  # longer than all intervals of the service
        ballast.unlink()
        assert_recovers(server, early, degraded)
        fill(disk)
        server.kill()
    assert verify(store).differences == []


def assert_degraded(server: Process, early: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """No write is acknowledged, and every display is marked as degraded."""
    refuse = click(server, early[0], "right")
    assert refuse.status_code == 503, refuse.text
    shown, ends = [], time.monotonic() + seconds
    while time.monotonic() < ends:
        for answer in (
            click(server, early[0], "right"),
            server.http.put("/v1/pages/other", json={"positions": ["one"]}),
            server.http.put("/v1/pages/shop/items/new", json={}),
            server.http.get("/readyz"),
        ):
            assert answer.status_code == 503, answer.request.url
            assert answer.headers["content-type"] == "application/problem+json"
            assert int(answer.headers["retry-after"]) > 0
        read = server.http.get("/v1/pages/shop/state")
        assert read.status_code == 200, "reading works, but does not show that the disk is writable again"
        shown.append(recommend(server))
        assert shown[-1]["degraded"]
        assert server.http.get("/livez").status_code == 200
        time.sleep(0.02)
    return shown


def assert_recovers(server: Process, early: list[dict[str, Any]], degraded: list[dict[str, Any]]) -> None:
    """The service recovers by itself, with everything that was acknowledged and nothing else."""
    wait_until(lambda: server.http.get("/readyz").status_code == 200)
    assert [status(click(server, shown)) for shown in early] == ["duplicate"] * 20
    assert [status(click(server, shown, "left")) for shown in early] == ["accepted"] * 20
    assert {status(click(server, shown)) for shown in degraded} == {"unknown"}
    late = [recommend(server) for _ in range(5)]
    assert not any(shown["degraded"] for shown in late)
    assert [status(click(server, shown)) for shown in late] == ["accepted"] * 5
    state = server.http.get("/v1/pages/shop/state").json()
    assert sum(cell["clicks"] for cell in state["counts"]) == 45.0
    assert sum(cell["clicks"] + cell["skips"] for cell in state["counts"]) == 25.0 * len(POSITIONS)


def assert_not_opened(store: Path) -> None:
    result = run_process("serve", "--dev", "--port", "0", "--store", f"sqlite:///{store}")
    result.assert_refused("cannot open the store")


@pytest.mark.parametrize("existing", [False, True], ids=["new", "existing"])
def test_a_read_only_disk_is_rejected_in_one_line(disk: Path, existing: bool) -> None:
    store = disk / "store.db"
    if existing:
        with process(store) as server:
            define(server)
            shown = recommend(server)
            assert status(click(server, shown)) == "accepted"
            server.kill()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    assert_not_opened(store)
    if existing:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with process(store) as server:
            assert status(click(server, shown)) == "duplicate"


def test_a_new_store_on_a_full_disk_is_rejected_in_one_line(disk: Path) -> None:
    fill(disk)
    assert_not_opened(disk / "store.db")


def test_a_disk_that_turns_read_only_loses_no_accepted_event(image: Ext4Image) -> None:
    """A file system error makes the disk read-only while the service runs; only mounting it again ends this."""
    store = image.folder / "store.db"
    with process(store) as server:
        define(server)
        early = clicked_displays(server)
        image.turn_read_only()
        degraded = assert_degraded(server, early, seconds=2.5)
        server.kill()
    image.repair()
    assert verify(store).differences == []
    with process(store) as server:
        assert [status(click(server, shown)) for shown in early] == ["duplicate"] * 20
        assert [status(click(server, shown, "left")) for shown in early] == ["accepted"] * 20
        assert {status(click(server, shown)) for shown in degraded} == {"unknown"}
        state = server.http.get("/v1/pages/shop/state").json()
        assert sum(cell["clicks"] for cell in state["counts"]) == 40.0
        assert sum(cell["clicks"] + cell["skips"] for cell in state["counts"]) == 20.0 * len(POSITIONS)
        server.kill()
    assert verify(store).differences == []


def test_files_that_turn_read_only_and_back_are_detected(image: Ext4Image) -> None:
    """Every write fails with EPERM, also to open files; the service recovers by itself when that ends."""
    store = image.folder / "store.db"
    with process(store) as server:
        define(server)
        early = clicked_displays(server)
        files = [str(store), f"{store}-wal"]
        run_or_skip("chattr", "+i", *files)
        degraded = assert_degraded(server, early, seconds=2.5)
        run_or_skip("chattr", "-i", *files)
        assert_recovers(server, early, degraded)
        server.kill()
    assert verify(store).differences == []


@pytest.mark.parametrize("call", ["readyz", "unknown displays"])
def test_a_disk_that_fills_up_between_calls_is_detected(disk: Path, call: str) -> None:
    with process(disk / "store.db") as server:
        define(server)
        time.sleep(1.2)  # after the last test write
        ballast = fill(disk)
        unknown = {"id": "never-issued"}
        answer = server.http.get("/readyz") if call == "readyz" else click(server, unknown)
        assert answer.status_code == 503
        assert click(server, unknown).status_code == 503
        assert recommend(server)["degraded"]
        ballast.unlink()
        server.kill()


def test_a_service_on_a_full_disk_is_not_reported_as_ready(disk: Path) -> None:
    store = disk / "store.db"
    with process(store) as server:
        define(server)
        server.kill()  # it leaves the files that SQLite needs, so the store can be opened without space
    ballast = fill(disk)
    server = Process(store)
    try:
        assert server.process.stdout is not None
        line = server.process.stdout.readline()
        if line.startswith("compiling"):  # a busy machine takes so long that the service says so
            line = server.process.stdout.readline()
        assert line.startswith("not ready: the store cannot be written")
        assert server.http.get("/readyz").status_code == 503
        ballast.unlink()
        assert server.process.stdout.readline().startswith("ready")
        assert server.http.get("/readyz").status_code == 200
    finally:
        server.kill()
