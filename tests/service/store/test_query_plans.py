"""No statement of the traffic on a large PostgreSQL store reads a whole table: `EXPLAIN` of each one."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import psycopg
import pytest

from slotwise.service.history import DEV
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.registers import Counting, EventKind, Registers
from slotwise.service.store.interface import TrafficRows
from slotwise.service.store.postgres.postgres_connection import PostgresConnection
from slotwise.service.store.postgres.postgres_store import PostgresStore
from slotwise.service.store.postgres.postgres_transactions import READ_JOURNAL
from slotwise.service.store.records import Display, DisplayEntry, Event
from tests.postgres_server import PostgresServer

LARGE = ("displays", "events", "event_ids", "node_counts", "node_rates", "node_daily_rates", "base", "items", "journal")
FILL = """
    INSERT INTO displays SELECT n, 'old' || n, n, 1 + n % 50, 'default', 0, n, n, 1e9 + n, 'learnt', 0, 1, n % 512, 1,
        '[["hero",0,0,"learnt",1.0,null]]', 0 FROM generate_series(1, 30000) AS n;
    SELECT setval('displays_number_seq', 30000);
    INSERT INTO events SELECT n, 1, 0, 1, 0 FROM generate_series(1, 30000) AS n;
    INSERT INTO event_ids SELECT 'e' || n, n, 1, 0 FROM generate_series(1, 30000) AS n;
    INSERT INTO items SELECT p, n, 'i' || n, '{}', 1 FROM generate_series(1, 50) AS p, generate_series(2, 600) AS n;
    INSERT INTO node_counts SELECT p, 0, 1 + n % 5, n, 0, 0, 1, 1 FROM generate_series(1, 50) AS p,
        generate_series(0, 599) AS n;
    INSERT INTO base SELECT p, n, 0, 0, 1, 1, 0 FROM generate_series(1, 50) AS p, generate_series(0, 599) AS n;
    INSERT INTO node_rates SELECT p, h, 'learnt', 1, 1, 1, 1 FROM generate_series(1, 50) AS p,
        generate_series(1, 600) AS h;
    INSERT INTO node_daily_rates SELECT p, 1, 1, 'learnt', b, n, 1, 1, 1 FROM generate_series(1, 50) AS p,
        generate_series(0, 511) AS b, generate_series(2, 3) AS n;
    INSERT INTO nodes OVERRIDING SYSTEM VALUE SELECT n, 'old', 0, 1e10, 100 FROM generate_series(100, 105) AS n;
    INSERT INTO journal SELECT 100 + n % 5, n, n - 5, NULL, 1e10, '\\x929090' FROM generate_series(1, 20000) AS n;
    ANALYZE
"""


def display(id: str, page: int = 1) -> Display:
    entries = [DisplayEntry("hero", 0, 0, "learnt"), DisplayEntry("left", 1, 1, "learnt")]
    registers = Registers(2, Counting.ISSUED)
    return Display(id, 7, page, "default", 0, 1e6, 2e6, 2e6, "learnt", 0, registers, entries, allocation=1)


async def use_everything(store: PostgresStore) -> None:
    """Run the operations of the traffic, of page loads and of housekeeping."""
    for k in range(20):
        store.add(display(f"new{k}", 1 + k % 3))
    clicks = [Event(EventKind.CLICK, f"new{k}", None, None, "hero", f"id{k}") for k in range(20)]
    clicks += [Event(EventKind.CLICK, f"old{k}", None, None, "hero", f"x{k}") for k in range(20)]
    await store.do(lambda ledger: ledger.record_events(clicks, 1e6), TrafficRows(clicks))
    issued = display("chosen")
    await store.do(lambda ledger: ledger.issue(issued), TrafficRows(displays=[issued]))
    for operation in (
        lambda ledger: ledger.page("page3"),
        lambda ledger: ledger.items(3),
        lambda ledger: ledger.item(3, "hat"),
        lambda ledger: ledger.specs(3, ["hat", "tie"]),
        lambda ledger: ledger.n_items(3),
        lambda ledger: ledger.count_rows(3),
        lambda ledger: ledger.logged(3),
        lambda ledger: ledger.rates(3),
        lambda ledger: ledger.daily_rates(3, 1),
        lambda ledger: ledger.log(3, 0, 100),
        lambda ledger: ledger.display("old77"),
        lambda ledger: ledger.history(3, 10, 10),
    ):
        await store.read(operation)
    await store.do(lambda ledger: ledger.prune(1.5e6, 100), TrafficRows())
    await store.do(lambda ledger: ledger.prune(2.5e6, 100), TrafficRows())
    await store.do(lambda ledger: ledger.save_items(3, [("hat", ItemSpec("paused"))]))
    await store.do(lambda ledger: ledger.begin_epoch(3, 1, 1e6))
    number = await store.do(lambda ledger: ledger.begin_import())
    await store.do(lambda ledger: ledger.stage_counts(number, np.array([[1, 0, 0, 2.0, 3.0]])))
    await store.do(lambda ledger: ledger.import_counts(3, number, 5.0, None))
    await store.do(lambda ledger: ledger.remove_snapshot(3))
    await store.do(lambda ledger: ledger.begin_purge(4, DEV, 1e6))
    (purge,) = await store.do(lambda ledger: ledger.purges())
    after: int | None = 0
    for _ in range(8):
        if after is not None:
            step = after
            after = await store.do(lambda ledger, step=step: ledger.purge(purge, step, 1e6))  # type: ignore[misc]
    await store.do(lambda ledger: ledger.fold_nodes(1e9, 10))


def test_no_statement_of_the_traffic_reads_a_whole_table(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, statements = postgres.database(), dict[str, Sequence[Any]]()
    execute = PostgresConnection.execute

    def noting(self: PostgresConnection, statement: str, values: Sequence[Any] = (), /) -> Any:
        statements.setdefault(re.sub(r"\?(, \?)+", "?...", statement), (statement, values))
        return execute(self, statement, values)

    async def scenario() -> None:
        store = PostgresStore(address)
        body = NO_PAGE.with_spec(PageSpec(positions=["hero", "left"]))
        for k in range(50):
            await store.do(lambda ledger, k=k: ledger.save_page(f"page{k + 1}", body, None, 1.0))  # type: ignore[misc]
            await store.do(
                lambda ledger, k=k: ledger.save_items(k + 1, [("hat", ItemSpec()), ("tie", ItemSpec())])  # type: ignore[misc]
            )
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in FILL.split(";"):
                connection.execute(statement)  # type: ignore[call-overload]
        monkeypatch.setattr(PostgresConnection, "execute", noting)
        try:
            await use_everything(store)
        finally:
            await store.close()

    asyncio.run(scenario())
    monkeypatch.undo()
    assert len(statements) > 30
    statements["journal"] = (READ_JOURNAL.replace("%s", "?"), ([100, 101, 102, 103, 104], [19990] * 5, 1))
    scans = re.compile(rf"Seq Scan on ({'|'.join(LARGE)})\b")
    slow = {}
    with psycopg.connect(address, autocommit=True) as raw:
        connection = PostgresConnection(raw)
        for statement, values in statements.values():
            if not statement.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")):
                continue
            plan = "\n".join(line for (line,) in connection.execute(f"EXPLAIN {statement}", values))
            if scans.search(plan):
                slow[statement] = plan
    assert not slow, "\n\n".join(f"{statement}\n{plan}" for statement, plan in slow.items())
