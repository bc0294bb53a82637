"""Three nodes under load over one database, while faults are injected at random. A client keeps its own oracle.

An event that was answered `accepted` must be in the database, and every click must count once.
"""

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.postgres.postgres_store import read_postgres
from tests.postgres_server import PostgresServer, running_server
from tests.service.running_service import ITEMS, POSITIONS, Process
from tests.tcp_proxy import Fault, TcpProxy
from tests.waiting import wait_until

NODES = 3
LOST = (httpx.HTTPError, RuntimeError)  # of a request; the client of a node that was killed is closed
Click = tuple[str, str]  # display, position


class Cluster:
    """Nodes that reach the database through a proxy each, and a client that calls them at random."""

    def __init__(self, address: str, seed: int) -> None:
        self.address, self.random = address, random.Random(seed)
        parts = urlsplit(address)
        socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self.proxies = [TcpProxy(socket) for _ in range(NODES)]
        self._addresses = [f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}" for proxy in self.proxies]
        self.nodes = [Process(where) for where in self._addresses]
        for node in self.nodes:
            node.wait_until_ready()
        self.accepted: set[Click] = set()
        self.unsure: set[Click] = set()  # sent, but without an answer so far
        self.recommended = self.refused = 0
        self._stop = threading.Event()
        self._client = threading.Thread(target=self._load)

    def start(self) -> None:
        self._client.start()

    def define(self) -> None:
        http = self.nodes[0].http
        http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        http.post("/v1/pages/shop/items:batch", json={"items": [{"item": item} for item in ITEMS]}).raise_for_status()

    def restart(self, k: int) -> None:
        """Start a node again after it was killed."""
        self.nodes[k].kill()
        self.nodes[k] = Process(self._addresses[k])
        self.nodes[k].wait_until_ready()

    def finish(self) -> None:
        """End the load, and repeat every click that had no answer until it has one."""
        self._stop.set()
        self._client.join()
        wait_until(self._all_up, pause=0.1)
        for click in sorted(self.unsure):
            wait_until(lambda click=click: self._send(self.nodes[0], [click]), pause=0.1)  # type: ignore[misc]
        for node in self.nodes:
            assert node.stop() == 0
        for proxy in self.proxies:
            proxy.close()

    def _all_up(self) -> bool:
        return all(node._ready() for node in self.nodes)

    def _load(self) -> None:
        chance = random.Random(1)
        while not self._stop.is_set():
            shown: list[str] = []
            for _ in range(5):
                with contextlib.suppress(*LOST, ValueError):
                    answer = chance.choice(self.nodes).http.post("/v1/pages/shop/recommendations", json={}, timeout=5)
                    if answer.status_code == 201 and not answer.json()["degraded"]:
                        shown.append(answer.json()["id"])
                        self.recommended += 1
            clicks = [(id, position) for id in shown for position in chance.sample(POSITIONS, 2)]
            self._send(chance.choice(self.nodes), clicks)
            if chance.random() < 0.3 and clicks:
                self._send(chance.choice(self.nodes), clicks)  # again, on another node

    def _send(self, node: Process, clicks: list[Click]) -> bool:
        """Send clicks. Returns whether they were answered."""
        self.unsure.update(set(clicks) - self.accepted)
        events = [{"type": "click", "display": id, "position": position} for id, position in clicks]
        try:
            answer = node.http.post("/v1/events", json={"events": events}, timeout=15)
        except LOST:
            return False
        if answer.status_code != 200:
            self.refused += 1
            return False
        for click, result in zip(clicks, answer.json()["results"], strict=True):
            self.unsure.discard(click)
            if result["status"] == "accepted":
                assert click not in self.accepted, f"{click} was accepted twice"
                self.accepted.add(click)
            elif result["status"] == "duplicate":
                self.accepted.add(click)  # the answer of an earlier try was lost
            else:  # the display was lost with its node before it was committed
                assert result["status"] == "unknown", result
                assert click not in self.accepted
        return True

    # faults

    def any_fault(self) -> str:
        """Inject one fault at random, and return its name."""
        kinds: list[Callable[[int], None]] = [
            *[self.cut_commit] * 3,
            self.cut_connections,
            self.end_backends,
            self.stop_a_while,
            self.slow_down,
            self.kill,
        ]
        fault = self.random.choice(kinds)
        fault(self.random.randrange(NODES))
        return fault.__name__

    def cut_commit(self, k: int) -> None:
        proxy = self.proxies[k]
        before = proxy.faults
        proxy.fault = self.random.choice(list(Fault))
        proxy.wait_for_faults(before + 1)

    def cut_connections(self, k: int) -> None:
        self.proxies[k].cut()

    def end_backends(self, _: int) -> None:
        with psycopg.connect(self.address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def stop_a_while(self, k: int, seconds: float = 1.0) -> None:
        process = self.nodes[k].process
        process.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.send_signal(signal.SIGCONT)

    def slow_down(self, k: int) -> None:
        self.proxies[k].delay = 0.05
        time.sleep(0.5)
        self.proxies[k].delay = 0.0

    def kill(self, k: int) -> None:
        self.nodes[k].process.kill()
        self.restart(k)


def check(cluster: Cluster) -> None:
    verdict = verify(cluster.address)
    assert verdict.differences == []

    def clicked(ledger: Ledger) -> tuple[set[Click], float]:
        rows, last = [], 0
        while chunk := ledger.log(1, last, 1_000):
            rows += [(row.display, row.position) for row in chunk if row.clicked]
            last = chunk[-1].number
        return set(rows), sum(cell.clicks for cell in ledger.counts(1).cells)

    in_log, counted = read_postgres(cluster.address, clicked)
    assert cluster.accepted - in_log == set(), "accepted clicks were lost"
    assert in_log - cluster.accepted == set(), "clicks count that nobody sent"
    assert counted == len(in_log)
    assert cluster.recommended > 0
    assert in_log


@pytest.fixture
def cluster(postgres: PostgresServer) -> Iterator[Cluster]:
    made = Cluster(postgres.database(), seed=0)
    try:
        yield made
    finally:
        for node in made.nodes:
            if node.process.poll() is None:
                node.kill()


def test_faults_lose_no_accepted_click_and_count_none_twice(cluster: Cluster) -> None:
    """Ten faults, each of another kind or moment."""
    cluster.define()
    cluster.start()
    for fault in (Fault.BEFORE, Fault.DURING, Fault.AFTER, Fault.DURING):
        cluster.proxies[1].fault, before = fault, cluster.proxies[1].faults
        cluster.proxies[1].wait_for_faults(before + 1)
    cluster.cut_connections(2)
    cluster.end_backends(0)
    cluster.stop_a_while(0, 0.5)
    cluster.slow_down(1)
    cluster.end_backends(0)
    cluster.kill(2)
    cluster.finish()
    check(cluster)


@pytest.mark.soak
def test_hundreds_of_faults(tmp_path: Path) -> None:
    """`SLOTWISE_FAULTS` says how many, `SLOTWISE_FAULT_SEED` which. PostgreSQL itself is restarted, too."""
    number, seed = int(os.environ.get("SLOTWISE_FAULTS", "200")), int(os.environ.get("SLOTWISE_FAULT_SEED", "1"))
    with running_server() as server:
        cluster = Cluster(server.database(), seed)
        try:
            cluster.define()
            cluster.start()
            happened: dict[str, int] = {}
            for k in range(number):
                if k % 20 == 19:
                    server.restart(cluster.random.choice(["fast", "immediate"]))
                    name = "restart of PostgreSQL"
                elif k % 50 == 30:
                    for node in cluster.nodes:
                        node.process.kill()
                    for n in range(NODES):
                        cluster.restart(n)
                    name = "kill of all nodes"
                else:
                    name = cluster.any_fault()
                happened[name] = happened.get(name, 0) + 1
            cluster.finish()
            check(cluster)
            print(f"{number} faults: {happened}; {cluster.recommended:,} displays, {len(cluster.accepted):,} clicks")
        finally:
            for node in cluster.nodes:
                if node.process.poll() is None:
                    node.kill()
