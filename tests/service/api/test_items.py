"""Items over HTTP: merging changes, versions and conditions, and the fields that errors point to."""

from pathlib import Path
from typing import Any

import pytest

from slotwise.service.api.route import Call
from slotwise.service.pages.page_definition import ItemPatch, ItemSpec
from slotwise.service.preconditions import EXISTS, Precondition
from tests.service.running_service import ITEMS, Client, run_scenario

HAT = "/v1/pages/shop/items/hat"
PLAIN: dict[str, Any] = {
    "item": "hat",
    "state": "active",
    "prior": None,
    "valid_from": None,
    "valid_until": None,
    "value": 1.0,
    "category": None,
    "features": {},
}
PRIOR = {"clicks": 3.0, "views": 100.0}


def test_a_patch_merges_and_null_resets(tmp_path: Path) -> None:
    steps: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"prior": PRIOR, "valid_until": 5e9}, {"prior": PRIOR, "valid_until": 5e9}),
        ({"state": "paused"}, {"state": "paused", "prior": PRIOR, "valid_until": 5e9}),
        ({"valid_until": None}, {"state": "paused", "prior": PRIOR}),
        ({"state": None}, {"prior": PRIOR}),
        ({}, {"prior": PRIOR}),
        ({"prior": None, "valid_from": 1e9}, {"valid_from": 1e9}),
    ]

    async def scenario(client: Client) -> None:
        await client.page()
        for patch, wanted in steps:
            assert await client.ok("PATCH", HAT, patch) == PLAIN | wanted
            assert await client.ok("GET", HAT) == PLAIN | wanted
            assert (await client.ok("GET", "/v1/pages/shop"))["items"][0] == PLAIN | wanted
        merge = {"content-type": "application/merge-patch+json"}
        answer = await client.http.patch(HAT, content='{"valid_from": null}', headers=merge)
        assert answer.json() == PLAIN

    run_scenario(tmp_path, scenario)


def test_a_patch_never_creates_and_takes_effect_at_once(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        missing = await client.http.patch("/v1/pages/shop/items/nothing", json={"state": "paused"})
        assert missing.status_code == 404
        assert "'nothing'" in missing.json()["detail"]
        assert [row["item"] for row in (await client.ok("GET", "/v1/pages/shop"))["items"]] == ITEMS
        for item in ITEMS[1:]:
            await client.ok("PATCH", f"/v1/pages/shop/items/{item}", {"state": "paused"})
        assert [row["item"] for row in (await client.recommend())["items"]] == ["hat"]
        await client.ok("PATCH", "/v1/pages/shop/items/tie", {"state": None})
        assert {row["item"] for row in (await client.recommend())["items"]} == {"hat", "tie"}

    run_scenario(tmp_path, scenario)


def test_the_versions_of_an_item(tmp_path: Path) -> None:
    etags: list[str] = []

    async def send(client: Client, method: str, body: Any, status: int, if_match: str | None = None) -> None:
        headers = {} if if_match is None else {"if-match": if_match}
        answer = await client.http.request(method, HAT, json=body, headers=headers)
        assert answer.status_code == status, answer.text
        if status < 300:
            etags.append(answer.headers["etag"])

    async def first(client: Client) -> None:
        await client.page(items=[])
        await send(client, "PUT", {}, 412, "*")
        await send(client, "PUT", {}, 201)
        await send(client, "PATCH", {"state": "paused"}, 200, '"1"')
        for method, body in (("PUT", {}), ("PATCH", {"state": "active"}), ("DELETE", None)):
            await send(client, method, body, 412, '"1"')
        await send(client, "PATCH", {"valid_until": 1.0, "valid_from": 2.0}, 412, '"1"')
        await send(client, "PATCH", {"state": "paused"}, 200, "*")
        await send(client, "PUT", {"prior": PRIOR}, 200, 'W/"2"')
        await send(client, "DELETE", None, 204, '"2", "3"')
        await send(client, "DELETE", None, 204)
        await client.ok("POST", "/v1/pages/shop/items:batch", {"items": [{"item": "hat"}]})

    async def second(client: Client) -> None:
        """After a restart, the versions continue."""
        await send(client, "GET", None, 200)
        await send(client, "PATCH", {"state": "paused"}, 412, '"4"')
        await send(client, "PATCH", {"state": "paused"}, 200, '"5"')
        assert (await client.http.get("/v1/pages/shop")).headers["etag"] == '"1"', "items have their own versions"

    run_scenario(tmp_path, first)
    run_scenario(tmp_path, second)
    assert etags == ['"1"', '"2"', '"2"', '"3"', '"4"', '"4"', '"5"', '"6"']


@pytest.mark.parametrize(
    ("header", "condition"),
    [
        (None, None),
        (b"*", EXISTS),
        (b" * ", EXISTS),
        (b'"3"', Precondition.exactly(3)),
        (b"3", Precondition.exactly(3)),
        (b'W/"3"', Precondition.exactly(3)),
        (b'"1", W/"2" ,"x,y"', Precondition(frozenset({1, 2}))),
        (b'"3-gzip"', Precondition(frozenset())),
        (b'*, "3"', Precondition.exactly(3)),
        (b"", Precondition(frozenset())),
        (b'"' + b"9" * 30 + b'"', Precondition(frozenset())),
        (b'"\xb2"', Precondition(frozenset())),
    ],
)
def test_the_condition_in_a_header(header: bytes | None, condition: Precondition | None) -> None:
    call: Any = Call(None, {}, {}, {} if header is None else {b"if-match": header}, None)  # type: ignore[arg-type]
    assert call.if_match() == condition


def test_a_patch_has_the_fields_of_an_item() -> None:
    assert ItemPatch.__struct_fields__ == ItemSpec.__struct_fields__


@pytest.mark.parametrize(
    ("patch", "pointer", "excerpt"),
    [
        ({"state": "asleep"}, "/state", "'asleep'; allowed: active, paused, retired"),
        ({"stat": "paused"}, "", "did you mean `state`?"),
        ({"prior": {"clicks": 5}}, "/prior", "`views`"),
        ({"prior": {"clicks": 5, "views": 4}}, "/prior/clicks", "5 clicks are more than 4 views"),
        ({"valid_until": -1}, "/valid_until", ">= 0"),
        ({"valid_from": 2e9}, "/valid_from", "2000000000 is not before valid_until, 1900000000"),
        ({"valid_until": 1e9}, "/valid_until", "1000000000 is not after valid_from, 1800000000"),
        ([], "", "object"),
    ],
    ids=str,
)
def test_errors_point_to_a_field_of_the_request(tmp_path: Path, patch: Any, pointer: str, excerpt: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=[])
        await client.ok("PUT", HAT, {"valid_from": 1.8e9, "valid_until": 1.9e9})
        answer = await client.http.patch(HAT, json=patch)
        assert answer.status_code == 422
        (error,) = answer.json()["errors"]
        assert error["pointer"] == pointer
        assert excerpt in error["detail"]
        assert (await client.http.get(HAT)).headers["etag"] == '"1"', "nothing changed"

    run_scenario(tmp_path, scenario)
