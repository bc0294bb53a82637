"""The service is ended again and again under load: every acknowledged event is kept and counted once.

It is killed, or stopped by SIGTERM or SIGINT. With TLS and keys, it also gets SIGHUP before, which renews the
certificate and changes nothing else.
"""

import asyncio
import json
import random
import signal
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest

from slotwise.client.keys import StoreKeys
from slotwise.service.maintenance.verify import verify
from tests.service.recording_visitors import Visitor, check
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import HANG

CERTIFICATES = Path(__file__).parent / "http" / "certificates"
VISITORS = 4
ENOUGH = 20  # events that must be accepted before each stop, so that there is something to lose
ENDS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGKILL, signal.SIGKILL)  # in turn
Headers = dict[str, str]


class Deployment(NamedTuple):
    """How the service is started and called."""

    options: tuple[str, ...]
    settings: dict[str, Any]
    admin: Headers
    visitor: Headers
    reloads: bool

    def http(self, server: Process) -> httpx.AsyncClient:
        """A client of the visitors."""
        tls = ssl.create_default_context(cafile=self.settings["verify"]) if "verify" in self.settings else False
        return httpx.AsyncClient(base_url=server.address, timeout=HANG, headers=self.visitor, verify=tls)


def dev_mode(_: Path) -> Deployment:
    return Deployment((), {}, {}, {}, reloads=False)


def tls_and_keys(store: Path) -> Deployment:
    keys = StoreKeys(store)
    admin, visitor = (
        {"authorization": f"Bearer {keys.create({'name': 'test', 'scopes': scopes})['key']}"}
        for scopes in (["admin"], ["serve", "feedback"])
    )
    certificate, key = CERTIFICATES / "first.pem", CERTIFICATES / "first.key"
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    return Deployment(options, {"dev": False, "verify": str(certificate)}, admin, visitor, reloads=True)


def define(server: Process) -> None:
    server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()


def assert_closed_to_others(server: Process, deployment: Deployment) -> None:
    """Right after a crash, too, no call succeeds without the scope it needs."""
    for headers, status in ((Headers(authorization=""), 401), (deployment.visitor, 403)):
        assert server.http.get("/v1/pages/shop/state", headers=headers).status_code == status


async def visit_until(
    server: Process, visitors: list[Visitor], deployment: Deployment, seconds: float, end: signal.Signals
) -> None:
    async with deployment.http(server) as http:
        clean, enough = end is not signal.SIGKILL, accepted(visitors) + ENOUGH
        visits = [asyncio.create_task(visitor.visit(http, clean)) for visitor in visitors]
        await asyncio.wait(visits, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        while accepted(visitors) < enough and not any(visit.done() for visit in visits):
            await asyncio.sleep(0.01)  # a busy machine needs longer
        if deployment.reloads:
            server.process.send_signal(signal.SIGHUP)
            await asyncio.sleep(0.02)
        server.process.send_signal(end)
        await asyncio.gather(*visits)
    assert server.process.wait(timeout=HANG) == (0 if clean else -end)


async def send_again(server: Process, visitors: list[Visitor], deployment: Deployment) -> None:
    async with deployment.http(server) as http:
        await asyncio.gather(*[visitor.send_again(http) for visitor in visitors])


def accepted(visitors: list[Visitor]) -> int:
    return sum(visitor.accepted for visitor in visitors)


def log_and_state(server: Process) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lines = server.http.get("/v1/pages/shop/log").raise_for_status().text.splitlines()
    return [json.loads(line) for line in lines], server.http.get("/v1/pages/shop/state").raise_for_status().json()


def assert_nothing_left(server: Process, children: list[psutil.Process]) -> None:
    """No child process may outlive the service or hold its port."""
    assert not psutil.wait_procs(children, timeout=HANG)[1], "a process of the service outlived it"
    host, port = server.address.partition("://")[2].split(":")
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0, "the port is still open"
    server.kill()


@pytest.mark.parametrize(
    ("deploy", "cycles", "seed"),
    [
        pytest.param(dev_mode, 6, 0, id="dev-mode"),
        pytest.param(tls_and_keys, 3, 0, id="tls-and-keys"),
        *(pytest.param(dev_mode, 100, k, id=f"dev-mode-long-{k}", marks=pytest.mark.soak) for k in range(5)),
        *(pytest.param(tls_and_keys, 25, k, id=f"tls-and-keys-long-{k}", marks=pytest.mark.soak) for k in range(8)),
    ],
)
def test_nothing_acknowledged_is_lost_or_counted_twice(
    tmp_path: Path, deploy: Callable[[Path], Deployment], cycles: int, seed: int
) -> None:
    store, rng = tmp_path / "store.db", random.Random(8 + seed)
    deployment = deploy(store)
    visitors = [Visitor(f"visitor{k}", seed=VISITORS * seed + k) for k in range(VISITORS)]
    for cycle in range(cycles):
        with process(store, deployment.options, **deployment.settings) as server:
            server.http.headers.update(deployment.admin)
            if cycle == 0:
                define(server)
            if deployment.admin:
                assert_closed_to_others(server, deployment)
            children = psutil.Process(server.process.pid).children(recursive=True)
            end = ENDS[cycle % len(ENDS)]
            asyncio.run(visit_until(server, visitors, deployment, rng.uniform(0.05, 0.6), end))
            assert_nothing_left(server, children)
        assert verify(store).differences == []
    with process(store, deployment.options, **deployment.settings) as server:
        server.http.headers.update(deployment.admin)
        asyncio.run(send_again(server, visitors, deployment))
        lost = check(visitors, *log_and_state(server))
        assert server.stop() == 0
    verdict = verify(store)
    assert verdict.differences == []
    issued, events = sum(len(visitor.displays) for visitor in visitors), accepted(visitors)
    print(f"{cycles} ends: {events:,} events accepted, {issued:,} displays answered, {lost} of them not committed")
    assert lost < issued / 2
