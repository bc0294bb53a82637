"""The HTTP interface, operation by operation, on a real service in the test's event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from slotwise.service.maintenance.verify import verify
from tests.service.running_service import ITEMS, POSITIONS, Client, ManualClock, open_client, run_scenario


def test_a_page_recommends_and_learns(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        shown = await client.recommend()
        assert [row["position"] for row in shown["items"]] == POSITIONS
        assert {row["item"] for row in shown["items"]} <= set(ITEMS)
        click = {"type": "click", "token": shown["token"], "position": "hero"}
        assert await client.send(click, click) == ["accepted", "duplicate"]
        assert await client.send(click) == ["duplicate"]
        model = await client.service.model("shop")
        counts = model.counts()
        assert counts.clicks.sum() == 1.0
        assert counts.skips.sum() == 2.0

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_the_same_id_gives_the_same_display_even_after_a_restart(tmp_path: Path) -> None:
    async def first(client: Client) -> None:
        await client.page()
        shown.append(await client.recommend(id="view-1"))
        shown.append(await client.recommend(id="view-1"))

    async def second(client: Client) -> None:
        shown.append(await client.recommend(id="view-1"))
        answer = await client.http.post("/v1/pages/shop/recommendations", json={"id": "view-1"})
        assert answer.status_code == 200
        await client.page("other")
        answer = await client.http.post("/v1/pages/other/recommendations", json={"id": "view-1"})
        assert answer.status_code == 409

    shown: list[dict] = []
    run_scenario(tmp_path, first)
    run_scenario(tmp_path, second)
    first_answer = shown[0] | {"warming": False}  # repeated answers never have it
    assert first_answer == shown[1] == shown[2]


def test_a_late_click_is_late_and_an_unknown_display_unknown(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(click_window=100)
        shown = await client.recommend()
        client.clock.now += 101
        click = {"type": "click", "display": shown["id"], "position": "hero"}
        assert await client.send(click, {**click, "display": "nothing"}) == ["late", "unknown"]
        client.clock.now -= 10
        assert await client.send(click) == ["accepted"]

    run_scenario(tmp_path, scenario, ManualClock())


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(scenario())


@pytest.mark.parametrize("state", ["paused", "retired"])
def test_a_change_of_an_item_takes_effect_on_the_next_recommendation(tmp_path: Path, state: str) -> None:
    async def scenario() -> None:
        async with open_client(tmp_path) as client:
            await client.page(items=POSITIONS[:3])
            await client.ok("PUT", "/v1/pages/shop/items/new", {})
            assert "new" in await shown_of(client, 40)
            await client.ok("PUT", "/v1/pages/shop/items/new", {"state": state})
            assert "new" not in await shown_of(client, 40)
            await client.ok("PUT", "/v1/pages/shop/items/new", {"state": "active"})
            assert "new" in await shown_of(client, 40)

    async def shown_of(client: Client, rounds: int) -> set[str]:
        answers = [await client.recommend() for _ in range(rounds)]
        return {row["item"] for answer in answers for row in answer["items"]}

    run(scenario)


# which items may be displayed


ASKS = {
    "eligible": ({"eligible": ["hat", "tie", "bag"]}, {"hat", "tie", "bag"}, {}, "eligible"),
    "excluded": ({"excluded": ["sock", "belt"]}, {"hat", "tie", "bag"}, {}, "learnt"),
    "pinned": (
        {"pinned": {"left": "sock"}, "eligible": ["hat", "tie"]}, {"hat", "tie", "sock"}, {"left": "sock"}, "eligible",
    ),
    "excluded overrides pinned": (
        {"pinned": {"left": "sock"}, "excluded": ["sock", "belt"]}, {"hat", "tie", "bag"}, {}, "learnt",
    ),
    "excluded overrides eligible": (
        {"eligible": ["hat", "tie", "bag", "sock"], "excluded": ["sock"]}, {"hat", "tie", "bag"}, {}, "eligible",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ASKS))
def test_precedence_and_reasons(tmp_path: Path, name: str) -> None:
    ask, items, stand, reason = ASKS[name]

    async def scenario(client: Client) -> None:
        await client.page()
        for _ in range(5):
            shown = {row["position"]: (row["item"], row["reason"]) for row in (await client.recommend(**ask))["items"]}
            assert {item for item, _ in shown.values()} == items
            for position, (item, why) in shown.items():
                assert why == ("pinned" if position in stand else reason)
                assert stand.get(position, item) == item

    run_scenario(tmp_path, scenario)


def test_a_shortage_of_items_leaves_positions_out_or_is_rejected(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        shown = await client.recommend(eligible=["hat"], pinned={"right": "tie"})
        assert {row["item"] for row in shown["items"]} == {"hat", "tie"}
        assert len(shown["left_out"]) == 1
        path = "/v1/pages/shop/recommendations?on_shortage=error"
        refused = await client.http.post(path, json={"eligible": ["hat"], "pinned": {"right": "tie"}})
        assert refused.status_code == 409
        assert (await client.http.post(path, json={})).status_code == 201
        assert (await client.service.model("shop")).counts().skips.sum() == 5.0  # the rejected request counts nothing

    run_scenario(tmp_path, scenario)


def test_a_page_pin_holds_until_it_is_removed(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.ok("PUT", "/v1/pages/shop/pins/default/left", {"item": "sock"})
        elsewhere = await client.http.put("/v1/pages/shop/pins/default/hero", json={"item": "sock"})
        assert elsewhere.status_code == 409
        for _ in range(5):
            rows = {row["position"]: row for row in (await client.recommend())["items"]}
            assert (rows["left"]["item"], rows["left"]["reason"]) == ("sock", "pinned")
        moved = {row["position"]: row["item"] for row in (await client.recommend(pinned={"hero": "sock"}))["items"]}
        assert moved["hero"] == "sock"  # the pin of the request replaces that of the page
        await client.ok("PUT", "/v1/pages/shop/items/sock", {"state": "paused"})
        assert "sock" not in {row["item"] for row in (await client.recommend())["items"]}
        await client.ok("DELETE", "/v1/pages/shop/pins/default/left")
        unpinned = await client.ok("GET", "/v1/pages/shop")
        assert unpinned["pins"] == {}
        await client.ok("DELETE", "/v1/pages/shop/pins/default/left")
        assert await client.ok("GET", "/v1/pages/shop") == unpinned, "no pin to remove: the version stays"
        stale = await client.http.delete("/v1/pages/shop/pins/default/left", headers={"if-match": '"1"'})
        assert stale.status_code == 412

    run_scenario(tmp_path, scenario)


def test_items_are_active_only_within_their_validity(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "tie", "bag"])
        await client.ok(
            "PUT",
            "/v1/pages/shop/items/gift",
            {"valid_from": client.clock.now + 60, "valid_until": client.clock.now + 90},
        )
        for seconds, active in ((0, False), (60, True), (90, False), (60, True)):
            client.clock.now = 1_700_000_000.0 + seconds
            shown = await client.recommend(eligible=["gift"])
            assert bool(shown["items"]) == active

    run_scenario(tmp_path, scenario)


def test_layouts_and_segments_have_their_own_columns_and_rows(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(positions=None, layouts={"desktop": POSITIONS, "mobile": ["top", "hero"]}, segments=["new"])
        for layout, segment in (("desktop", None), ("mobile", "new")):
            shown = await client.recommend(layout=layout, **({} if segment is None else {"segment": segment}))
            assert await client.send({"type": "click", "token": shown["token"], "position": "hero"}) == ["accepted"]
        cells = (await client.ok("GET", "/v1/pages/shop/state"))["counts"]
        clicked = {(row["segment"], row["layout"], row["position"]) for row in cells if row["clicks"]}
        assert clicked == {(None, "desktop", "hero"), ("new", "mobile", "hero")}
        for wrong in ({"segment": "old"}, {"layout": "tv"}, {"eligible": ["nothing"]}, {"pinned": {"attic": "hat"}}):
            answer = await client.http.post("/v1/pages/shop/recommendations", json=wrong)
            assert answer.status_code == 422
            assert answer.json()["errors"][0]["pointer"].startswith("/" + next(iter(wrong)))
        await client.ok("PATCH", "/v1/pages/shop", {"segments": ["new", "old"]})
        await client.recommend(segment="old")
        assert (await client.ok("GET", "/v1/pages/shop/state"))["counts"][0]["skips"] >= 0

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize(("spec", "skips"), [({"mode": "off"}, 0), ({"mode": "shadow"}, 3), ({"count": "viewed"}, 0)])
def test_skips_counted_when_a_display_is_issued(tmp_path: Path, spec: dict, skips: int) -> None:
    async def scenario(client: Client) -> None:
        await client.page(**spec)
        shown = await client.recommend()
        assert (await client.service.model("shop")).counts().skips.sum() == skips
        assert await client.send({"type": "view", "token": shown["token"]}) == ["accepted"]
        viewed = 3 if spec.get("count") == "viewed" else skips
        assert (await client.service.model("shop")).counts().skips.sum() == viewed

    run_scenario(tmp_path, scenario)


def test_a_prior_changes_displays_but_not_counts(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(positions=["hero"], items=[])
        for item, clicks in (("good", 400), ("bad", 4)):
            await client.ok("PUT", f"/v1/pages/shop/items/{item}", {"prior": {"clicks": clicks, "views": 1000}})
        shown = [(await client.recommend())["items"][0]["item"] for _ in range(50)]
        assert shown.count("good") >= 45
        state = await client.ok("GET", "/v1/pages/shop/state")
        assert sum(row["clicks"] + row["skips"] for row in state["counts"]) == 50

    run_scenario(tmp_path, scenario)


def test_changes_need_the_current_version_and_an_archived_page_can_be_restored(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.recommend()
        etag = (await client.http.get("/v1/pages/shop")).headers["etag"]
        changed = await client.http.patch("/v1/pages/shop", json={"holdout": 0.5}, headers={"if-match": etag})
        assert (changed.status_code, changed.json()["holdout"]) == (200, 0.5)
        await client.ok("DELETE", "/v1/pages/shop")
        assert (await client.http.post("/v1/pages/shop/recommendations", json={})).status_code == 404
        assert (await client.http.put("/v1/pages/shop", json={"positions": POSITIONS})).status_code == 201
        assert [row["item"] for row in (await client.ok("GET", "/v1/pages/shop"))["items"]] == ITEMS
        assert (await client.service.model("shop")).counts().skips.sum() == 3.0

    run_scenario(tmp_path, scenario)


def test_a_batch_has_a_result_for_each_row(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        rows = [{"item": "hat"}, {"item": "new"}, {"item": "bad", "prior": {"clicks": 2, "views": 1}}, {"item": "new"}]
        answer = await client.ok("POST", "/v1/pages/shop/items:batch", {"items": rows})
        assert [row["status"] for row in answer["results"]] == ["changed", "created", "invalid", "changed"]

    run_scenario(tmp_path, scenario)


def test_operations(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        shown = await client.recommend()
        await client.send({"type": "view", "token": shown["token"]})
        assert (await client.ok("GET", "/livez")) == (await client.ok("GET", "/readyz")) == {"status": "ok"}
        text = (await client.http.get("/metrics")).text
        assert 'slotwise_requests_total{route="recommend",status="201"} 1.0' in text
        assert 'slotwise_displays_total{page="shop",variant="learnt"} 1.0' in text
        assert 'slotwise_events_total{page="shop",status="accepted"} 1.0' in text
        document = await client.ok("GET", "/openapi.json")
        assert document["openapi"].startswith("3.1")
        itself = document["paths"]["/openapi.json"]["get"]["responses"]["200"]["content"]["application/json"]
        assert itself == {"schema": {"type": "object"}}
        page = await client.http.get("/docs")
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert all(path in page.text for path in document["paths"])
        assert "http" not in page.text.replace("http-equiv", "").partition("<body>")[0]
        assert (await client.http.options("/v1/pages/shop")).headers["allow"] == "DELETE, GET, OPTIONS, PATCH, PUT"
        assert (await client.http.options("/livez")).headers["allow"] == "GET, HEAD, OPTIONS"
        for path in ("/livez", "/readyz", "/metrics", "/v1/version", "/openapi.json", "/docs"):
            whole, head = await client.http.get(path), await client.http.head(path)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-type"] == whole.headers["content-type"]
            assert head.headers["content-type"].count("charset") <= 1
        assert int((await client.http.head("/livez")).headers["content-length"]) == len('{"status":"ok"}')
        root = await client.http.get("/")
        assert (root.status_code, root.headers["location"]) == (307, "/docs")
        nowhere = (await client.http.get("/v2/pages")).json()
        assert (nowhere["status"], "/docs" in nowhere["detail"]) == (404, True)

    run_scenario(tmp_path, scenario)


@pytest.mark.parametrize("policy", ["pb_mhb", "uniform", "greedy"])
def test_other_policies_serve_too(tmp_path: Path, policy: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page(policy=policy, items=["hat", "tie"])
        shown = await client.recommend()
        assert len(shown["items"]) == 2
        assert await client.send({"type": "click", "token": shown["token"], "position": shown["items"][0]["position"]})

    run_scenario(tmp_path, scenario)
