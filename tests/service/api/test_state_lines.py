"""Counts are exported and imported as lines: of any size, all or none, and without holding up other requests."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slotwise.client.http_client import HttpClient
from slotwise.client.state_file import export_state, import_state
from slotwise.service.api.state import MOST_CELLS
from slotwise.service.http.bodies import body_file
from slotwise.service.http.bodies.body_file import BODIES
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages import page_changes
from slotwise.service.store.sqlite.sqlite_store import SqliteStore
from slotwise.service.store.tables import snapshot_table
from tests.service.running_service import ITEMS, POSITIONS, Client, Process, process, run_scenario
from tests.waiting import HANG, until

LINES, STATE = "/v1/pages/shop/state.ndjson", "/v1/pages/shop/state"
NDJSON = {"content-type": "application/x-ndjson"}


@pytest.fixture
def small_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_changes, "STAGED_AT_ONCE", 4)
        patch.setattr(snapshot_table, "REMOVED", 3)
        patch.setattr(body_file, "IN_MEMORY", 100)
        yield


def cell(item: str = "hat", position: str = "hero", **fields: Any) -> dict[str, Any]:
    return {"item": item, "layout": "default", "position": position, "clicks": 1, "skips": 2} | fields


CELLS = [
    cell(item, position, clicks=k, skips=100 - j)
    for j, item in enumerate(ITEMS)
    for k, position in enumerate(POSITIONS)
]


def lines_of(cells: list[Any], **header: Any) -> bytes:
    rows = [{"displays": 7, "counts": len(cells)} | header, *cells]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


async def put(client: Client, content: bytes, **headers: str) -> int:
    answer = await client.http.put(LINES, content=content, headers=NDJSON | headers)
    return answer.status_code


async def all_removed(client: Client) -> None:
    await until(lambda: not client.service.store.read_here(lambda ledger: ledger.unused_snapshots()))


def snapshot_rows(store: Path) -> int:
    with closing(sqlite3.connect(store)) as connection:
        return int(connection.execute("SELECT count(*) FROM base").fetchone()[0])


def test_what_is_exported_can_be_imported_again(tmp_path: Path, small_steps: None) -> None:
    async def scenario(client: Client) -> None:
        await client.page(segments=["new"])
        await client.ok("PUT", STATE, {"counts": [*CELLS, cell(segment="new", clicks=0.5)], "displays": 12.5})
        for _ in range(3):
            await client.recommend()
        before = await client.ok("GET", STATE)
        exported = await client.http.get(LINES)
        assert exported.headers["content-type"] == "application/x-ndjson"
        header, *rows = [json.loads(line) for line in exported.text.splitlines()]
        assert header == {"displays": 15.5, "counts": 16, "format": "slotwise-state", "version": 1}
        assert rows == before["counts"]
        await client.recommend()
        assert await put(client, exported.content) == 204
        assert await client.ok("GET", STATE) == before
        first, *others = exported.content.splitlines(keepends=True)
        assert await put(client, b"".join([first, *reversed(others)])) == 204, "the order of the cells does not matter"
        assert (await client.http.get(LINES)).content == exported.content
        await all_removed(client)
        assert snapshot_rows(tmp_path / "store.db") == 16
        (last, *_) = (await client.ok("GET", "/v1/pages/shop/history"))["changes"]
        assert last["after"] | {"revision": 0} == {"revision": 0, "displays": 15.5, "counts": 16}

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []
    assert BODIES.held == 0


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        (b"", "/0"),
        (b"\n", "/0"),
        (b"no json\n", "/0"),
        (lines_of([cell()], format="other"), "/0"),
        (lines_of([cell()], counts=10**9), "/0"),
        (lines_of([cell()], counts=2), "/0/counts"),
        (lines_of([cell()], counts=0), "/0/counts"),
        (lines_of([cell(), cell("tie", clicks=-1)]), "/2"),
        (lines_of([cell(), cell("tie"), cell("unknown")]), "/3/item"),
        (lines_of([cell(position="nowhere")]), "/1/position"),
        (lines_of([cell(segment="nobody")]), "/1/segment"),
        (lines_of([cell(), cell("tie"), cell()]), "/counts"),
        (lines_of([cell("x" * 5_000)]), "/1"),
        (lines_of([cell()]).replace(b"hat", b"\xff\xfe"), "/1"),
        (b'{"displays": 1, "counts": [' + b"1," * 10_000 + b"1]}", "/0"),
    ],
)
def test_invalid_lines_change_nothing(tmp_path: Path, content: bytes, pointer: str) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        await client.ok("PUT", STATE, {"counts": CELLS, "displays": 3})
        before = await client.ok("GET", STATE)
        refused = await client.http.put(LINES, content=content, headers=NDJSON)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)
        assert await client.ok("GET", STATE) == before

    run_scenario(tmp_path, scenario)
    assert BODIES.held == 0


def test_refused_imports_leave_no_rows(tmp_path: Path, small_steps: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction that gives up the rows of an import is slow, so it is too early to remove them before its end."""
    give_up = snapshot_table.SnapshotTable.abandon_imports

    def slowly(table: snapshot_table.SnapshotTable) -> None:
        time.sleep(0.3)
        give_up(table)

    monkeypatch.setattr(snapshot_table.SnapshotTable, "abandon_imports", slowly)

    async def scenario(client: Client) -> None:
        await client.page()
        await client.ok("PUT", STATE, {"counts": CELLS, "displays": 3})
        assert await put(client, lines_of(CELLS), **{"if-match": '"77"'}) == 412
        assert await put(client, lines_of(CELLS), **{"content-type": "application/json"}) == 415
        missing = await client.http.put("/v1/pages/none/state.ndjson", content=lines_of([]), headers=NDJSON)
        assert missing.status_code == 404
        await all_removed(client)
        assert snapshot_rows(tmp_path / "store.db") == len(CELLS)

    run_scenario(tmp_path, scenario)
    assert verify(tmp_path / "store.db").differences == []


def test_an_import_that_a_crash_interrupts_is_forgotten(tmp_path: Path, small_steps: None) -> None:
    store = tmp_path / "store.db"

    async def define(client: Client) -> None:
        await client.page()
        await client.ok("PUT", STATE, {"counts": CELLS[:3], "displays": 3})
        await all_removed(client)

    async def stage() -> None:
        opened = SqliteStore(store)
        number = await opened.do(lambda ledger: ledger.begin_import())
        await opened.do(lambda ledger: ledger.stage_counts(number, np.array([[k, 0, 0, 1.0, 1.0] for k in range(5)])))
        await opened.close()

    async def check(client: Client) -> None:
        assert len((await client.ok("GET", STATE))["counts"]) == 3
        await all_removed(client)
        assert snapshot_rows(store) == 3

    run_scenario(tmp_path, define)
    asyncio.run(stage())
    assert snapshot_rows(store) == 8
    assert verify(store).differences == []
    run_scenario(tmp_path, check)
    assert verify(store).differences == []


def test_too_large_bodies_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(client: Client) -> None:
        await client.page()
        monkeypatch.setattr(BODIES, "most", 1_000)
        assert await put(client, lines_of(CELLS)) == 503
        assert await put(client, lines_of(CELLS[:2])) == 204

    run_scenario(tmp_path, scenario)
    assert BODIES.held == 0


def test_the_commands_export_and_import(service: Process, page: str, slotwise, tmp_path: Path) -> None:
    path, url = f"/v1/pages/{page}", ("--url", service.address)
    service.http.put(path, json={"positions": POSITIONS}).raise_for_status()
    rows = [{"item": item} for item in ITEMS]
    service.http.post(f"{path}/items:batch", json={"items": rows}).raise_for_status()
    service.http.put(f"{path}/state", json={"counts": CELLS, "displays": 3}).raise_for_status()
    before, file = service.http.get(f"{path}/state").json(), tmp_path / "state.ndjson"
    exported = slotwise("pages", "export", page, str(file), *url, "--json").json()
    assert exported == {"page": page, "file": str(file), "bytes": file.stat().st_size}
    service.http.put(f"{path}/state", json={"counts": [], "displays": 0}).raise_for_status()
    assert slotwise("pages", "import", page, str(file), *url).exit_code == 0
    assert service.http.get(f"{path}/state").json() == before
    slotwise("pages", "import", page, str(tmp_path), *url).assert_refused("cannot read")
    slotwise("pages", "export", "none", str(tmp_path / "other"), *url).assert_refused("404")
    assert not (tmp_path / "other").exists()
    file.write_text("[]")
    slotwise("pages", "import", page, str(file), *url).assert_refused("422", "line 1")


@pytest.mark.soak
def test_a_page_above_the_limit_of_a_document(tmp_path: Path) -> None:
    """More cells than one JSON document may have. Meanwhile, other requests are answered.

    The limit of the waiting time is ten times what was measured, because the machine may be busy with something else.
    """
    n_items, positions = 2 * MOST_CELLS // 50, [f"p{k}" for k in range(50)]
    first, second, store = tmp_path / "first.ndjson", tmp_path / "second.ndjson", tmp_path / "store.db"
    cells = (cell(f"i{k}", position, clicks=k, skips=1) for k in range(n_items) for position in positions)
    with first.open("w") as file:
        file.write(json.dumps({"displays": 7, "counts": 50 * n_items}) + "\n")
        file.writelines(json.dumps(line) + "\n" for line in cells)
    waits: list[float] = []
    with process(store) as server:
        server.http.put("/v1/pages/shop", json={"positions": positions}).raise_for_status()
        for start in range(0, n_items, 1_000):
            rows = [{"item": f"i{k}"} for k in range(start, start + 1_000)]
            server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()

        def round_trip() -> None:
            with HttpClient(server.address, timeout=HANG) as client:
                import_state(client, "shop", first, lambda *_: None)
                export_state(client, "shop", second, lambda *_: None)
                import_state(client, "shop", second, lambda *_: None)
                export_state(client, "shop", first, lambda *_: None)

        with ThreadPoolExecutor(1) as pool:
            working = pool.submit(round_trip)
            while not working.done():
                began = time.perf_counter()
                server.http.get("/livez").raise_for_status()
                waits.append(time.perf_counter() - began)
                time.sleep(0.002)
            working.result()
        assert first.read_bytes() == second.read_bytes()
        assert first.read_bytes().count(b"\n") == 50 * n_items + 1 > MOST_CELLS
        assert server.stop() == 0
    waits.sort()
    longest, p99 = 1e3 * waits[-1], 1e3 * waits[-len(waits) // 100]
    print(f"{50 * n_items:,} cells: others waited for {longest:.1f} ms at most, p99 {p99:.1f} ms")
    assert waits[-1] < 0.5
    assert verify(store).differences == []
