"""Keys through the HTTP interface: create, list, revoke and rotate them."""

from pathlib import Path
from typing import Any

import pytest

from slotwise.service.keys.api_keys import is_well_formed
from tests.service.running_service import Client, run_scenario

BROWSER = {"name": "web", "scopes": ["browser"], "pages": ["shop"], "origins": ["https://shop.example"]}


async def status_with(client: Client, secret: str) -> int:
    return (await client.http.get("/v1/version", headers={"authorization": f"Bearer {secret}"})).status_code


def test_a_key_is_created_used_rotated_and_revoked(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin", name="root"))
        spec = {"name": "job", "scopes": ["read"], "rate": 50.0, "lifetime": 3600.0}
        first = await client.ok("POST", "/v1/keys", spec)
        assert is_well_formed(first["key"].encode())
        assert await status_with(client, first["key"]) == 200
        second = await client.ok("POST", f"/v1/keys/{first['id']}/rotate", {"overlap": 600.0})
        assert [await status_with(client, new["key"]) for new in (first, second)] == [200, 200]
        rows = {row["id"]: row for row in (await client.ok("GET", "/v1/keys"))["keys"]}
        old, new = rows.pop(first["id"]), rows.pop(second["id"])
        (root,) = rows.values()
        assert (root["name"], root["pages"], root["rate"], root["expires"]) == ("root", None, None, None)
        assert {name: old[name] for name in ("id", "name", "scopes", "rate", "status")} == {
            "id": first["id"], "name": "job", "scopes": ["read"], "rate": 50.0, "status": "active",
        }  # fmt: skip
        assert (old["expires"], new["expires"]) == (client.clock() + 600.0, client.clock() + 3600.0)
        client.clock.now += 600.0
        assert [await status_with(client, new["key"]) for new in (first, second)] == [401, 200]
        await client.ok("DELETE", f"/v1/keys/{second['id']}")
        await client.ok("DELETE", f"/v1/keys/{second['id']}")
        assert await status_with(client, second["key"]) == 401
        rotated = await client.http.post(f"/v1/keys/{second['id']}/rotate")
        assert rotated.status_code == 409
        listed = await client.ok("GET", "/v1/keys")
        assert sorted(row["status"] for row in listed["keys"]) == ["active", "expired", "revoked"]
        assert first["key"] not in str(listed)

    run_scenario(tmp_path, scenario, with_keys=True)


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"pages": None}, "/pages"),
        ({"origins": []}, "/origins"),
        ({"scopes": ["browser", "serve"]}, "/scopes"),
        ({"scopes": ["serve"]}, "/origins"),
        ({"scopes": []}, "/scopes"),
        ({"scopes": ["root"]}, "/scopes/0"),
        ({"origins": ["https://shop.example/"]}, "/origins/0"),
        ({"origins": ["*"]}, "/origins/0"),
        ({"origins": ["null"]}, "/origins/0"),
        ({"origins": ["https://a.example", "https://Shop.example"]}, "/origins/1"),
        ({"origins": ["https://a.example", "https://shop.example:443"]}, "/origins/1"),
        ({"rate": 0}, "/rate"),
        ({"lifetime": -1}, "/lifetime"),
        ({"name": "a b"}, "/name"),
    ],
)
def test_invalid_keys_are_refused(tmp_path: Path, changes: dict[str, Any], pointer: str) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin"))
        answer = await client.http.post("/v1/keys", json=BROWSER | changes)
        assert answer.status_code == 422
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]
        assert len((await client.ok("GET", "/v1/keys"))["keys"]) == 1

    run_scenario(tmp_path, scenario, with_keys=True)


def test_a_browser_key_has_a_rate_even_if_none_is_given(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin"))
        await client.ok("POST", "/v1/keys", BROWSER)
        rates = {row["name"]: row["rate"] for row in (await client.ok("GET", "/v1/keys"))["keys"]}
        assert rates == {"test": None, "web": 100.0}

    run_scenario(tmp_path, scenario, with_keys=True)


def test_an_unknown_key_is_not_found(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        client.use_key(await client.create_key("admin"))
        for method, path in (("DELETE", "/v1/keys/none"), ("POST", "/v1/keys/none/rotate")):
            assert (await client.http.request(method, path)).status_code == 404

    run_scenario(tmp_path, scenario, with_keys=True)


def test_keys_are_not_changed_in_dev_mode(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        key = (await client.create_key("read")).key
        answers = [
            await client.http.post("/v1/keys", json={"name": "a", "scopes": ["admin"]}),
            await client.http.delete(f"/v1/keys/{key.id}"),
            await client.http.post(f"/v1/keys/{key.id}/rotate"),
        ]
        assert [answer.status_code for answer in answers] == [403, 403, 403]
        (listed,) = (await client.ok("GET", "/v1/keys"))["keys"]
        assert listed["status"] == "active"

    run_scenario(tmp_path, scenario)
