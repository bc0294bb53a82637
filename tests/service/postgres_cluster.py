"""Three nodes over one database, behind proxies, with clocks that differ by an hour, and a client with an oracle."""

import contextlib
import os
import queue
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg

from slotwise.service.maintenance.verify import verify
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.postgres.postgres_store import read_postgres
from tests.service.running_service import ITEMS, POSITIONS, Process
from tests.tcp_proxy import TcpProxy
from tests.waiting import wait_until

SKEWS = (0.0, 3600.0, 1800.0)  # of the clocks of the nodes, in seconds
NODES = len(SKEWS)
LOST = (httpx.HTTPError, RuntimeError)  # of a request; the client of a node that was killed is closed
PROBE_SECONDS = 0.1
Click = tuple[str, str]  # display, position


class Probe(threading.Thread):
    """Asks a node for recommendations all the time. `longest` is the longest time without any, while the node ran."""

    def __init__(self, address: Callable[[], str]) -> None:
        super().__init__(daemon=True)
        self._address = address
        self.is_up, self.stop = threading.Event(), threading.Event()
        self.longest, self.number = 0.0, 0
        self._http = httpx.Client(verify=False)  # a context for TLS takes longer than a request

    def run(self) -> None:
        with self._http:
            self._probe()

    def _probe(self) -> None:
        failing_since: float | None = None
        while not self.stop.wait(PROBE_SECONDS):
            if not self.is_up.is_set():
                failing_since = None
                continue
            began = time.monotonic()
            answered = self._ask()
            if not self.is_up.is_set():
                continue  # it was stopped meanwhile
            failing_since = None if answered else failing_since or began
            self.number += answered
            lasted = time.monotonic() - (failing_since or began)
            self.longest = max(self.longest, lasted)

    def _ask(self) -> bool:
        with contextlib.suppress(httpx.HTTPError):
            answer = self._http.post(f"{self._address()}/v1/pages/shop/recommendations", json={}, timeout=5)
            return answer.status_code == 201
        return False


class Cluster:
    """Nodes that reach the database through a proxy each, and a client that calls them at random."""

    def __init__(self, address: str, seed: int) -> None:
        self.address, self.random = address, random.Random(seed)
        parts = urlsplit(address)
        socket = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self.proxies = [TcpProxy(socket) for _ in range(NODES)]
        self._addresses = [f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}" for proxy in self.proxies]
        self._began = time.time()
        self.nodes = [self._started(k) for k in range(NODES)]
        self.probes = [Probe(lambda k=k: self.nodes[k].address) for k in range(NODES)]  # type: ignore[misc]
        for k in range(NODES):
            self.nodes[k].wait_until_ready()
        self.accepted: set[Click] = set()
        self.unsure: set[Click] = set()  # sent, but without an answer so far
        self.asked: queue.SimpleQueue[tuple[int, list[Click]]] = queue.SimpleQueue()  # clicks that a fault needs
        self.recommended = self.refused = 0
        self._stop = threading.Event()
        self._client = threading.Thread(target=self._load)

    def _started(self, k: int) -> Process:
        folder = Path(__file__).parent / "skewed_clock"
        environment = {"PYTHONPATH": str(folder), "SLOTWISE_TEST_SKEW": str(SKEWS[k])}
        return Process(self._addresses[k], env=os.environ | environment)

    def define(self) -> None:
        http = self.nodes[0].http
        http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        http.post("/v1/pages/shop/items:batch", json={"items": [{"item": item} for item in ITEMS]}).raise_for_status()

    def start(self) -> None:
        """Start the load."""
        self._client.start()
        for probe in self.probes:
            probe.is_up.set()
            probe.start()

    def restart(self, *which: int) -> None:
        """Kill nodes if they run, and start them again."""
        for k in which:
            self.probes[k].is_up.clear()
            self.nodes[k].kill()
        for k in which:
            self.nodes[k] = self._started(k)
        for k in which:
            self.nodes[k].wait_until_ready()
            self.probes[k].is_up.set()

    def finish(self) -> None:
        """End the load, and repeat every click that had no answer until it has one."""
        self._stop.set()
        self._client.join()
        for probe in self.probes:
            probe.stop.set()
            probe.join()
        wait_until(lambda: all(node._ready() for node in self.nodes), pause=0.1)
        for click in sorted(self.unsure):
            wait_until(lambda click=click: self._send(self.nodes[0], [click]), pause=0.1)  # type: ignore[misc]
        for node in self.nodes:
            assert node.stop() == 0
        for proxy in self.proxies:
            proxy.close()

    def kill(self) -> None:
        """End the processes after a test that failed."""
        self._stop.set()
        for probe in self.probes:
            probe.stop.set()
            if probe.is_alive():
                probe.join()
        for node in self.nodes:
            if node.process.poll() is None:
                node.kill()

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
            with contextlib.suppress(queue.Empty):
                k, clicks = self.asked.get_nowait()
                self._send(self.nodes[k], clicks)

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

    def check(self) -> None:
        """Compare the store with what the client knows."""
        assert verify(self.address).differences == []

        def clicked(ledger: Ledger) -> tuple[set[Click], float]:
            rows, last = [], 0
            while chunk := ledger.log(1, last, 1_000):
                rows += [(row.display, row.position) for row in chunk if row.clicked]
                last = chunk[-1].number
            return set(rows), sum(cell.clicks for cell in ledger.counts(1).cells)

        in_log, counted = read_postgres(self.address, clicked)
        assert self.accepted - in_log == set(), "accepted clicks were lost"
        assert in_log - self.accepted == set(), "the log has clicks that the client did not send"
        assert counted == len(in_log)
        assert self.recommended > 0
        assert in_log
        with psycopg.connect(self.address) as connection:
            first, last = connection.execute("SELECT min(issued), max(issued) FROM displays").fetchone()  # type: ignore[misc]
        assert self._began - 60 < first < last < time.time() + 60, "the clock of a machine is in the store"

    def __str__(self) -> str:
        longest = max(probe.longest for probe in self.probes)
        number = sum(probe.number for probe in self.probes)
        return (
            f"{self.recommended:,} displays, {len(self.accepted):,} clicks accepted, {self.refused} calls refused; of "
            f"{number:,} other recommendations, a running node was without an answer for at most {longest:.2f} s"
        )
