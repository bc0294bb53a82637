"""A page is deleted for good: nothing of it stays in the store, other pages keep everything, and crashes do no harm."""

import asyncio
import functools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise.service.errors import NotFound
from slotwise.service.history import DEV
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.folded import Folded
from slotwise.service.pages.page_model import DROP_MARGIN
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.records import Purge
from slotwise.service.store.sqlite.sqlite_store import SqliteStore
from slotwise.service.store.tables import page_purge
from tests.service.running_service import START, Client, ManualClock, Process, open_client, run_scenario
from tests.waiting import until

SECRET = "an item with a name that occurs once"


@pytest.fixture
def small_steps() -> Iterator[None]:
    """Every step removes a few rows, so a small page takes many steps."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_purge, "SCANNED", 7)
        patch.setattr(page_purge, "DELETED", 3)
        patch.setattr(page_purge, "ROWS", {table: (key, 2) for table, (key, _) in page_purge.ROWS.items()})
        yield


async def visit(client: Client, page: str, visits: int = 10) -> list[Any]:
    displays = [await client.recommend(page) for _ in range(visits)]
    events = [
        {"type": "click", "display": shown["id"], "position": "hero", "id": f"click-{shown['id']}"}
        for shown in displays
    ]
    assert set(await client.send(*events[: visits // 2])) == {"accepted"}
    return displays


async def fill(client: Client) -> None:
    """A page with rows in every table, and another page."""
    await client.page(items=["hat", "tie", SECRET], half_life=3600.0, click_window=3600.0, retention=3600.0)
    await client.page("other")
    await visit(client, "other")
    await visit(client, "shop", 4)
    client.clock.now += 3600.0 + 2 * DROP_MARGIN
    await client.service.tick()  # the displays leave the log
    await visit(client, "shop", 4)
    cells = [{"item": "hat", "layout": "default", "position": "hero", "clicks": 3, "skips": 4}]
    await client.ok("PUT", "/v1/pages/shop/state", {"counts": cells, "displays": 7})
    await visit(client, "shop")
    client.clock.now += 3600.0
    await client.service.tick()
    await visit(client, "shop", 2)


def rows_of(store: Path, page: int) -> dict[str, int]:
    """The number of rows of each table that belong to a page, directly or by their display."""
    with closing(sqlite3.connect(store)) as connection:
        tables = {
            table: {column for _, column, *_ in connection.execute(f"PRAGMA table_info({table})")}
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        }
        place = connection.execute("SELECT value FROM meta WHERE key = ?", (f"snapshot:{page}",)).fetchone()
        displays = "display IN (SELECT number FROM displays WHERE page = ?)"
        return {
            table: connection.execute(
                f"SELECT count(*) FROM {table} WHERE {'page = ?' if 'page' in columns else displays}",
                (int(place[0]) if place and table in ("base", "counts") else page,),
            ).fetchone()[0]
            for table, columns in tables.items()
            if columns & {"page", "display"}
        }


async def all_removed(client: Client) -> None:
    await until(
        lambda: not client.service.store.read_here(lambda ledger: (*ledger.purges(), *ledger.unused_snapshots()))
    )


def test_nothing_of_the_page_stays(tmp_path: Path, small_steps: None) -> None:
    store, after = tmp_path / "store.db", dict[str, Any]()

    async def scenario(client: Client) -> None:
        await fill(client)
        before = rows_of(store, 1)
        assert all(before.values()), f"the test has no rows in {[table for table in before if not before[table]]}"
        after["other"] = rows_of(store, 2), await client.ok("GET", "/v1/pages/other/state")
        answer = await client.http.delete("/v1/pages/shop?purge=shop")
        assert (answer.status_code, answer.content) == (202, b"")
        assert (await client.http.get("/v1/pages/shop")).status_code == 404
        assert (await client.ok("GET", "/v1/pages"))["pages"] == ["other"]
        await all_removed(client)
        assert {table for table, rows in rows_of(store, 1).items() if rows} == {"pages"}
        with closing(sqlite3.connect(store)) as connection:
            for table in ("base", "counts"):
                assert connection.execute(f"SELECT count(*) FROM {table} WHERE page <> 2").fetchone() == (0,)
        assert (rows_of(store, 2), await client.ok("GET", "/v1/pages/other/state")) == after["other"]
        changes = (await client.ok("GET", "/v1/history"))["changes"]
        assert [(change["action"], change["subject"], change["name"]) for change in changes] == [
            ("purged", "shop", "dev"),
            ("purge", "shop", "dev"),
        ]

    run_scenario(tmp_path, scenario)
    assert verify(store).differences == []
    assert SECRET.encode() not in store.read_bytes()


async def take_steps(store: Path, most: int) -> int:
    """Begin to delete the first page, and take steps. After each, the store must verify. Returns their number."""
    opened = SqliteStore(store)
    try:
        await opened.do(lambda ledger: ledger.begin_purge(1, DEV, START))
        (purge,) = await opened.do(lambda ledger: ledger.purges())
        after: int | None = 0
        for step in range(most):
            assert (await asyncio.to_thread(verify, store)).differences == []
            after = await opened.do(functools.partial(purge_part, purge=purge, after=after or 0))
            if after is None:
                return step + 1
        return most
    finally:
        await opened.close()


def purge_part(ledger: Ledger, purge: Purge, after: int) -> int | None:
    return ledger.purge(purge, after, START)


def test_every_state_on_the_way_verifies(tmp_path: Path, small_steps: None) -> None:
    run_scenario(tmp_path, fill)
    assert 20 < asyncio.run(take_steps(tmp_path / "store.db", 1000)) < 1000
    assert verify(tmp_path / "store.db").differences == []


def test_a_restart_continues(tmp_path: Path, small_steps: None) -> None:
    """The store is closed between two steps, as after a crash: SQLite commits a step as a whole or not at all."""
    store = tmp_path / "store.db"
    run_scenario(tmp_path, fill)
    asyncio.run(take_steps(store, 4))
    assert rows_of(store, 1)["displays"] > 0
    run_scenario(tmp_path, all_removed, ManualClock(START + 3600.0))
    assert {table for table, rows in rows_of(store, 1).items() if rows} == {"pages"}
    assert verify(store).differences == []


def test_events_and_tokens_of_a_deleted_page_do_not_reach_a_new_one(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        old = await client.recommend(id="view-1")
        unseen = await client.recommend()
        await client.ok("DELETE", "/v1/pages/shop?purge=shop")
        await client.page()
        await all_removed(client)
        again = await client.recommend(id="view-1")
        assert again["token"] != old["token"]
        by_token = [{"type": "click", "token": shown["token"], "position": "hero"} for shown in (old, unseen)]
        assert await client.send(*by_token) == ["unknown", "unknown"]
        assert await client.send({"type": "click", "display": unseen["id"], "position": "hero"}) == ["unknown"]
        assert (await client.service.model("shop")).page.number == 2
        state = await client.ok("GET", "/v1/pages/shop/state")
        assert (state["displays"], sum(row["clicks"] for row in state["counts"])) == (1.0, 0.0)

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_changes_that_began_before_the_deletion_do_not_reach_a_new_page(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        stale = await client.service.model("shop")
        await client.ok("DELETE", "/v1/pages/shop?purge=shop")
        await client.page(items=["hat"])
        for change in (
            client.service.import_counts(stale, np.empty((0, 5)), 5.0, None),
            client.service.save_items(stale, [("new", stale.specs[0])]),
            client.service.change_item(stale, "hat", lambda spec: spec, None),
        ):
            with pytest.raises(NotFound):
                await change
        assert (await client.ok("GET", "/v1/pages/shop/state"))["displays"] == 0.0

    run_scenario(tmp_path, scenario)


def test_the_name_confirms_it(tmp_path: Path) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        for confirmation in ("", "other", "true"):
            answer = await client.http.delete(f"/v1/pages/shop?purge={confirmation}")
            assert answer.status_code == 422
        stale = await client.http.delete("/v1/pages/shop?purge=shop", headers={"if-match": '"7"'})
        assert stale.status_code == 412
        await client.ok("GET", "/v1/pages/shop")
        assert (await client.http.delete("/v1/pages/none?purge=none")).status_code == 404
        await client.ok("DELETE", "/v1/pages/shop")
        await client.ok("DELETE", "/v1/pages/shop?purge=shop")  # also if it is archived
        assert (await client.http.delete("/v1/pages/shop?purge=shop")).status_code == 404
        await client.ok("PUT", "/v1/pages/shop", {"positions": ["one"]})
        assert (await client.ok("GET", "/v1/pages/shop"))["items"] == []

    run_scenario(tmp_path, scenario)


def test_a_log_that_is_read_meanwhile_ends(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_client(tmp_path) as client:
            await client.page(segments=["new", "old"])
            for _ in range(3):
                await client.recommend(segment="old")
            model = await client.service.model("shop")
            await client.ok("DELETE", "/v1/pages/shop?purge=shop")
            from slotwise.service.api.log import _read_lines

            assert await _read_lines(client.service, "shop", model.page.number, 0) == (0, [])

    asyncio.run(scenario())


def test_the_command_deletes_a_page(service: Process, slotwise) -> None:
    service.http.put("/v1/pages/deleted", json={"positions": ["one"]}).raise_for_status()
    slotwise("pages", "delete", "deleted", "--purge", "--url", service.address).assert_refused("--yes")
    assert slotwise("pages", "delete", "deleted", "--url", service.address).stdout == "page deleted is archived\n"
    command = ["pages", "delete", "deleted", "--purge", "--yes", "--url", service.address]
    assert slotwise(*command, "--json").json() == {"page": "deleted", "purged": True}
    slotwise(*command).assert_refused("404")
    found = slotwise("keys", "history", "--url", service.address, "--json").json()["changes"]
    assert ("purge", "deleted") in [(change["action"], change["subject"]) for change in found]


def test_a_page_that_is_defined_again_has_its_own_items(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A definition that began before the purge knows what the earlier page had folded."""

    async def scenario(client: Client) -> None:
        await client.page(items=["hat", "tie", "bag"])
        model = await client.service.model("shop")
        model.drop(Folded(items=frozenset({2})))
        await client.ok("DELETE", "/v1/pages/shop?purge=shop")
        await client.page(items=["hat"])
        monkeypatch.setattr(client.service._pages, "peek", lambda _: model)
        await client.ok("PUT", "/v1/pages/shop", {"positions": ["hero", "new"]})

    run_scenario(tmp_path, scenario)
