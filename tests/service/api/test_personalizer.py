"""Calls in the form of Azure Personalizer: the same fields and statuses, on top of the same registers."""

import os
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.running_service import ITEMS, POSITIONS, Client, process, run_scenario
from tests.waiting import HANG

ACTIONS = [{"id": item, "features": [{"colour": "red"}, {"deep": {"price": 3}}]} for item in ITEMS]
SLOTS = [{"id": position, "baselineAction": item} for position, item in zip(POSITIONS, ITEMS, strict=False)]
SDK_PYTHON = os.environ.get("SLOTWISE_PERSONALIZER_PYTHON", "")


def address(rest: str, page: str = "banner", version: str = "v1.0") -> str:
    return f"/v1/pages/{page}/personalizer/{version}/{rest}"


async def post(client: Client, rest: str, body: Any = None, **where: str) -> httpx.Response:
    return await client.http.post(address(rest, **where), json=body)


async def counts(client: Client, page: str) -> list[tuple[str, str, float, float]]:
    """(item, position, clicks, skips) of the cells that count."""
    cells = (await client.ok("GET", f"/v1/pages/{page}/state"))["counts"]
    return [(cell["item"], cell["position"], cell["clicks"], cell["skips"]) for cell in cells]


async def define(client: Client) -> None:
    await client.page("banner", positions=["top"])
    await client.page("shop")
    await client.page("seen", positions=["top"], count="viewed")


def test_rank_and_reward(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await define(client)
        body = {"actions": ACTIONS, "contextFeatures": [{"hour": 3}], "excludedActions": ["hat", "not an item"]}
        answer = await post(client, "rank", body | {"eventId": "visit-1"})
        assert answer.status_code == 201
        ranked = answer.json()
        assert ranked["eventId"] == "visit-1"
        shown = ranked["rewardActionId"]
        assert shown in ITEMS[1:]
        assert ranked["ranking"][0] == {"id": shown, "probability": pytest.approx(0.25)}
        assert all(set(action) == {"id"} for action in ranked["ranking"][1:])
        assert sorted(action["id"] for action in ranked["ranking"]) == sorted(ITEMS)
        assert (await post(client, "rank", body | {"eventId": "visit-1"})).json() == ranked
        for value in (0.0, -0.5, 0.25, 1.0):  # the last one repeats the click
            answer = await post(client, "events/visit-1/reward", {"value": value})
            assert (answer.status_code, answer.content) == (204, b"")
        assert await counts(client, "banner") == [(shown, "top", 1.0, 0.0)]
        own = (await post(client, "rank", {"actions": ACTIONS[:1]})).json()
        assert own["rewardActionId"] == "hat"
        assert (await post(client, f"events/{own['eventId']}/activate")).status_code == 204

    run_scenario(tmp_path, scenario)


def test_multi_slot_rank_and_reward(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await define(client)
        slots = list(reversed(SLOTS))
        where = {"page": "shop", "version": "v1.1-preview.1"}
        answer = await post(client, "multislot/rank", {"actions": ACTIONS, "slots": slots, "eventId": "v"}, **where)
        assert answer.status_code == 201
        ranked = answer.json()
        assert [slot["id"] for slot in ranked["slots"]] == [slot["id"] for slot in slots]
        shown = {slot["id"]: slot["rewardActionId"] for slot in ranked["slots"]}
        assert len(set(shown.values())) == 3
        reward = {"reward": [{"slotId": "left", "value": 0.5}, {"slotId": "hero", "value": 0.0}]}
        assert (await post(client, "multislot/events/v/reward", reward, **where)).status_code == 204
        assert (await post(client, "multislot/events/v/activate", **where)).status_code == 204
        expected = [
            (item, position, float(position == "left"), float(position != "left")) for position, item in shown.items()
        ]
        assert sorted(await counts(client, "shop")) == sorted(expected)

    run_scenario(tmp_path, scenario)


def test_activation_can_be_deferred_on_a_page_that_counts_views(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await define(client)
        seen = {"page": "seen"}
        deferred = {"actions": ACTIONS, "deferActivation": True}
        (await post(client, "rank", deferred | {"eventId": "never"}, **seen)).raise_for_status()
        (await post(client, "rank", deferred | {"eventId": "later"}, **seen)).raise_for_status()
        assert await counts(client, "seen") == []
        assert (await post(client, "events/later/activate", **seen)).status_code == 204
        (await post(client, "rank", {"actions": ACTIONS, "eventId": "now"}, **seen)).raise_for_status()
        assert sum(skips for *_, skips in await counts(client, "seen")) == 2.0
        answer = await post(client, "rank", deferred)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == "/deferActivation"

    run_scenario(tmp_path, scenario)


def test_a_pinned_item_that_is_no_action_is_not_shown(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await define(client)
        await client.ok("PUT", "/v1/pages/banner/pins/default/top", {"item": "hat"})
        assert (await post(client, "rank", {"actions": ACTIONS})).json()["rewardActionId"] == "hat"
        assert (await post(client, "rank", {"actions": ACTIONS[1:2]})).json()["rewardActionId"] == "tie"

    run_scenario(tmp_path, scenario)


def test_the_address_of_personalizer_is_for_the_page_of_the_key(tmp_path: Path) -> None:
    """A key for one page never reaches another one, and other keys must name the page."""

    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin"))
        await define(client)
        several = await client.create_key("serve", "feedback", pages=["banner", "shop"])
        banner = await client.create_key("serve", "feedback", pages=["banner"])
        shop = await client.create_key("serve", "feedback", pages=["shop"])
        path, body = "/personalizer/v1.0", {"actions": ACTIONS, "eventId": "one"}
        for refused in (None, several):
            if refused is not None:
                client.use_key(refused)
            answer = await client.http.post(f"{path}/rank", json=body)
            assert (answer.status_code, "error" in answer.json()) == (404, True)
        client.use_key(banner)
        ranked = (await client.http.post(f"{path}/rank", json=body)).json()
        assert ranked["eventId"] == "one"
        assert (await client.http.post(f"{path}/events/one/activate")).status_code == 204
        client.use_key(shop)
        assert (await client.http.post(f"{path}/events/one/reward", json={"value": 1.0})).status_code == 404
        slots = {"actions": ACTIONS, "slots": SLOTS, "eventId": "two"}
        chosen = (await client.http.post(f"{path}/multislot/rank", json=slots)).json()
        reward = {"reward": [{"slotId": "hero", "value": 1.0}]}
        assert (await client.http.post(f"{path}/multislot/events/two/reward", json=reward)).status_code == 204
        assert (await client.http.post(f"{path}/multislot/events/two/activate")).status_code == 204
        client.use_key(await client.create_key("admin"))
        assert [clicks for _, _, clicks, _ in await counts(client, "banner")] == [0.0]
        clicked = [(item, position) for item, position, clicks, _ in await counts(client, "shop") if clicks]
        assert clicked == [(chosen["slots"][0]["rewardActionId"], "hero")]

    run_scenario(tmp_path, scenario, with_keys=True)


def test_in_dev_mode_the_address_of_personalizer_is_for_the_only_page(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page("banner", positions=["top"])
        assert (await client.http.post("/personalizer/v1.0/rank", json={"actions": ACTIONS})).status_code == 201
        await client.page("shop")
        assert (await client.http.post("/personalizer/v1.0/rank", json={"actions": ACTIONS})).status_code == 404

    run_scenario(tmp_path, scenario)


def test_errors_have_both_forms(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await define(client)
        await client.recommend("shop", id="of-shop")
        await post(client, "rank", {"actions": ACTIONS, "eventId": "mine"})
        one, slots = {"actions": ACTIONS[:1]}, {"actions": ACTIONS, "slots": SLOTS}
        cases: list[tuple[str, Any, dict[str, str], int, str]] = [
            ("rank", one, {"page": "none"}, 404, ""),
            ("rank", one, {"version": "v9"}, 404, ""),
            ("rank", {"actions": []}, {}, 422, "/actions"),
            ("rank", {"actions": [{"id": "none"}]}, {}, 422, "/actions/0/id"),
            ("rank", one | {"excludedActions": ["hat"]}, {}, 409, ""),
            ("rank", one, {"page": "shop"}, 422, ""),
            ("rank", one | {"eventId": "of-shop"}, {}, 409, ""),
            ("events/none/reward", {"value": 1}, {}, 404, ""),
            ("events/of-shop/reward", {"value": 1}, {}, 404, ""),
            ("events/of-shop/reward", {"value": 1}, {"page": "shop"}, 422, ""),
            ("events/mine/reward", {"value": "much"}, {}, 422, "/value"),
            ("events/none/activate", None, {}, 404, ""),
            ("multislot/rank", {**slots, "slots": SLOTS[:2]}, {"page": "shop"}, 422, "/slots"),
            ("multislot/rank", {**slots, "slots": [*SLOTS, SLOTS[0]]}, {"page": "shop"}, 422, "/slots"),
            ("multislot/rank", {**slots, "actions": ACTIONS[:2]}, {"page": "shop"}, 409, ""),
            (
                "multislot/rank",
                {**slots, "slots": [SLOTS[0] | {"excludedActions": ["hat"]}, *SLOTS[1:]]},
                {"page": "shop"},
                422,
                "/slots/0/excludedActions",
            ),
            ("multislot/events/of-shop/reward", {"reward": [{"slotId": "x", "value": 1}]}, {"page": "shop"}, 422,
             "/reward/0/slotId"),
        ]  # fmt: skip
        for rest, body, where, status, pointer in cases:
            answer = await post(client, rest, body, **where)
            assert answer.status_code == status, (rest, body, answer.text)
            problem = answer.json()
            assert problem["error"] == {"code": problem["title"].replace(" ", ""), "message": problem["detail"]}
            assert [error["pointer"] for error in problem["errors"] if error["pointer"]] == [pointer] * bool(pointer)
        assert "error" not in (await client.http.get("/v1/pages/none")).json()

    run_scenario(tmp_path, scenario)


def test_a_late_reward_is_ignored(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page("banner", positions=["top"], click_window=60)
        await post(client, "rank", {"actions": ACTIONS, "eventId": "slow"})
        client.clock.now += 61.0
        assert (await post(client, "events/slow/reward", {"value": 1.0})).status_code == 204
        assert [clicks for _, _, clicks, _ in await counts(client, "banner")] == [0.0]

    run_scenario(tmp_path, scenario)


SDK_PROGRAM = """
import sys
from azure.cognitiveservices.personalizer import PersonalizerClient
from azure.cognitiveservices.personalizer.models import ErrorResponseException, RankableAction, RankRequest
from msrest.authentication import CognitiveServicesCredentials

client = PersonalizerClient(endpoint=sys.argv[1], credentials=CognitiveServicesCredentials(sys.argv[2]))
actions = [RankableAction(id=name, features=[{"colour": "red"}]) for name in ("hat", "tie", "bag")]
ranked = client.rank(RankRequest(actions=actions, context_features=[{"hour": 3}], excluded_actions=["hat"]))
assert ranked.reward_action_id in ("tie", "bag"), ranked
assert ranked.ranking[0].id == ranked.reward_action_id
client.events.activate(ranked.event_id)
client.events.reward(ranked.event_id, value=1.0)
try:
    client.rank(RankRequest(actions=[RankableAction(id="unknown", features=[])]))
except ErrorResponseException as error:
    print(error.error.error.code, error.error.error.message)
"""


@pytest.mark.skipif(not SDK_PYTHON, reason="SLOTWISE_PERSONALIZER_PYTHON does not name a Python with Azure's client")
def test_the_client_of_azure_works_with_another_address(tmp_path: Path) -> None:
    with process(tmp_path / "store.db") as server:
        server.http.put("/v1/pages/banner", json={"positions": ["top"]}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        server.http.post("/v1/pages/banner/items:batch", json={"items": rows}).raise_for_status()
        for address in (f"{server.address}/v1/pages/banner", server.address):
            command = [SDK_PYTHON, "-c", SDK_PROGRAM, address, "unused-in-dev-mode"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=HANG)
            assert done.returncode == 0, done.stderr
            assert done.stdout.startswith("UnprocessableEntity 'unknown' is not an item")
        cells = server.http.get("/v1/pages/banner/state").json()["counts"]
        assert sum(cell["clicks"] for cell in cells) == 2.0
        assert sum(cell["skips"] for cell in cells) == 0.0
