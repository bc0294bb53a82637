"""Several processes that share a port, over one PostgreSQL database."""

import contextlib
import os
import signal
from pathlib import Path

import httpx
import pytest

from slotwise.checks import BadInput
from slotwise.service.http.network_settings import network_of
from slotwise.service.settings import Settings
from tests.postgres_server import PostgresServer
from tests.service.running_service import ITEMS, POSITIONS, process
from tests.waiting import wait_until


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
