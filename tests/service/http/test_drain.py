"""Signals under load: a reload disturbs no request, and a stop finishes the requests and keeps every accepted event."""

import os
import signal
import threading
from pathlib import Path

import httpx
import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.store.sqlite.sqlite_store import read_store
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import HANG, wait_until

VISITORS = 4


class Visitor(threading.Thread):
    """Clicks on every display until the service no longer answers. `accepted` has the displays of accepted clicks."""

    def __init__(self, server: Process) -> None:
        super().__init__()
        self._address, self.accepted, self.unexpected = server.address, list[str](), list[str]()

    def run(self) -> None:
        with httpx.Client(base_url=self._address, timeout=HANG) as http:
            try:
                while True:
                    answer = http.post("/v1/pages/shop/recommendations", json={})
                    if answer.status_code != 201:
                        break
                    shown = answer.json()
                    click = {"type": "click", "token": shown["token"], "position": "hero"}
                    clicked = http.post("/v1/events", json={"events": [click]})
                    if clicked.status_code != 200:
                        break
                    if clicked.json()["results"][0]["status"] == "accepted":
                        self.accepted.append(shown["id"])
                    else:
                        self.unexpected.append(clicked.text)
            except httpx.TransportError:
                pass  # the connection was closed


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_under_load_keeps_every_accepted_event(tmp_path: Path, how: signal.Signals) -> None:
    store = tmp_path / "shop.db"
    with process(store) as server:
        server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
        visitors = [Visitor(server) for _ in range(VISITORS)]
        for visitor in visitors:
            visitor.start()
        for k in range(1, 4):
            wait_until(lambda k=k: sum(len(visitor.accepted) for visitor in visitors) >= 40 * k)
            assert all(visitor.is_alive() for visitor in visitors), "a reload disturbs no request"
            os.kill(server.process.pid, signal.SIGHUP)
        wait_until(lambda: sum(len(visitor.accepted) for visitor in visitors) >= 200)
        os.kill(server.process.pid, how)
        _, errors = server.process.communicate(timeout=HANG)
        for visitor in visitors:
            visitor.join(HANG)
    assert server.process.returncode == 0
    assert errors == ""
    assert [visitor.unexpected for visitor in visitors] == [[]] * VISITORS
    assert verify(store).differences == []
    clicked = {row.display for row in read_store(store, lambda ledger: ledger.log(1, 0, 100_000)) if row.clicked}
    assert {id for visitor in visitors for id in visitor.accepted} - clicked == set()
