"""PostgreSQL stores of an older slotwise are migrated while its nodes still run, by one node at a time."""

import asyncio
import threading
from pathlib import Path

import psycopg
import pytest

from slotwise.checks import BadInput
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.postgres import postgres_schema
from slotwise.service.store.postgres.postgres_schema import MIGRATIONS, migrate
from slotwise.service.store.postgres.postgres_store import create_postgres, read_postgres
from tests.postgres_server import PostgresServer
from tests.service.store.test_nodes import ANY, agree, click, define, has_items, nodes, statuses, until

WRITTEN_BY = Path(__file__).parent / "written_by"
NEXT = "ALTER TABLE pages ADD COLUMN note TEXT NOT NULL DEFAULT ''; CREATE TABLE notes (note TEXT PRIMARY KEY)"


def versions(address: str) -> list[tuple[int]]:
    with psycopg.connect(address) as connection:
        return connection.execute("SELECT version FROM slotwise_version").fetchall()


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_a_store_of_every_version_is_migrated(postgres: PostgresServer, version: int) -> None:
    """The files are dumps of pg_dump: a page with three items, and three displays, of which two were clicked."""
    address = postgres.database()
    dump = (WRITTEN_BY / f"postgres_{version}.sql").read_text()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("\n".join(line for line in dump.splitlines() if line[:1] != "\\"))  # type: ignore[call-overload]
    assert versions(address) == [(version,)]
    create_postgres(address)
    assert versions(address) == [(len(MIGRATIONS),)]
    assert verify(address).differences == []
    counts = read_postgres(address, lambda ledger: ledger.counts(1))
    clicks, skips = (sum(getattr(cell, name) for cell in counts.cells) for name in ("clicks", "skips"))
    assert (counts.displays, clicks, skips) == (3.0, 2.0, 4.0)

    async def scenario() -> None:
        async with nodes(address) as (node,):
            shown = (await node.recommend("shop", ANY)).display
            assert await statuses(node, click(shown)) == ["accepted"]

    asyncio.run(scenario())
    assert verify(address).differences == []


def test_an_old_node_runs_on_while_a_new_one_migrates(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.database()

    async def scenario() -> None:
        async with nodes(address) as (old,):
            await define(old)
            before = [(await old.recommend("shop", ANY)).display for _ in range(10)]
            monkeypatch.setattr(postgres_schema, "MIGRATIONS", [*MIGRATIONS, NEXT])
            async with nodes(address) as (new,):
                assert versions(address) == [(len(MIGRATIONS) + 1,)]
                await until(lambda: has_items(new, 3))
                shown = [(await node.recommend("shop", ANY)).display for node in (old, new)]
                assert await statuses(old, click(shown[0]), click(before[0])) == ["accepted"] * 2
                assert await statuses(new, click(shown[1]), click(before[1])) == ["accepted"] * 2
                await agree(old, new)

    asyncio.run(scenario())
    assert verify(address).differences == []
    monkeypatch.undo()
    with pytest.raises(BadInput, match="version 2"):
        create_postgres(address)


def test_nodes_that_start_at_once_migrate_once(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_schema, "MIGRATIONS", [*MIGRATIONS, NEXT])
    address, failed = postgres.database(), list[Exception]()
    together = threading.Barrier(4)

    def start() -> None:
        try:
            with psycopg.connect(address, autocommit=True) as connection:
                together.wait()
                migrate(connection, "the database")
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert versions(address) == [(len(MIGRATIONS) + 1,)]
