"""The end of a program, and forked processes: events are sent, or their loss is reported."""

import subprocess
import sys
import time

import pytest

from tests.service.running_service import ITEMS, POSITIONS, Process
from tests.waiting import HANG

FORK = """
import os
from slotwise_client import Client, Options
client = Client({url!r}, options=Options(timeout=60, exit_timeout=60))
client.click(client.recommend({page!r}), "hero")          # the parent has a thread, a connection and an event
child = os.fork()
client.click(client.recommend({page!r}), "left")
client.close()
print(sorted(client.outcomes.items()), flush=True)
os._exit(0) if child == 0 else os.waitpid(child, 0)
"""
END = """
from slotwise_client import Client, Options
client = Client({url!r}, options=Options(timeout=60, exit_timeout={exit_timeout}, event_timeout=60))
display = client.recommend({page!r})
client.click(display.token or "token", "hero")
"""
FORGOTTEN = """
import asyncio
from slotwise_client import AsyncClient
async def main():
    client = AsyncClient("http://127.0.0.1:1")
    await client.recommend("shop")
    client.click("token", "hero")
    return client
client = asyncio.run(main())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG)


@pytest.fixture
def shop(service: Process, page: str) -> str:
    service.http.put(f"/v1/pages/{page}", json={"positions": POSITIONS}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    service.http.post(f"/v1/pages/{page}/items:batch", json={"items": rows}).raise_for_status()
    return page


def clicks(service: Process, page: str) -> int:
    counts = service.http.get(f"/v1/pages/{page}/state").raise_for_status().json()["counts"]
    return sum(row["clicks"] for row in counts)


def test_a_program_that_ends_sends_its_events(service: Process, shop: str) -> None:
    done = run(END.format(url=service.address, page=shop, exit_timeout=60))
    assert (done.returncode, done.stderr) == (0, "")
    assert clicks(service, shop) == 1


def test_a_program_that_ends_does_not_wait_for_a_service_that_is_away() -> None:
    began = time.monotonic()
    done = run(END.format(url="http://127.0.0.1:1", page="shop", exit_timeout=0.2))
    assert done.returncode == 0
    assert time.monotonic() - began < HANG / 5
    assert "1 event(s) dropped" in done.stderr


def test_a_forked_process_has_its_own_connection_and_queue(service: Process, shop: str) -> None:
    done = run(FORK.format(url=service.address, page=shop))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["[('accepted', 1)]", "[('accepted', 2)]"]
    assert clicks(service, shop) == 3


def test_an_async_client_that_is_not_closed_reports_what_is_lost() -> None:
    done = run(FORGOTTEN)
    assert done.returncode == 0, done.stderr
    assert "the program ended before `aclose` was called" in done.stderr
