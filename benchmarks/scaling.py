"""`python -m benchmarks.scaling`: what a display and an event cost on PostgreSQL, for the plans of docs/scaling.md.

One node and PostgreSQL run on this machine, with the default settings of both. Costs are processor time, write-ahead
log and disk, not seconds, so they hardly depend on what else the machine does.
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import psycopg

from benchmarks.epoll_client import encode_request, repeat, send_requests
from benchmarks.measure import Row, report
from benchmarks.running_server import RunningServer
from slotwise.service.store.postgres.postgres_connection import PostgresConnection
from slotwise.service.store.postgres.postgres_ledger import PostgresLedger
from slotwise.service.store.postgres.postgres_schema import TRAFFIC_LOCK
from tests.command_line import COMMAND
from tests.postgres_server import running_server

DISPLAYS, CLICKED, BATCH, CONNECTIONS = (
    20_000,
    2,
    100,
    8,
)  # positions that are clicked of each display; events of a call
N_ITEMS, IDLE_SECONDS, PRUNED = 50, 10.0, 500
_TABLES = {"display": ["displays"], "event": ["events", "event_ids"]}
_WAL = "SELECT (pg_current_wal_insert_lsn() - '0/0')::float8"


class Use(NamedTuple):
    """What was used since the server started: seconds of the processor, and bytes."""

    node: float
    database: float
    wal: float

    def since(self, before: "Use", number: float) -> "Use":
        """The use for each of a number of things, in microseconds and bytes."""
        node, database, wal = (now - then for now, then in zip(self, before, strict=True))
        return Use(1e6 * node / number, 1e6 * database / number, wal / number)


class Answer(msgspec.Struct):
    id: str
    token: str


class Cluster:
    """A node, and a connection to its database."""

    def __init__(self, address: str) -> None:
        self.node = RunningServer([*COMMAND, "serve", "--dev", "--store", address, "--port", "0"])
        self.connection = psycopg.connect(address, autocommit=True)
        stat = Path(f"/proc/{self.connection.info.backend_pid}/stat").read_text()
        self._server = int(stat.rpartition(")")[2].split()[1])

    def use(self) -> Use:
        """After the displays that wait are committed."""
        time.sleep(1.0)
        return Use(self.node.processor_seconds(), self.database_seconds(), float(self.ask(_WAL)))

    def ask(self, query: str) -> float:
        row = self.connection.execute(query).fetchone()  # type: ignore[call-overload]
        return float(row[0])

    def database_seconds(self) -> float:
        """The processor time of the processes of PostgreSQL."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[1]) == self._server:
                ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def send(self, requests: list[bytes], keep: bool = False) -> list[bytes]:
        waiting = iter(requests)
        return send_requests(self.node.port, lambda: next(waiting, None), CONNECTIONS, keep).bodies

    def bytes_of(self, what: str) -> float:
        self.connection.execute("VACUUM ANALYZE")
        return sum(self.ask(f"SELECT pg_total_relation_size('{table}')") for table in _TABLES[what])


def rows_of(what: str, use: Use) -> list[Row]:
    return [
        Row(f"{what}: processor of the node", use.node, "us"),
        Row(f"{what}: processor of PostgreSQL", use.database, "us"),
        Row(f"{what}: write-ahead log", use.wal, "bytes"),
    ]


def measure(cluster: Cluster) -> list[Row]:
    """Measure displays, events, an idle node, the size on disk, pruning and the load of a page."""
    rows = []

    def measured(what: str, number: float, work: Callable[[], object]) -> None:
        before = cluster.use()
        work()
        rows.extend(rows_of(what, cluster.use().since(before, number)))

    cluster.node.define("shop", N_ITEMS)
    recommend = encode_request("/v1/pages/shop/recommendations", b"{}")
    send_requests(cluster.node.port, repeat(recommend, 2_000), CONNECTIONS)
    cluster.node.wait_for_ensembles()
    before = cluster.ask("SELECT count(*) FROM displays"), cluster.bytes_of("display")
    found: list[bytes] = []
    measured("a display", DISPLAYS, lambda: found.extend(cluster.send([recommend] * DISPLAYS, keep=True)))
    n_displays = cluster.ask("SELECT count(*) FROM displays") - before[0]
    rows.append(Row("a display: disk", (cluster.bytes_of("display") - before[1]) / n_displays, "bytes"))
    shown = msgspec.json.Decoder(Answer)
    tokens = [shown.decode(body).token for body in found]
    clicks = [
        {"type": "click", "token": token, "position": f"position-{k}"} for k in range(CLICKED) for token in tokens
    ]
    single, many = clicks[: DISPLAYS // 4], clicks[DISPLAYS // 4 :]

    def requests(events: list[dict[str, str]], size: int) -> list[bytes]:
        bodies = [msgspec.json.encode({"events": events[k : k + size]}) for k in range(0, len(events), size)]
        return [encode_request("/v1/events", body) for body in bodies]

    measured("an event in batches of 100", len(many), lambda: cluster.send(requests(many, BATCH)))
    measured("an event, 8 calls at once", len(single), lambda: cluster.send(requests(single, 1)))
    rows.append(Row("an event: disk", cluster.bytes_of("event") / len(clicks), "bytes"))
    measured("a second of an idle node", IDLE_SECONDS, lambda: time.sleep(IDLE_SECONDS - 1.0))
    return rows + maintenance(cluster)


def maintenance(cluster: Cluster) -> list[Row]:
    """Stop the node, read a page as a node does, and prune the whole log."""
    cluster.node.end()
    ledger = PostgresLedger(PostgresConnection(cluster.connection))
    ledger.forget()
    seconds = []
    for _ in range(20):
        began = time.perf_counter()
        ledger.count_rows(1)
        seconds.append(time.perf_counter() - began)
    loaded = float(np.median(seconds))
    total = cluster.ask("SELECT count(*) FROM displays")
    cluster.connection.execute("UPDATE displays SET drop_after = 0")
    cluster.connection.execute("VACUUM ANALYZE")
    before, pruned = Use(time.process_time(), cluster.database_seconds(), cluster.ask(_WAL)), 0
    while True:
        with cluster.connection.transaction():
            cluster.connection.execute("SELECT pg_advisory_xact_lock(%s)", (TRAFFIC_LOCK,))
            ledger.forget()
            number = ledger.prune(time.time(), PRUNED)
            ledger.flush()
        pruned += number
        if not number:
            break
    assert pruned == total
    after = Use(time.process_time(), cluster.database_seconds(), cluster.ask(_WAL))
    return [
        Row(f"reading the counts of a page with {N_ITEMS} items", 1e3 * loaded, "ms"),
        *rows_of(f"pruning a display with {CLICKED} events", after.since(before, pruned)),
    ]


def main() -> bool:
    with running_server(fsync=True) as server:
        cluster = Cluster(server.database())
        try:
            rows = measure(cluster)
        finally:
            cluster.connection.close()
            if cluster.node.process.poll() is None:
                cluster.node.end()
    return report("What a display and an event cost on PostgreSQL", "scaling", rows)


if __name__ == "__main__":
    sys.exit(not main())
