"""The cache of insights: what it has while insights are computed again."""

import asyncio
from pathlib import Path

from tests.service.running_service import Client, run_scenario


def test_the_insights_before_are_known_until_those_of_a_new_definition_are_computed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        service = client.service
        model = await service.model("shop")
        assert service.latest_insights(model) is None
        first = await service.insights(model)
        assert service.latest_insights(model) is first
        await client.ok("PUT", "/v1/pages/shop/items/new", {})
        model = await service.model("shop")
        computing = asyncio.ensure_future(service.insights(model))
        await asyncio.sleep(0)  # it begins
        assert service.latest_insights(model) is first
        second = await computing
        assert second is not first
        assert service.latest_insights(model) is second
        assert [row.item for row in first.theta] != [row.item for row in second.theta]

    run_scenario(tmp_path, scenario)


def test_a_new_page_does_not_get_the_insights_of_an_old_one_of_the_same_name(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.service.insights(await client.service.model("shop"))
        await client.ok("DELETE", "/v1/pages/shop?purge=shop")
        await client.page()
        assert client.service.latest_insights(await client.service.model("shop")) is None

    run_scenario(tmp_path, scenario)
