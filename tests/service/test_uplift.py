"""The uplift in the insights of a page, from real displays and clicks, equals that of the log of the page.

The secrets of pages are random, and so are the shares of visitors. Fewer than 30 clicks of a variant have probability
1e-9 in each of these tests.
"""

from pathlib import Path
from typing import Any

import pytest

from slotwise.inference.uplift.compare_variants import compare_variants
from slotwise.logs.count_variants import count_variants
from slotwise.service.insights.uplift_insight import page_uplift
from slotwise.service.log_export import LogFilter, export_log
from slotwise.service.pages.page_definition import PageSpec
from slotwise.service.store.records import DailyRate
from tests.service.running_service import Client, ManualClock, run_scenario

DAY = 86400.0
BARGAIN = "hat"  # its clicks are worth more


async def visit(client: Client, visitors: int, rates: dict[str, float]) -> None:
    """Visitors who come twice. Those of a variant click on this share of their displays, one click each."""
    clicks: list[dict[str, Any]] = []
    owed = dict.fromkeys(rates, 0.0)
    for k in range(2 * visitors):
        shown = await client.recommend(unit=f"visitor {k % visitors}")
        owed[shown["variant"]] += rates[shown["variant"]]
        if owed[shown["variant"]] >= 1.0:
            owed[shown["variant"]] -= 1.0
            clicks.append({"type": "click", "token": shown["token"], "position": "hero"})
    assert set(await client.send(*clicks)) == {"accepted"}


def test_insights_and_the_exported_log_have_the_same_uplift(tmp_path: Path) -> None:
    uplifts: list[Any] = []

    async def scenario(client: Client) -> None:
        await client.page(holdout=0.5)
        await client.ok("PATCH", f"/v1/pages/shop/items/{BARGAIN}", {"value": 2.5})
        for _ in range(2):
            await visit(client, 100, {"learnt": 0.8, "holdout": 0.4})
            client.clock.now += DAY
        uplifts.append((await client.ok("GET", "/v1/pages/shop/insights"))["uplift"])

    run_scenario(tmp_path, scenario, ManualClock())
    (uplift,) = uplifts
    assert (uplift["ready"], uplift["note"], uplift["displays"]) == (True, "", 400)
    assert uplift["clicks"]["gain"] == pytest.approx(1.0, abs=0.15)
    assert uplift["clicks"]["low"] < uplift["clicks"]["gain"] < uplift["clicks"]["high"]
    assert 0.0 <= uplift["realised"] <= 1.0
    export_log(tmp_path / "store.db", tmp_path / "log.ndjson", LogFilter())
    assert uplift["value"]["gain"] != pytest.approx(uplift["clicks"]["gain"])
    assert_same(uplift, tmp_path / "log.ndjson")


def assert_same(uplift: Any, log: Path) -> None:
    """The insights and the log have the same estimates."""
    logged = compare_variants(count_variants(str(log)).pages["shop"])
    for name, ours in (("clicks", logged.clicks), ("value", logged.value)):
        assert ours is not None
        for field in ours.__struct_fields__:
            assert uplift[name][field] == pytest.approx(getattr(ours, field)), f"{name}.{field}"
    assert (uplift["displays"], uplift["displays_needed"]) == (logged.displays, logged.displays_needed)
    assert uplift["better"] == pytest.approx(logged.better)


def test_insights_keep_days_that_have_left_the_log(tmp_path: Path) -> None:
    uplifts: list[Any] = []

    async def scenario(client: Client) -> None:
        await client.page(holdout=0.5, click_window=3600.0, retention=3600.0)
        await visit(client, 60, {"learnt": 1.0, "holdout": 0.5})
        client.clock.now += DAY
        await client.service.tick()
        await visit(client, 40, {"learnt": 1.0, "holdout": 0.5})
        await client.service.store.do(lambda _: None)  # the last displays are committed before it
        uplifts.append((await client.ok("GET", "/v1/pages/shop/insights"))["uplift"])

    run_scenario(tmp_path, scenario)
    export_log(tmp_path / "store.db", tmp_path / "log.ndjson", LogFilter())
    logged = compare_variants(count_variants(str(tmp_path / "log.ndjson")).pages["shop"])
    assert (uplifts[0]["displays"], logged.displays) == (200, 80)


@pytest.mark.parametrize("change", [{"holdout": 0.4}, {"learnt_share": 0.7}, {"holdout_order": "default"}])
def test_a_changed_share_begins_the_comparison_again_in_insights_and_log(tmp_path: Path, change: Any) -> None:
    """Before the change, the learnt variant was clicked much more. Both displays of the same day are compared."""
    uplifts: list[Any] = []

    async def scenario(client: Client) -> None:
        await client.page(holdout=0.5)
        await client.ok("PATCH", f"/v1/pages/shop/items/{BARGAIN}", {"value": 2.5})
        await visit(client, 60, {"learnt": 1.0, "holdout": 0.2})
        await client.ok("PATCH", "/v1/pages/shop", change)
        await visit(client, 120, {"learnt": 0.8, "holdout": 0.7, "default": 0.5})
        empty = await client.recommend(eligible=[])  # a display without items counts for neither
        assert empty["items"] == []
        uplifts.append((await client.ok("GET", "/v1/pages/shop/insights"))["uplift"])

    run_scenario(tmp_path, scenario, ManualClock())
    export_log(tmp_path / "store.db", tmp_path / "log.ndjson", LogFilter())
    assert uplifts[0]["ready"]
    assert uplifts[0]["clicks"]["gain"] < 1.0
    assert_same(uplifts[0], tmp_path / "log.ndjson")


def test_displays_from_before_the_holdout_do_not_enter(tmp_path: Path) -> None:
    """Before, every display was clicked. If these displays entered, the learnt variant would look better."""
    notes: list[str] = []

    async def uplift(client: Client) -> Any:
        return (await client.ok("GET", "/v1/pages/shop/insights"))["uplift"]

    async def scenario(client: Client) -> None:
        await client.page()
        await visit(client, 40, {"learnt": 1.0})
        notes.append((await uplift(client))["note"])
        await client.ok("PATCH", "/v1/pages/shop", {"holdout": 0.5})
        await visit(client, 100, {"learnt": 0.8, "holdout": 0.8})
        after = await uplift(client)
        assert (after["ready"], after["displays"]) == (True, 200)
        assert after["clicks"]["gain"] == pytest.approx(0.0, abs=0.1)
        await client.ok("PATCH", "/v1/pages/shop", {"holdout_order": "default"})
        notes.append((await uplift(client))["note"])

    run_scenario(tmp_path, scenario)
    assert "no holdout" in notes[0]
    assert "no displays of the variant learnt" in notes[1]


def test_without_enough_clicks_the_note_says_what_is_missing() -> None:
    days = [DailyRate(20_000, variant, bucket, 10, 1, 1.0) for variant in ("learnt", "holdout") for bucket in range(25)]
    uplift = page_uplift(PageSpec(holdout=0.5), days)
    assert (uplift.ready, uplift.clicks, uplift.displays) == (False, None, 500)
    assert "30 are needed" in uplift.note
    assert uplift.displays_needed == 100
