"""A disk that is really full, and one that is really read-only: file systems of their own, where one may mount them."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotwise.service.verify import verify

from .serving import ITEMS, POSITIONS, Process, process


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of four megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


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


def test_a_full_disk_refuses_events_and_goes_on_recommending(disk: Path) -> None:
    store = disk / "store.db"
    with process(store) as server:
        define(server)
        early = [recommend(server) for _ in range(20)]
        assert [status(click(server, shown)) for shown in early] == ["accepted"] * 20
        ballast = fill(disk)
        degraded = stays_full(server, early, seconds=2.5)  # longer than anything that the service does by itself
        ballast.unlink()
        wait_until_ready(server)
        assert [status(click(server, shown)) for shown in early] == ["duplicate"] * 20
        assert [status(click(server, shown, "left")) for shown in early] == ["accepted"] * 20
        assert {status(click(server, shown)) for shown in degraded} == {"unknown"}
        late = [recommend(server) for _ in range(5)]
        assert not any(shown["degraded"] for shown in late)
        assert [status(click(server, shown)) for shown in late] == ["accepted"] * 5
        state = server.http.get("/v1/pages/shop/state").json()
        assert sum(cell["clicks"] for cell in state["counts"]) == 45.0
        assert sum(cell["clicks"] + cell["skips"] for cell in state["counts"]) == 25.0 * len(POSITIONS)
        fill(disk)
        server.kill()
    assert verify(store).differences == []


def stays_full(server: Process, early: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """Whatever is asked, nothing is acknowledged and every display says that it is not learnt."""
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
        assert read.status_code == 200, "what only reads works, and must not make it think that the disk is back"
        shown.append(recommend(server))
        assert shown[-1]["degraded"]
        assert server.http.get("/livez").status_code == 200
        time.sleep(0.02)
    return shown


def wait_until_ready(server: Process) -> None:
    ends = time.monotonic() + 5.0
    while server.http.get("/readyz").status_code != 200:
        assert time.monotonic() < ends, "there is space again, and the service has not noticed within five seconds"
        time.sleep(0.02)


def start(store: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "slotwise", "serve", "--dev", "--port", "0", "--store", f"sqlite:///{store}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


@pytest.mark.parametrize("there", [False, True], ids=["new", "there"])
def test_a_read_only_disk_is_refused_in_one_line(disk: Path, there: bool) -> None:
    store = disk / "store.db"
    if there:
        with process(store) as server:
            define(server)
            shown = recommend(server)
            assert status(click(server, shown)) == "accepted"
            server.kill()
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    refused = start(store)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1, refused.stderr
    assert "cannot open the store" in refused.stderr
    if there:
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        with process(store) as server:
            assert status(click(server, shown)) == "duplicate"


def test_a_new_store_on_a_full_disk_is_refused_in_one_line(disk: Path) -> None:
    fill(disk)
    refused = start(disk / "store.db")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1, refused.stderr
    assert "cannot open the store" in refused.stderr
