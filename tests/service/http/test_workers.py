"""Several processes that share a port, over one PostgreSQL database."""

import contextlib
import os
import signal
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotwise.checks import BadInput
from slotwise.service.http.network_settings import network_of
from slotwise.service.settings import Settings
from tests.postgres_server import PostgresServer
from tests.service.running_service import ITEMS, POSITIONS, process
from tests.waiting import HANG, wait_until


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads the children of a process in /proc")
def test_workers_share_the_port_and_return_when_they_are_killed(postgres: PostgresServer) -> None:
    with process(postgres.database(), ["--workers", "2"]) as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")

        def nodes() -> list[int]:
            with contextlib.suppress(httpx.TransportError):  # the connection was to the worker that is killed
                return [node["node"] for node in server.http.get("/readyz").json().get("nodes", ())]
            return []

        wait_until(lambda: nodes() == [1, 2], pause=0.1)
        server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        server.http.post("/v1/pages/shop/items:batch", json={"items": [{"item": item} for item in ITEMS]})
        first, _ = map(int, children.read_text().split())
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: len(nodes()) == 3, pause=0.1)  # a node that returns has a new id
        assert server.http.post("/v1/pages/shop/recommendations", json={}).status_code == 201
        assert server.stop() == 0


def test_a_sqlite_store_belongs_to_one_process() -> None:
    with pytest.raises(BadInput, match="PostgreSQL"):
        network_of(Settings(workers=2))


class Visitor(threading.Thread):
    """Asks for displays and clicks on them until `stop` is set. Every request has a connection of its own."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._address, self.stop = address, threading.Event()
        self.accepted, self.failed = 0, list[str]()

    def run(self) -> None:
        while not self.stop.is_set():
            shown = self._post("/v1/pages/shop/recommendations", {}, 201)
            if shown is None:
                continue
            click = {"type": "click", "token": shown["token"], "position": "hero"}
            clicked = self._post("/v1/events", {"events": [click]}, 200)
            if clicked is not None:
                status = clicked["results"][0]["status"]
                self.accepted += status == "accepted"
                if status != "accepted":
                    self.failed.append(f"a click on {shown['id']}: {status}")

    def _post(self, path: str, body: dict[str, Any], status: int) -> Any:
        try:
            with httpx.Client(base_url=self._address, timeout=HANG, verify=False) as http:
                answer = http.post(path, json=body)
        except httpx.HTTPError as error:
            self.failed.append(f"{path}: {error!r}")
            return None
        if answer.status_code != status:
            self.failed.append(f"{path}: {answer.text}")
            return None
        return answer.json()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads the children of a process in /proc")
def test_a_rolling_restart_fails_no_request(postgres: PostgresServer) -> None:
    """Each worker ends after its requests in progress, and a new one takes its place. The port stays open."""
    with process(postgres.database(), ["--workers", "2"]) as server:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
        server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        server.http.post("/v1/pages/shop/items:batch", json={"items": [{"item": item} for item in ITEMS]})
        wait_until(lambda: all_workers_are_ready(server.address), pause=0.1)
        visitors = [Visitor(server.address) for _ in range(3)]
        for visitor in visitors:
            visitor.start()
        first = set(workers(children))
        for worker in sorted(first):
            before = set(workers(children))
            clicked(visitors)
            os.kill(worker, signal.SIGTERM)
            wait_until(lambda: len(set(workers(children)) - before) == 1)  # noqa: B023
        assert first & set(workers(children)) == set()
        clicked(visitors)
        for visitor in visitors:
            visitor.stop.set()
            visitor.join()
        assert [visitor.failed for visitor in visitors] == [[], [], []]
        assert server.stop() == 0


def all_workers_are_ready(address: str) -> bool:
    """Each of 30 connections reaches a worker that is ready. A worker gets none of them once in 10^9 times."""
    return all(httpx.get(f"{address}/readyz", timeout=HANG).status_code == 200 for _ in range(30))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="reads the children of a process in /proc")
def test_workers_end_if_the_process_that_started_them_is_killed(postgres: PostgresServer) -> None:
    with process(postgres.database(), ["--workers", "2"]) as server:
        started = workers(Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children"))
        assert len(started) == 2
        server.kill()
        wait_until(lambda: not [worker for worker in started if Path(f"/proc/{worker}").exists()])


def workers(children: Path) -> list[int]:
    return list(map(int, children.read_text().split()))


def clicked(visitors: list[Visitor]) -> None:
    """Wait until every visitor has clicked five times."""
    before = [visitor.accepted for visitor in visitors]
    wait_until(lambda: all(visitor.accepted > n + 5 for visitor, n in zip(visitors, before, strict=True)))
