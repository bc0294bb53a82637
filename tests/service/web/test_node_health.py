"""The nodes that share a store, in the overview and in the dashboard."""

import asyncio
import re
from pathlib import Path

import httpx
import psycopg

from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import make_app
from slotwise.service.service import running
from tests.postgres_server import PostgresServer
from tests.service.running_service import Client, run_scenario
from tests.waiting import HANG

NODE = re.compile(r'data-key="node-(\d+)".*?</tr>', re.DOTALL)


def test_the_overview_lists_the_nodes_and_says_which_one_is_behind(postgres: PostgresServer) -> None:
    address = postgres.database()

    async def scenario() -> None:
        async with running(address) as first:
            transport = httpx.ASGITransport(make_app(first, DevAccess()))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
                async with running(address) as second:
                    health = (await http.get("/v1/overview")).json()["health"]
                    assert (health["node"], [node["node"] for node in health["nodes"]]) == (first.store.node, [1, 2])
                    page = (await http.get("/dashboard")).text
                    rows = {int(row[1]): row[0] for row in NODE.finditer(page)}
                    assert ["shows this page" in rows[node] for node in (1, 2)] == [True, False]
                    assert "stopped" not in page
                    assert second.store.node == 2
                with psycopg.connect(address, autocommit=True) as connection:
                    connection.execute("UPDATE nodes SET seen = seen - 600 WHERE node = 2")  # ten minutes later
                page = (await http.get("/dashboard")).text
                rows = {int(row[1]): row[0] for row in NODE.finditer(page)}
                assert ["stopped" in rows[node] for node in (1, 2)] == [False, True]
                assert "10 minutes ago" in rows[2]
                await asyncio.wait_for(first.compiled.wait(), HANG)
                ready = (await http.get("/readyz")).json()
                assert [node["name"] for node in ready["nodes"]] == [node["name"] for node in health["nodes"]]

    asyncio.run(scenario())


def test_without_a_shared_store_there_are_no_nodes(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        health = (await client.ok("GET", "/v1/overview"))["health"]
        assert (health["node"], health["nodes"]) == (None, [])
        assert "share" not in re.sub(r"<[^>]*>", "", (await client.http.get("/dashboard")).text).partition("Pages")[0]

    run_scenario(tmp_path, scenario)
