"""Nodes behind PgBouncer in transaction mode, with fewer connections than nodes."""

import asyncio

import pytest

from slotwise.service.maintenance.verify import verify
from tests.pgbouncer import COMMAND, pooled
from tests.postgres_server import PostgresServer
from tests.service.store.test_nodes import ANY, agree, click, define, has_items, nodes, statuses, until


@pytest.mark.skipif(COMMAND is None, reason="needs PgBouncer: apt-get install pgbouncer")
def test_nodes_behind_pgbouncer_lose_and_double_nothing(postgres: PostgresServer) -> None:
    """Three nodes share two connections, so that consecutive transactions of a node run on different ones."""
    direct = postgres.database()

    async def scenario(address: str) -> None:
        async with nodes(address, address, address) as each:
            await define(each[0])
            for node in each:
                await until(lambda node=node: has_items(node, 3))  # type: ignore[misc]
            for k in range(20):
                shown = [(await node.recommend("shop", ANY)).display for node in each]
                found = await asyncio.gather(*[statuses(each[(n + k) % 3], click(one)) for n, one in enumerate(shown)])
                assert found == [["accepted"]] * 3
                assert await statuses(each[k % 3], *map(click, shown)) == ["duplicate"] * 3
            assert not any(node.degraded for node in each)
            await agree(*each)

    with pooled(direct, connections=2) as address:
        asyncio.run(scenario(address))
    assert verify(direct).differences == []
