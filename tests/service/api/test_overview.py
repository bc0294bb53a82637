"""The overview of all pages over HTTP."""

import asyncio
from pathlib import Path
from typing import Any

from tests.service.running_service import POSITIONS, Client, run_scenario


async def overview(client: Client, **query: str) -> Any:
    """The overview when all summaries are computed."""
    while True:
        found = await client.ok("GET", "/v1/overview", params=query)
        if all(page["summary"] is not None for page in found["pages"]):
            return found
        await asyncio.sleep(0.01)


def test_traffic_events_and_health(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page("shop")
        await client.page("quiet", [])
        display = await client.recommend("shop", id="view-1")
        click = {"type": "click", "display": display["id"], "position": POSITIONS[0]}
        await client.send(click, click)
        found = await overview(client)
        quiet, shop = found["pages"]
        assert [page["page"] for page in found["pages"]] == ["quiet", "shop"]
        assert (found["total"], found["next"]) == (2, None)
        assert (shop["events"]["accepted"], shop["events"]["duplicate"]) == (1, 1)
        (learnt,) = shop["summary"]["variants"]
        assert (learnt["variant"], learnt["displays"], learnt["clicks"]) == ("learnt", 1, 1)
        assert (shop["summary"]["items"], shop["summary"]["positions"]) == (5, 3)
        assert (quiet["summary"]["variants"], quiet["summary"]["settled"]) == ([], None)
        health = found["health"]
        assert (health["ready"], health["degraded"], health["events"]["duplicate"]) == (True, False, 1)

    run_scenario(tmp_path, scenario)


def test_a_key_for_some_pages_sees_these_and_no_health(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin"))
        for name in ("one", "two"):
            await client.page(name, [])
        client.use_key(await client.create_key("read", pages=["two"]))
        found = await overview(client)
        assert [page["page"] for page in found["pages"]] == ["two"]
        assert (found["total"], found["health"]) == (1, None)

    run_scenario(tmp_path, scenario, with_keys=True)


def test_pages_come_in_parts(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        for k in range(102):
            await client.ok("PUT", f"/v1/pages/page-{k:03}", {"positions": ["a"]})
        first = await client.ok("GET", "/v1/overview")
        assert (len(first["pages"]), first["next"], first["total"]) == (100, "page-099", 102)
        rest = await client.ok("GET", "/v1/overview", params={"after": first["next"]})
        assert [page["page"] for page in rest["pages"]] == ["page-100", "page-101"]
        assert rest["next"] is None

    run_scenario(tmp_path, scenario)
