"""The faults that tests inject into a cluster."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import httpx
import psycopg

from slotwise.service.store.postgres.postgres_connection import PostgresConnection
from slotwise.service.store.postgres.postgres_ledger import PostgresLedger
from slotwise.service.store.postgres.postgres_schema import TRAFFIC_LOCK
from tests.service.postgres_cluster import NODES, Cluster
from tests.service.running_service import POSITIONS
from tests.tcp_proxy import Fault
from tests.waiting import wait_until

_FAIL = """
CREATE SEQUENCE failures;  -- not part of any transaction, so it counts those that fail
CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM nextval('failures');
    RAISE EXCEPTION 'could not serialize access' USING ERRCODE = 'serialization_failure';
END $$
"""
_FAIL_AT_ONCE = "CREATE TRIGGER fails BEFORE INSERT ON displays FOR EACH STATEMENT EXECUTE FUNCTION fail()"
_FAIL_AT_COMMIT = (
    "CREATE CONSTRAINT TRIGGER fails AFTER INSERT ON displays DEFERRABLE INITIALLY DEFERRED "
    "FOR EACH ROW EXECUTE FUNCTION fail()"
)
_DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
_BLOCKED = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid)))"
READS = 12  # at once; a node has four connections that read


class Faults:
    """Each method injects one fault. The argument is the number of a node."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._random = cluster, cluster.random

    def any(self) -> str:
        """Inject a fault at random. Returns its name."""
        kinds: list[Callable[[int], None]] = [
            *[self.cut_commit] * 6,
            *[self.cut_connections] * 2,
            *[self.end_backends] * 2,
            *[self.force_deadlock] * 3,
            *[self.fail_to_serialize] * 4,
            *[self.stop_a_while] * 2,
            *[self.slow_down] * 2,
            self.exhaust_readers,
            self.exhaust_connections,
            self.come_back_after_an_hour,
            *[self.kill] * 2,
        ]
        fault = self._random.choice(kinds)
        fault(self._random.randrange(NODES))
        return fault.__name__

    def cut_commit(self, k: int, when: Fault | None = None) -> None:
        """Cut the connection before, during or after the next COMMIT of a node."""
        proxy = self._cluster.proxies[k]
        before = proxy.faults
        proxy.fault = when or self._random.choice(list(Fault))
        proxy.wait_for_faults(before + 1)

    def cut_connections(self, k: int) -> None:
        self._cluster.proxies[k].cut()

    def end_backends(self, _: int) -> None:
        with psycopg.connect(self._cluster.address, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    def force_deadlock(self, k: int) -> None:
        """Hold displays whose clicks a node receives, and ask for the row of the node, which it holds."""
        cluster = self._cluster
        with (
            psycopg.connect(cluster.address) as holder,
            psycopg.connect(cluster.address, autocommit=True) as observer,
        ):
            before = observer.execute(_DEADLOCKS).fetchone()
            wait_until(lambda: bool(cluster.accepted))
            while observer.execute(_DEADLOCKS).fetchone() == before:  # the node may give up its lock first
                ids = sorted({id for id, _ in list(cluster.accepted)[:5]})
                holder.execute("SET deadlock_timeout = '1min'")  # PostgreSQL ends the transaction of the node, not this
                holder.execute("SELECT 1 FROM displays WHERE id = ANY(%s) ORDER BY id DESC FOR UPDATE", (ids,))
                cluster.asked.put((k, [(id, position) for id in ids for position in POSITIONS]))
                number, deadline = holder.info.backend_pid, time.monotonic() + 10  # the call of the client may be lost
                while observer.execute(_BLOCKED, (number,)).fetchone() != (True,) and time.monotonic() < deadline:
                    time.sleep(0.01)
                holder.execute("SELECT 1 FROM nodes ORDER BY node FOR UPDATE")
                holder.rollback()
                time.sleep(0.1)  # statistics arrive a little later

    def fail_to_serialize(self, _: int) -> None:
        """A trigger raises the error 40001 in one transaction or more, in the middle or at the end."""
        with psycopg.connect(self._cluster.address, autocommit=True) as connection:
            connection.execute(_FAIL)
            connection.execute(self._random.choice([_FAIL_AT_ONCE, _FAIL_AT_COMMIT]))  # type: ignore[call-overload]
            wait_until(lambda: bool((connection.execute("SELECT is_called FROM failures").fetchone() or [False])[0]))
            connection.execute("DROP FUNCTION fail CASCADE")
            connection.execute("DROP SEQUENCE failures")

    def stop_a_while(self, k: int, seconds: float = 1.0) -> None:
        """Let a node hang, perhaps in a transaction."""
        self._stopped(k, lambda: time.sleep(seconds))

    def stop_for_long(self, k: int) -> None:
        self.stop_a_while(k, 30.0)

    def come_back_after_an_hour(self, k: int) -> None:
        """While a node hangs, its rows are folded and the journal is pruned, as other nodes do after an hour."""

        def let_time_pass() -> None:
            with psycopg.connect(self._cluster.address) as connection:
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (TRAFFIC_LOCK,))
                name = f"%:{self._cluster.nodes[k].process.pid}"
                connection.execute("UPDATE nodes SET seen = seen - 7200 WHERE name LIKE %s", (name,))
                connection.execute("DELETE FROM journal WHERE at < extract(epoch FROM now()) - 3")
                PostgresLedger(PostgresConnection(connection)).fold_nodes(time.time(), 10)

        self._stopped(k, let_time_pass)

    def _stopped(self, k: int, meanwhile: Callable[[], None]) -> None:
        process, probe = self._cluster.nodes[k].process, self._cluster.probes[k]
        probe.is_up.clear()
        process.send_signal(signal.SIGSTOP)
        try:
            meanwhile()
        finally:
            process.send_signal(signal.SIGCONT)
            probe.is_up.set()

    def slow_down(self, k: int) -> None:
        """Delay every answer of the database."""
        proxy = self._cluster.proxies[k]
        proxy.delay = self._random.choice([0.05, 0.5])
        time.sleep(2.0)
        proxy.delay = 0.0

    def exhaust_readers(self, k: int) -> None:
        """Read from more threads than a node has connections, while the database is slow."""
        proxy, address = self._cluster.proxies[k], self._cluster.nodes[k].address
        found: list[int] = []

        def read() -> None:
            with suppress(httpx.HTTPError):
                found.append(httpx.get(f"{address}/v1/pages/shop/history", timeout=20, verify=False).status_code)

        proxy.delay = 0.05
        threads = [threading.Thread(target=read) for _ in range(READS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        proxy.delay = 0.0
        assert set(found) <= {200, 503}, found

    def exhaust_connections(self, k: int) -> None:
        """Take every connection that the server allows, and cut those of a node, which has to connect again."""
        with ExitStack() as stack:
            with suppress(psycopg.OperationalError):
                while True:
                    stack.enter_context(psycopg.connect(self._cluster.address))
            self._cluster.proxies[k].cut()
            time.sleep(1.0)

    def kill(self, k: int) -> None:
        self._cluster.restart(k)

    def kill_all(self) -> None:
        for node in self._cluster.nodes:
            os.kill(node.process.pid, signal.SIGKILL)
        self._cluster.restart(*range(NODES))
