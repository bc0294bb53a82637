"""Features of items over HTTP: what is declared, what is refused, and what history, versions and the log say."""

from pathlib import Path
from typing import Any

import pytest

from slotwise.service.maintenance.verify import verify
from tests.service.running_service import Client, run_scenario

PAGE, HAT, BATCH = "/v1/pages/shop", "/v1/pages/shop/items/hat", "/v1/pages/shop/items:batch"
DECLARED = {"kind": ["good", "bad"], "price": "number"}
GOOD, BAD = {"kind": "good", "price": 30.0}, {"kind": "bad", "price": 50}


def test_features_of_items_are_kept_changed_and_recorded(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "tie"], features=DECLARED)
        assert (await client.ok("GET", PAGE))["features"] == DECLARED
        first = await client.http.put(HAT, json={"features": GOOD})
        stale = await client.http.put(HAT, json={"features": BAD}, headers={"If-Match": '"1"'})
        assert (first.headers["etag"], stale.status_code) == ('"2"', 412)
        rows = [{"item": "tie", "features": BAD}, {"item": "bag", "features": {"kind": "ugly"}}, {"item": "cap"}]
        results = (await client.ok("POST", BATCH, {"items": rows}))["results"]
        assert [row["status"] for row in results] == ["changed", "invalid", "created"]
        assert results[1]["detail"] == "unknown value of kind 'ugly'; known: bad, good"
        await client.ok("PATCH", HAT, {"features": {"price": 10}})
        assert (await client.ok("GET", HAT))["features"] == {"price": 10.0}
        changes = (await client.ok("GET", f"{PAGE}/history"))["changes"]
        assert (changes[0]["before"], changes[0]["after"]) == ({"features": GOOD}, {"features": {"price": 10.0}})
        await client.ok("PATCH", HAT, {"features": changes[0]["before"]["features"]})  # undo
        assert (await client.ok("GET", HAT))["features"] == GOOD
        await client.ok("PATCH", HAT, {"features": None})
        assert (await client.ok("GET", HAT))["features"] == {}

    run_scenario(tmp_path, scenario)


def test_another_declaration_keeps_the_features_of_items(tmp_path: Path) -> None:
    """They count as missing where they do not fit, and items can still be paused."""

    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "tie", "bag"], features=DECLARED)
        await client.ok("PUT", HAT, {"features": GOOD})
        await client.ok("PATCH", PAGE, {"features": {"kind": ["bad", "new"]}})
        await client.ok("PATCH", HAT, {"state": "paused"})
        assert (await client.ok("GET", HAT))["features"] == GOOD
        await client.recommend()
        await client.ok("PATCH", PAGE, {"features": {}})
        await client.recommend()
        refused = await client.http.patch(HAT, json={"features": BAD})
        assert refused.status_code == 422
        assert refused.json()["errors"][0]["pointer"] == "/features/kind"

    run_scenario(tmp_path, scenario)


def test_what_was_learnt_stays_right_across_declarations_clicks_and_imports(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "tie", "bag", "cap"], features=DECLARED, segments=["new"])
        await client.ok("POST", BATCH, {"items": [{"item": "hat", "features": GOOD}, {"item": "tie", "features": BAD}]})
        views = [await client.recommend(segment=segment) for segment in (None, "new") for _ in range(20)]
        clicks = [{"type": "click", "token": view["token"], "position": "hero"} for view in views[:25]]
        assert set(await client.send(*clicks)) == {"accepted"}
        await client.send({"type": "discard", "display": views[0]["id"]})
        await client.ok("POST", BATCH, {"items": [{"item": "new", "features": GOOD}]})
        shown = [row["item"] for _ in range(20) for row in (await client.recommend())["items"]]
        assert "new" in shown
        state = await client.ok("GET", f"{PAGE}/state")
        assert sum(cell["clicks"] for cell in state["counts"]) == 24
        assert (state["displays"], {cell["segment"] for cell in state["counts"]}) == (59.0, {None, "new"})
        await client.ok("PATCH", PAGE, {"features": {}})
        assert await client.ok("GET", f"{PAGE}/state") == state
        await client.ok("PATCH", PAGE, {"features": DECLARED})
        await client.ok("PUT", f"{PAGE}/state", state)
        await client.recommend()
        assert sum(cell["clicks"] for cell in (await client.ok("GET", f"{PAGE}/state"))["counts"]) == 24

    run_scenario(tmp_path, scenario)
    (store,) = tmp_path.rglob("*.db")
    assert verify(store).differences == []


@pytest.mark.parametrize(
    ("method", "path", "body", "pointer"),
    [
        ("PUT", HAT, {"features": {"kind": "ugly"}}, "/features/kind"),
        ("PATCH", HAT, {"features": {"price": "cheap"}}, "/features/price"),
        ("PUT", HAT, {"features": {"colour": "red"}}, "/features/colour"),
        ("PUT", HAT, {"features": {"price": 1e16}}, "/features/-"),
        ("PUT", HAT, {"features": {"price": True}}, "/features/-"),
        ("PUT", HAT, {"features": {"kind": "a/b"}}, "/features/-"),
        ("PUT", HAT, {"features": ["good"]}, "/features"),
        ("PATCH", PAGE, {"features": {"kind": ["a", "a"]}}, "/features/kind"),
        ("PATCH", PAGE, {"features": {"kind": []}}, "/features/-"),
        ("PATCH", PAGE, {"features": {"kind": "text"}}, "/features/-"),
        ("PATCH", PAGE, {"policy": "greedy"}, "/features"),
        ("PATCH", PAGE, {"policy": "feature_ts", "params": {"features": [[1]]}}, "/params"),
    ],
)
def test_invalid_features(tmp_path: Path, method: str, path: str, body: dict[str, Any], pointer: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=["hat"], features=DECLARED)
        answer = await client.http.request(method, path, json=body)
        assert answer.status_code == 422, answer.text
        assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]

    run_scenario(tmp_path, scenario)
