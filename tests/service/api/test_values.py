"""Values and categories over HTTP: what is refused, what a display shows, and what the answer says about pins."""

from pathlib import Path
from typing import Any

import pytest

from tests.service.running_service import Client, run_scenario

PAGE, HAT = "/v1/pages/shop", "/v1/pages/shop/items/hat"
ITEMS = ["hat", "cap", "tie", "bag"]


def test_values_and_categories_take_effect_on_the_next_recommendation(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=ITEMS, most_per_category=1)
        for item in ("hat", "cap"):
            await client.ok("PATCH", f"{PAGE}/items/{item}", {"category": "head"})
        for _ in range(30):
            shown = {row["item"] for row in (await client.recommend())["items"]}
            assert not {"hat", "cap"} <= shown
        assert {"hat", "cap"} <= {row["item"] for row in (await client.recommend(most_per_category=2, **PINS))["items"]}
        await client.ok("PATCH", PAGE, {"most_per_category": None})
        await client.ok("PATCH", HAT, {"value": 0})
        for _ in range(30):
            assert "hat" not in {row["item"] for row in (await client.recommend())["items"]}
        view = await client.ok("GET", PAGE)
        assert view["most_per_category"] is None
        assert view["items"][0] | {"value": 0.0, "category": "head"} == view["items"][0]
        await client.ok("PATCH", HAT, {"value": None, "category": None})
        view = await client.ok("GET", HAT)
        assert (view["value"], view["category"]) == (1.0, None)

    run_scenario(tmp_path, scenario)


PINS: dict[str, Any] = {"pinned": {"hero": "hat", "left": "cap"}}


def test_the_answer_says_if_pins_exceed_the_limit(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=ITEMS, most_per_category=1)
        for item in ("hat", "cap"):
            await client.ok("PATCH", f"{PAGE}/items/{item}", {"category": "head"})
        assert "over_limit" not in await client.recommend()
        first = await client.recommend(id="view-1", **PINS)
        assert first["over_limit"] == ["head"]
        assert (await client.recommend(id="view-1", **PINS))["over_limit"] == ["head"]  # the repeated answer too
        assert "over_limit" not in await client.recommend(most_per_category=2, **PINS)
        await client.ok("PUT", f"{PAGE}/pins/default/hero", {"item": "hat"})
        await client.ok("PUT", f"{PAGE}/pins/default/left", {"item": "cap"})
        assert (await client.recommend())["over_limit"] == ["head"]

    run_scenario(tmp_path, scenario)


def test_a_shortage_may_come_from_the_limit(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=ITEMS)
        rows = [{"item": item, "category": "all"} for item in ITEMS]
        await client.ok("POST", f"{PAGE}/items:batch", {"items": rows})
        shown = await client.recommend(most_per_category=2)
        assert (len(shown["items"]), len(shown["left_out"])) == (2, 1)
        path = f"{PAGE}/recommendations?on_shortage=error"
        answers = [(await client.http.post(path, json={"most_per_category": most})).status_code for most in (2, 3)]
        assert answers == [409, 201]

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("PUT", HAT, {"value": -1}, "/value"),
        ("PATCH", HAT, {"value": 1.1e6}, "/value"),
        ("PUT", HAT, {"value": "2"}, "/value"),
        ("PUT", HAT, {"category": ""}, "/category"),
        ("PATCH", HAT, {"category": "a/b"}, "/category"),
        ("POST", f"{PAGE}/items:batch", {"items": [{"item": "hat", "value": -0.5}]}, "/items/0/value"),
        ("PATCH", PAGE, {"most_per_category": 0}, "/most_per_category"),
        ("PUT", PAGE, {"positions": ["hero"], "most_per_category": 1.5}, "/most_per_category"),
        ("POST", f"{PAGE}/recommendations", {"most_per_category": 51}, "/most_per_category"),
    ],
)
def test_invalid_values_categories_and_limits(
    tmp_path: Path, method: str, path: str, body: dict[str, Any], pointer: str
) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=ITEMS)
        answer = await client.http.request(method, path, json=body)
        assert answer.status_code == 422
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]

    run_scenario(tmp_path, scenario)


def test_the_best_displays_of_insights_follow_values_limits_and_pins(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=ITEMS, most_per_category=1)
        rows = [
            {"item": "hat", "value": 1000, "category": "head"},
            {"item": "cap", "value": 900, "category": "head"},
            {"item": "tie", "value": 0},
            {"item": "bag", "value": 1},
        ]
        await client.ok("POST", f"{PAGE}/items:batch", {"items": rows})
        await client.ok("PUT", f"{PAGE}/pins/default/left", {"item": "cap"})
        insights = await client.ok("GET", f"{PAGE}/insights")
        best = {row["item"]: 0.0 for row in insights["at_position"]}
        for row in insights["at_position"]:
            best[row["item"]] += row["probability"]
        assert best["hat"] + best["cap"] == pytest.approx(1.0)
        assert best["bag"] == best["tie"] == pytest.approx(1.0)
        assert best["hat"] > 0.4
        shown = {row["item"] for row in insights["shown"]}
        assert shown == {"cap", "bag", "tie"}  # the pin of cap fills its category

    run_scenario(tmp_path, scenario)
