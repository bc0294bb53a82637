"""The table of items takes a time that is linear in the number of items, also when all of them have estimates."""

from pathlib import Path

import pytest

from slotwise.service.web.dashboard.page_report import PageReport
from tests.service.running_service import ITEMS, Client, run_scenario
from tests.waiting import until


def test_the_largest_estimate_is_looked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[float] = []
    largest = PageReport.largest.fget  # type: ignore[attr-defined]

    def noted(report: PageReport) -> float:
        looked.append(largest(report))
        return looked[-1]

    monkeypatch.setattr(PageReport, "largest", property(noted))

    async def scenario(client: Client) -> None:
        await client.page()
        for _ in range(20):
            await client.recommend()
        model = await client.service.model("shop")
        insights = await client.service.insights(model)
        await until(lambda: len(insights.theta) == len(ITEMS))
        looked.clear()
        page = (await client.http.get("/dashboard/pages/shop?items=all")).text
        assert all(f'data-name="{item}"' in page for item in ITEMS)

    run_scenario(tmp_path, scenario)
    assert len(looked) == 1
