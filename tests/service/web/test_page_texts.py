"""The texts of a page of the dashboard in states that are easy to get wrong."""

import re
from pathlib import Path

import msgspec
import pytest

from slotwise.service.api.pages import PageView
from slotwise.service.insights.insights import Insights
from slotwise.service.web.dashboard.page_report import PageData, page_report, script_data
from slotwise.service.web.dashboard.visitor import Visitor
from slotwise.service.web.html import render
from slotwise.service.web.numbers import probability
from tests.service.running_service import POSITIONS, Client, run_scenario

DISPLAYS = 250


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[PageView, Insights]:
    """A page that only watches, and its insights."""
    results: list[tuple[PageView, Insights]] = []

    async def scenario(client: Client) -> None:
        await client.page(mode="shadow")
        for _ in range(DISPLAYS):
            display = await client.recommend()
            await client.send({"type": "click", "display": display["id"], "position": POSITIONS[0]})
        model = await client.service.model("shop")
        view = msgspec.convert(await client.ok("GET", "/v1/pages/shop") | {"page": "shop"}, PageView)
        results.append((view, await client.service.insights(model, 1.0)))

    run_scenario(Path(tmp_path_factory.mktemp("texts")), scenario)
    return results[0]


def texts(view: PageView, insights: Insights | None, item: str | None = None) -> str:
    """The page, or an item of it, without tags."""
    report = page_report(PageData(view, insights, None, [], 0.0))
    values = {"visitor": Visitor("anna", False, False, ""), "report": report, "script_data": script_data(report)}
    if item is None:
        listed = {"listed": report.items, "most_listed": 50, "address_of_first": "?", "address_of_all": "?"}
        html = render("dashboard/page.html", **values, **listed)
    else:
        html = render("dashboard/item.html", **values, row=report.item(item), since=None)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", html.decode()))


def test_while_insights_are_computed_a_page_claims_nothing(found: tuple[PageView, Insights]) -> None:
    view = found[0]
    for text in (texts(view, None), texts(view, None, view.items[0].item)):
        assert "dding up" in text
        for claim in ("rarely", "0 displays", "0 clicks", "not shown yet", "oo early"):
            assert claim not in text, claim


def test_without_an_interval_no_interval_is_claimed(found: tuple[PageView, Insights]) -> None:
    view, insights = found
    rows = [msgspec.structs.replace(row, low=None, high=None, ready=False) for row in insights.theta]
    text = texts(view, msgspec.structs.replace(insights, theta=rows))
    assert "earns most? " in text
    assert "sure to lie between" not in text
    assert "sure to lie between" in texts(view, insights)


def test_in_the_default_order_nothing_is_said_about_visibility(found: tuple[PageView, Insights]) -> None:
    """Each item has one position there, so clicks identify only products of theta and kappa."""
    view, insights = found
    assert insights.displays == DISPLAYS
    assert page_report(PageData(view, insights, None, [], 0.0)).visible == []
    assert "wherever it stands" not in texts(view, insights)


def test_insights_of_the_definition_before_are_shown_as_far_as_they_fit(found: tuple[PageView, Insights]) -> None:
    """A page keeps its numbers while those of a new definition are computed."""
    view, insights = found
    new = msgspec.structs.replace(view.items[0], item="new item")
    layouts: dict[str, list[str]] = {"wide": ["new position", POSITIONS[0]]}
    changed = msgspec.structs.replace(view, layouts=layouts, items=[*view.items[1:], new])
    text = texts(changed, insights)
    assert "new position empty" in text
    assert "new item" in text
    assert "No visitor has seen it yet" in texts(changed, insights, "new item")


def test_old_displays_that_count_less_are_explained(found: tuple[PageView, Insights]) -> None:
    view, insights = found
    faded = texts(msgspec.structs.replace(view, half_life=60.0), msgspec.structs.replace(insights, displays=99.0))
    assert f"{DISPLAYS} displays" in faded
    assert "like 99 of today" in faded
    assert "of today" not in texts(view, insights)


def test_an_estimated_probability_is_never_100_percent() -> None:
    said = [re.sub(r"<[^>]*>", "", probability(value)) for value in (1.0, 0.9951, 0.99, 0.5)]
    assert said == ["more than 99 %", "more than 99 %", "99 %", "50 %"]
