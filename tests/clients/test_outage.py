"""An outage: the service is killed and restarted while clients send 100 events a second. No event is lost or counted
twice, and no page waits longer than its timeout."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from slotwise.service.maintenance.verify import verify
from tests.clients.outage_visits import RATE, TIMEOUT
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import HANG, wait_until

ROOT = Path(__file__).parent.parent.parent
NODE = shutil.which("node")  # where it is missing, test_javascript_client.py says so
KINDS = {
    "sync": [sys.executable, "-m", "tests.clients.outage_visits", "sync"],
    "async": [sys.executable, "-m", "tests.clients.outage_visits", "async"],
} | ({"javascript": [NODE, "tests/clients/outage_visits.mjs"]} if NODE else {})
BUSY = 5.0  # seconds that a busy machine may add to a wait; an outage adds far more


class Visits:
    """Visits of one client, in a process of its own."""

    def __init__(self, kind: str, command: list[str], url: str, displays: int) -> None:
        self.page = f"page-{kind}"
        arguments = [*command, url, self.page, str(displays)]
        self.process = subprocess.Popen(
            arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def wait_until_issued(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line != "issued\n":
            raise AssertionError(line + self.process.communicate()[1])

    def start_clicking(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def result(self) -> Any:
        output, errors = self.process.communicate(timeout=HANG)
        assert self.process.returncode == 0, errors
        return json.loads(output)


def define(server: Process, page: str) -> None:
    for name in (page, f"{page}-other"):
        server.http.put(f"/v1/pages/{name}", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        server.http.post(f"/v1/pages/{name}/items:batch", json={"items": rows}).raise_for_status()


def state(server: Process, page: str) -> Any:
    return server.http.get(f"/v1/pages/{page}/state").raise_for_status().json()


@pytest.mark.parametrize("outage", [1.5, pytest.param(60.0, marks=pytest.mark.soak)])
def test_a_client_loses_no_event_in_an_outage(tmp_path: Path, outage: float) -> None:
    store = tmp_path / "store.db"
    displays = round((outage + 1.5) * RATE / len(POSITIONS))
    with process(store) as server:
        for kind in KINDS:
            define(server, f"page-{kind}")
        visits = [Visits(kind, command, server.address, displays) for kind, command in KINDS.items()]
        for each in visits:
            each.wait_until_issued()
        for each in visits:  # a crash may lose displays that are not committed yet; clicks on them are unknown
            wait_until(lambda page=each.page: state(server, page)["displays"] == displays)
        for each in visits:
            each.start_clicking()
        time.sleep(0.5)
        server.kill()
    time.sleep(outage)
    restarted = Process(store, "--port", server.address.rpartition(":")[2])
    try:
        restarted.wait_until_ready()
        for each in visits:
            result = each.result()
            print(f"{each.page}: {displays * len(POSITIONS)} events, {result}")
            counted = state(restarted, each.page)
            assert sum(row["clicks"] for row in counted["counts"]) == displays * len(POSITIONS)
            assert sum(row["skips"] for row in counted["counts"]) == 0
            assert set(result["outcomes"]) <= {"accepted", "duplicate"}
            assert sum(result["outcomes"].values()) == displays * len(POSITIONS)
            assert "last_good" in result["sources"], "pages were shown during the outage"
            assert result["longest_wait"] < TIMEOUT + BUSY
        assert restarted.stop() == 0
    finally:
        if restarted.process.poll() is None:
            restarted.kill()
    assert verify(store).differences == []
