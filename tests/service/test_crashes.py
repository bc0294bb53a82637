"""Repeated kill -9 under load, with clean stops in between: every acknowledged event is kept and counted once."""

import asyncio
import json
import random
import signal
import socket
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from slotwise.service.verify import verify
from tests.service.recording_visitors import Visitor, check
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import HANG

VISITORS = 4
ENOUGH = 20  # events that must be accepted before each stop, so that there is something to lose
CLEAN = 4  # every fourth stop is a clean one


def define(server: Process) -> None:
    server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()


async def visit_until(server: Process, visitors: list[Visitor], seconds: float, end: signal.Signals) -> None:
    async with httpx.AsyncClient(base_url=server.address, timeout=HANG) as http:
        clean, enough = end is signal.SIGTERM, accepted(visitors) + ENOUGH
        visits = [asyncio.create_task(visitor.visit(http, clean)) for visitor in visitors]
        await asyncio.wait(visits, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        while accepted(visitors) < enough and not any(visit.done() for visit in visits):
            await asyncio.sleep(0.01)  # a busy machine needs longer
        server.process.send_signal(end)
        await asyncio.gather(*visits)
    assert server.process.wait(timeout=HANG) == (0 if clean else -end)


async def send_again(server: Process, visitors: list[Visitor]) -> None:
    async with httpx.AsyncClient(base_url=server.address, timeout=HANG) as http:
        await asyncio.gather(*[visitor.send_again(http) for visitor in visitors])


def accepted(visitors: list[Visitor]) -> int:
    return sum(visitor.accepted for visitor in visitors)


def log_and_state(server: Process) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lines = server.http.get("/v1/pages/shop/log").raise_for_status().text.splitlines()
    return [json.loads(line) for line in lines], server.http.get("/v1/pages/shop/state").raise_for_status().json()


def assert_nothing_left(server: Process, children: list[psutil.Process]) -> None:
    """No child process may outlive the service or hold its port."""
    assert not psutil.wait_procs(children, timeout=HANG)[1], "a process of the service outlived it"
    host, port = server.address.removeprefix("http://").split(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0, "the port is still open"
    server.kill()


@pytest.mark.parametrize("cycles", [10, pytest.param(500, marks=pytest.mark.soak)])
def test_nothing_acknowledged_is_lost_or_counted_twice(tmp_path: Path, cycles: int) -> None:
    store, rng = tmp_path / "store.db", random.Random(8)
    visitors = [Visitor(f"visitor{k}", seed=k) for k in range(VISITORS)]
    for cycle in range(cycles):
        with process(store) as server:
            if cycle == 0:
                define(server)
            children = psutil.Process(server.process.pid).children(recursive=True)
            end = signal.SIGTERM if cycle % CLEAN == CLEAN - 1 else signal.SIGKILL
            asyncio.run(visit_until(server, visitors, rng.uniform(0.05, 0.6), end))
            assert_nothing_left(server, children)
        assert verify(store).differences == []
    with process(store) as server:
        asyncio.run(send_again(server, visitors))
        lost = check(visitors, *log_and_state(server))
        assert server.stop() == 0
    verdict = verify(store)
    assert verdict.differences == []
    issued, events = sum(len(visitor.displays) for visitor in visitors), accepted(visitors)
    print(f"{cycles} ends: {events:,} events accepted, {issued:,} displays answered, {lost} of them not committed")
    assert lost < issued / 2
