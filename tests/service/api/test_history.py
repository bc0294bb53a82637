"""The history of a page: every change of its definition is recorded with its author, in the same transaction."""

from pathlib import Path
from typing import Any

import pytest

from slotwise.service.history import MOST_CHANGES, author_of
from slotwise.service.keys.api_keys import make_key
from slotwise.service.maintenance.verify import verify
from tests.service.running_service import START, Client, Process, run_scenario

HISTORY = "/v1/pages/shop/history"


def test_every_change_is_recorded_with_what_differs(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "tie"])
        await client.ok("PATCH", "/v1/pages/shop", {"holdout": 0.1})
        await client.ok("PATCH", "/v1/pages/shop/items/hat", {"state": "paused"})
        await client.ok("PATCH", "/v1/pages/shop/items/hat", {"state": "paused"})  # changes nothing
        await client.ok("PUT", "/v1/pages/shop/pins/default/left", {"item": "tie"})
        await client.ok("DELETE", "/v1/pages/shop/pins/default/left")
        await client.ok("DELETE", "/v1/pages/shop/items/tie")
        await client.ok("PUT", "/v1/pages/shop/state", {"counts": [], "displays": 7})
        refused = await client.http.patch("/v1/pages/shop", json={"holdout": 2})
        assert refused.status_code == 422
        stale = await client.http.patch("/v1/pages/shop", json={"holdout": 0.2}, headers={"if-match": '"1"'})
        assert stale.status_code == 412
        answer = await client.ok("GET", HISTORY)
        changes = answer["changes"]
        assert answer["next"] is None
        assert [change["number"] for change in changes] == [8, 7, 6, 5, 4, 3, 2, 1]
        assert {(change["key"], change["name"], change["time"]) for change in changes} == {(None, "dev", START)}
        observed = [(change["action"], change["subject"], change["before"], change["after"]) for change in changes[:6]]
        assert observed == [
            ("state", "shop", {"revision": 0}, {"revision": 1, "displays": 7.0, "counts": 0}),
            ("item", "tie", {"state": None}, {"state": "retired"}),
            ("page", "shop", {"pins": {"default": {"left": "tie"}}}, {"pins": {"default": {}}}),
            ("page", "shop", {"pins": {}}, {"pins": {"default": {"left": "tie"}}}),
            ("item", "hat", {"state": None}, {"state": "paused"}),
            ("page", "shop", {"holdout": None}, {"holdout": 0.1}),
        ]
        assert (changes[6]["action"], changes[6]["subject"], changes[6]["before"]) == (
            "items",
            "2 items",
            {"hat": None, "tie": None},
        )
        assert (changes[7]["action"], changes[7]["before"]) == ("page", None)
        assert changes[7]["after"]["positions"] == ["hero", "left", "right"]

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_the_author_is_the_key(tmp_path: Path) -> None:
    key = make_key("the merchandiser", ("admin",), START).key

    async def scenario(client: Client) -> None:
        await client.page()
        model = await client.service.model("shop")
        rows = [("hat", model.specs[0])]
        assert await client.service.save_items(model, [("new", rows[0][1])], author_of(key)) == [True]
        (newest, *_) = (await client.ok("GET", HISTORY))["changes"]
        assert (newest["key"], newest["name"], newest["action"]) == (key.id, "the merchandiser", "items")

    run_scenario(tmp_path, scenario)


def test_the_history_is_paged_and_bounded(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=[])
        page = (await client.service.model("shop")).page.number
        sides: tuple[Any, Any] = ({"a": 0}, {"a": "x" * 100_000})

        def record(ledger: Any) -> None:
            for _ in range(MOST_CHANGES + 50):
                ledger.record_change(page, author_of(None), START, "page", "shop", sides)

        await client.service.store.do(record)
        numbers: list[int] = []
        following: int | None = 10**9
        while following is not None:
            answer = await client.ok("GET", f"{HISTORY}?before={following}")
            numbers += [change["number"] for change in answer["changes"]]
            following = answer["next"]
        assert numbers == list(range(MOST_CHANGES + 51, 51, -1))
        assert answer["changes"][-1]["after"] == {"omitted_bytes": 100_008}

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_changes_of_keys_are_recorded_without_the_secret(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        root = await client.create_key("admin", name="root")
        client.use_key(root)
        first = await client.ok("POST", "/v1/keys", {"name": "job", "scopes": ["read"], "pages": ["shop"], "rate": 5.0})
        second = await client.ok("POST", f"/v1/keys/{first['id']}/rotate", {"overlap": 60.0})
        for _ in range(2):  # the second time changes nothing
            await client.ok("DELETE", f"/v1/keys/{second['id']}")
        answer = await client.http.get("/v1/history")
        changes = answer.json()["changes"]
        assert {(change["key"], change["name"]) for change in changes[:-1]} == {(root.key.id, "root")}
        assert (changes[-1]["action"], changes[-1]["subject"]) == ("create_key", root.key.id)
        rights = {"name": "job", "scopes": ["read"], "pages": ["shop"], "origins": [], "rate": 5.0, "expires": None}
        observed = [(change["action"], change["subject"], change["before"], change["after"]) for change in changes[:-1]]
        assert observed == [
            ("revoke_key", second["id"], {"revoked": None}, {"revoked": START}),
            ("create_key", second["id"], None, rights),
            ("rotate_key", first["id"], {"expires": None}, {"expires": START + 60.0, "replaced_by": second["id"]}),
            ("create_key", first["id"], None, rights),
        ]
        assert not any(new["key"][3:35] in answer.text for new in (first, second))

    run_scenario(tmp_path, scenario, with_keys=True)
    assert verify(tmp_path / "store.db").differences == []


@pytest.mark.parametrize("before", ["", "-1", "x", "1" * 30])
def test_an_invalid_number_is_refused(tmp_path: Path, before: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page(items=[])
        assert (await client.http.get(f"{HISTORY}?before={before}")).status_code == 422

    run_scenario(tmp_path, scenario)


def test_the_command_lists_the_changes(service: Process, slotwise) -> None:
    name = "history-page"
    service.http.put(f"/v1/pages/{name}", json={"positions": ["one"]}).raise_for_status()
    service.http.patch(f"/v1/pages/{name}", json={"holdout": 0.1}).raise_for_status()
    found = slotwise("pages", "history", name, "--url", service.address, "--json").json()
    assert [change["number"] for change in found["changes"]] == [2, 1]
    lines = slotwise("pages", "history", name, "--before", "3", "--url", service.address).stdout.splitlines()
    assert len(lines) == 2
    assert 'dev  page history-page: {"holdout": null} -> {"holdout": 0.1}' in lines[0]
