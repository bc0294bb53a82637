"""The service in its own process: stopped, interrupted, and with a full disk."""

import os
import re
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from slotwise.checks import BadInput
from slotwise.service.http.listeners import bind
from slotwise.service.maintenance.verify import verify
from tests.command_line import COMMAND
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import HANG, wait_until


def define(http: httpx.Client) -> None:
    assert http.put("/v1/pages/shop", json={"positions": POSITIONS}).status_code in (200, 201)
    rows = [{"item": item} for item in ITEMS]
    assert http.post("/v1/pages/shop/items:batch", json={"items": rows}).status_code == 200


def recommend(http: httpx.Client) -> dict[str, Any]:
    answer = http.post("/v1/pages/shop/recommendations", json={})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def state(http: httpx.Client) -> dict[tuple[str, str], tuple[float, float]]:
    rows = http.get("/v1/pages/shop/state").json()["counts"]
    return {(row["item"], row["position"]): (row["clicks"], row["skips"]) for row in rows}


def test_a_stopped_service_has_committed_what_it_recommended(tmp_path: Path) -> None:
    with process(tmp_path / "shop.db") as server:
        define(server.http)
        shown = [recommend(server.http) for _ in range(20)]
        assert server.stop() == 0
    with process(tmp_path / "shop.db") as server:
        events = [{"type": "click", "token": row["token"], "position": "left"} for row in shown]
        answers = server.http.post("/v1/events", json={"events": events}).json()["results"]
        assert [row["status"] for row in answers] == ["accepted"] * 20


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="the test needs prlimit, which only Linux has")
def test_a_full_disk_loses_nothing_and_the_service_recovers(tmp_path: Path) -> None:
    with process(tmp_path / "shop.db") as server:
        define(server.http)
        first = recommend(server.http)
        click = {"type": "click", "token": first["token"], "position": "hero"}
        assert send(server, click).json()["results"][0]["status"] == "accepted"
        second = recommend(server.http)
        assert send(server, {**click, "type": "view"}).status_code == 200  # commits the second display too
        limit(server, 4096)  # bytes of any file: every write fails
        late = {**click, "token": second["token"]}
        full = send(server, late)
        assert full.status_code == 503
        assert int(full.headers["retry-after"]) > 0
        assert recommend(server.http)["degraded"] is True
        assert server.http.get("/readyz").status_code == 503
        limit(server, resource.RLIM_INFINITY)
        wait_until(lambda: server.http.get("/readyz").status_code == 200)
        assert send(server, late).json()["results"][0]["status"] == "accepted"
        shown = recommend(server.http)
        assert shown["degraded"] is False
        assert send(server, {**click, "token": shown["token"]}).json()["results"][0]["status"] == "accepted"
        assert sum(clicks for clicks, _ in state(server.http).values()) == 3.0
        assert sum(clicks + skips for clicks, skips in state(server.http).values()) == 9.0
        server.stop()
    assert verify(tmp_path / "shop.db").differences == []


def send(server: Process, event: dict[str, Any]) -> httpx.Response:
    return server.http.post("/v1/events", json={"events": [event]})


def limit(server: Process, size: int) -> None:
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def accepted(server: Process, line: socket.socket) -> bool:
    """Whether the service has accepted a connection."""
    return any(row.raddr == line.getsockname() for row in psutil.Process(server.process.pid).net_connections("tcp"))


def test_a_client_that_never_finishes_its_body_delays_a_stop_by_seconds_and_gets_503(tmp_path: Path) -> None:
    with process(tmp_path / "shop.db") as server:
        host, port = server.address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=HANG) as line:
            line.sendall(b"POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{")
            wait_until(lambda: accepted(server, line))
            time.sleep(0.2)  # the service reads the first bytes
            server.process.terminate()
            _, errors = server.process.communicate(timeout=HANG)
            answer = line.recv(4096)
        assert server.process.returncode == 0
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert b"application/problem+json" in answer
        assert "Traceback" not in errors


def test_connections_beyond_the_limit_of_open_files_get_503_and_the_others_are_served(tmp_path: Path) -> None:
    few = (160, 160)  # open files
    with process(tmp_path / "shop.db", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few)) as server:
        define(server.http)
        host, port = server.address.removeprefix("http://").split(":")
        lines = [socket.create_connection((host, int(port)), timeout=HANG) for _ in range(300)]
        answers = [line.recv(4096) for line in lines[-100:]]
        assert all(answer.startswith(b"HTTP/1.1 503 ") and b"retry-after" in answer for answer in answers)
        recommend(server.http)  # over a connection that is already open
        assert server.http.get("/v1/pages/shop/log?format=parquet").status_code == 200
        for line in lines:
            line.close()
        assert server.logged() == []


def test_a_port_in_use_is_an_error_with_a_hint() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(BadInput, match="in use; --port 0 takes a free one"):
        bind("127.0.0.1", taken.getsockname()[1])


def test_an_interrupt_stops_the_service(tmp_path: Path) -> None:
    with process(tmp_path / "shop.db") as server:
        os.kill(server.process.pid, signal.SIGINT)
        _, errors = server.process.communicate(timeout=HANG)
        assert server.process.returncode == 0
        assert errors == ""


def test_a_stopped_service_leaves_a_single_complete_file(tmp_path: Path) -> None:
    with process(tmp_path / "shop.db") as server:
        define(server.http)
        for _ in range(2):  # the second request reads the display from the store, concurrently with the writer
            server.http.post("/v1/pages/shop/recommendations", json={"id": "view-1"}).raise_for_status()
            time.sleep(0.3)
            server.http.patch("/v1/pages/shop", json={"click_window": 3600.0}).raise_for_status()
        server.http.post("/v1/pages/shop/recommendations", json={"id": "view-2"}).raise_for_status()
        assert server.stop() == 0
    assert not (tmp_path / "shop.db-wal").exists()
    copy = tmp_path / "copy.db"
    copy.write_bytes((tmp_path / "shop.db").read_bytes())
    assert verify(copy).displays == 2
    assert verify(copy).differences == []


def test_a_compiling_service_says_so_and_can_be_interrupted(tmp_path: Path) -> None:
    command = [*COMMAND, "serve", "--dev", "--port", "0", "--store", f"sqlite:///{tmp_path}/a.db"]
    environment = os.environ | {"SLOTWISE_CACHE_DIR": str(tmp_path / "cache")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[-1]
        assert address.startswith("http://127.0.0.1:")
        assert "compiling" in server.stdout.readline()
        wait_until(lambda: re.search(r"\d+ functions so far", httpx.get(f"{address}/readyz").json()["detail"]))
        worked = psutil.Process(server.pid).cpu_times()
        server.send_signal(signal.SIGINT)
        output, errors = server.communicate(timeout=HANG)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    after = ended.ru_utime + ended.ru_stime - before.ru_utime - before.ru_stime - worked.user - worked.system
    assert after < 5.0, "seconds of CPU time after the interrupt: it went on compiling"
    assert (output, errors, server.returncode) == ("stopping\n", "", 0)
