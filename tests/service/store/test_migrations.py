"""Stores of an older slotwise are migrated when they are opened, without loss."""

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slotwise.checks import BadInput
from slotwise.service.maintenance.backup import restore
from slotwise.service.maintenance.verify import verify
from slotwise.service.pages.page_definition import NO_PAGE, PageSpec
from slotwise.service.registers import EventKind
from slotwise.service.store.records import DailyRate, Event, HourlyRate
from slotwise.service.store.sqlite.sqlite_schema import APPLICATION, MIGRATIONS, migrate
from slotwise.service.store.sqlite.sqlite_store import SqliteStore
from tests.service.running_service import START, Client, run_scenario

WRITTEN_BY = Path(__file__).parent / "written_by"
EVERY_VERSION = range(1, len(MIGRATIONS) + 1)
ISSUED = START - 100.0
DISPLAYS = [  # number, id, arm, items at hero and left, entries that were clicked
    (1, "first", "learnt", (0, 1), [0]),
    (2, "second", "holdout", (1, 2), []),
    (3, "third", "learnt", (2, 0), [0, 1]),
]


def write_version_1(path: Path) -> None:
    """Write a store as the first release did: one page, three items, three displays, three clicks."""
    body = msgspec.json.encode(NO_PAGE.with_spec(PageSpec(positions=["hero", "left"]))).decode()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        run = connection.execute
        run(f"PRAGMA application_id = {APPLICATION}")
        connection.executescript(f"BEGIN; {MIGRATIONS[0]} PRAGMA user_version = 1; COMMIT;")
        run(
            "INSERT INTO pages (page, name, version, archived, body, epoch_began) VALUES (1, 'shop', 1, 0, ?, ?)",
            (body, ISSUED),
        )
        for number, name in enumerate(["hat", "tie", "bag"]):
            run("INSERT INTO items VALUES (1, ?, ?, '{}')", (number, name))
        for number, id, arm, items, clicked in DISPLAYS:
            places = [["hero", 0, items[0], "learnt"], ["left", 1, items[1], "learnt"]]
            run(
                "INSERT INTO displays (number, id, nonce, page, layout, segment, issued, until, drop_after, arm, "
                "epoch, counting, places) VALUES (?, ?, 7, 1, 'default', 0, ?, ?, ?, ?, 0, 1, ?)",
                (number, id, ISSUED, START + 1e6, START + 2e6, arm, json.dumps(places)),
            )
            for entry, item in enumerate(items):
                cell = (item, entry, int(entry in clicked), int(entry not in clicked))
                run(
                    "INSERT INTO counts VALUES (1, 0, ?, 0, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                    "clicks = clicks + excluded.clicks, skips = skips + excluded.skips",
                    cell,
                )
            for place in clicked:
                run("INSERT INTO events VALUES (?, 1, ?, 1, ?)", (number, place, ISSUED))
                run("INSERT INTO event_ids VALUES (?, ?, 1, ?)", (f"{id}-{place}", number, place))
            run(
                "INSERT INTO rates VALUES (1, ?, ?, 1, 2, ?) ON CONFLICT DO UPDATE SET displays = displays + 1, "
                "shown = shown + 2, clicks = clicks + excluded.clicks",
                (int(ISSUED // 3600), arm, len(clicked)),
            )
        run("INSERT INTO epochs VALUES (1, 0, 3)")


@pytest.fixture(params=range(1, len(MIGRATIONS)))
def version(request: pytest.FixtureRequest) -> int:
    """Every version of the tables before the current one."""
    return int(request.param)


@pytest.fixture
def store(tmp_path: Path, version: int) -> Path:
    path = tmp_path / "store.db"
    write_version_1(path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(f"BEGIN; {' '.join(MIGRATIONS[1:version])} PRAGMA user_version = {version}; COMMIT;")
    return path


def test_a_store_of_an_older_version_is_migrated_and_served(store: Path) -> None:
    observed: list[Any] = []

    async def scenario(client: Client) -> None:
        lines = [json.loads(line) for line in (await client.http.get("/v1/pages/shop/log")).text.splitlines()]
        observed.append([(line["display"], line["variant"], line["position"], line["clicked"]) for line in lines])
        insights = await client.ok("GET", "/v1/pages/shop/insights")
        observed.append({row["variant"]: (row["displays"], row["clicks"]) for row in insights["variants"]})
        assert (await client.recommend(id="first"))["variant"] == "learnt"
        assert (await client.recommend(id="fourth"))["variant"] == "learnt"
        known = {"type": "click", "display": "first", "position": "hero", "id": "first-0"}
        reused = {"type": "click", "display": "second", "position": "hero", "id": "first-0"}
        fresh = {"type": "click", "display": "second", "position": "left"}
        assert await client.send(known, reused, fresh) == ["duplicate", "conflict", "accepted"]
        item = "/v1/pages/shop/items/tie"
        assert (await client.http.get(item)).headers["etag"] == '"1"'
        assert (await client.http.patch(item, json={"state": "paused"})).headers["etag"] == '"2"'

    run_scenario(store.parent, scenario)
    assert observed == [
        [
            ("first", "learnt", "hero", 1), ("first", "learnt", "left", 0), ("second", "holdout", "hero", 0),
            ("second", "holdout", "left", 0), ("third", "learnt", "hero", 1), ("third", "learnt", "left", 1),
        ],
        {"learnt": (2, 3), "holdout": (1, 0)},
    ]  # fmt: skip
    verdict = verify(store)
    assert (verdict.displays, verdict.events, verdict.differences) == (4, 4, [])


def test_migrating_twice_changes_nothing(store: Path) -> None:
    def dump() -> list[str]:
        with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as connection:
            migrate(connection, str(store))
            assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
            return list(connection.iterdump())

    first = dump()
    assert dump() == first
    assert verify(store).differences == []


def test_verify_does_not_write_to_an_older_store(store: Path, version: int) -> None:
    before = store.read_bytes()
    with pytest.raises(BadInput, match=f"version {version} of the tables"):
        verify(store)
    assert store.read_bytes() == before


def load(path: Path, dump: str) -> Path:
    """Make a store from a dump in `written_by`."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript((WRITTEN_BY / dump).read_text())
    return path


@pytest.mark.parametrize("version", EVERY_VERSION)
def test_stores_that_each_version_wrote_are_migrated(tmp_path: Path, version: int) -> None:
    """`written_by` has a dump of a store for each version of the tables, made by `slotwise serve` of that version.

    If the dump of the current version is missing, `python -m tests.service.store.write_fixture` writes it.
    """
    path = load(tmp_path / "store.db", f"version_{version}.sql")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)

    async def open_store() -> None:
        store = SqliteStore(path)
        pages = await store.read(lambda ledger: [ledger.page(name) for name in ledger.page_names()])
        shop = pages[0]
        assert shop is not None
        assert [page and page.name for page in pages] == ["shop", "viewed"]
        assert (shop.body.pins, shop.body.spec.half_life) == ({"default": {"left": "bag"}}, 86400.0)
        items = await store.read(lambda ledger: ledger.items(shop.number))
        assert [name for name, _ in items] == ["hat", "tie", "bag"]
        assert items[1][1].prior is not None
        log = await store.read(lambda ledger: ledger.log(shop.number, 0, 100))
        assert {row.display for row in log if row.clicked} == {"shop-0", "shop-1", "shop-2"}
        assert {row.display for row in log if row.discarded} == {"shop-7"}
        counts = await store.do(lambda ledger: ledger.counts(shop.number))
        assert sum(cell.clicks for cell in counts.cells) == 5 + 3, "imported and recorded"
        again = Event(EventKind.CLICK, "shop-3", None, None, "hero", "event-0")
        recorded = await store.do(lambda ledger: ledger.record_events([again], 0.0))
        assert recorded.outcomes[0].status == "conflict", "the id belongs to another event"
        await store.close()

    asyncio.run(open_store())
    verdict = verify(path)
    assert (verdict.displays, verdict.events, verdict.differences) == (12, 6, [])


@pytest.mark.parametrize("version", [version for version in EVERY_VERSION if version >= 7])
def test_displays_from_before_an_import_change_the_rates(tmp_path: Path, version: int) -> None:
    """In version 7, they did not. The rates stay as that version had them, and later events change them."""
    path = load(tmp_path / "store.db", f"version_{version}_late_import.sql")

    with contextlib.closing(sqlite3.connect(path)) as connection:
        (last,) = connection.execute("SELECT max(drop_after) FROM displays").fetchone()

    def clicks(rates: list[HourlyRate] | list[DailyRate]) -> int:
        return sum(rate.clicks for rate in rates)

    async def open_store() -> None:
        store = SqliteStore(path)
        before = await store.do(lambda ledger: (ledger.counts(1), ledger.rates(1), ledger.daily_rates(1, 1)))
        expected = 6 if version == 7 else 7  # with two clicks after the import, and a discard of an earlier click
        assert (clicks(before[1]), clicks(before[2])) == (expected, expected)
        await store.close()
        assert verify(path).differences == []
        store = SqliteStore(path)
        event = Event(EventKind.CLICK, "shop-0", None, None, "left", None)
        recorded = await store.do(lambda ledger: ledger.record_events([event], START))
        assert [outcome.status for outcome in recorded.outcomes] == ["accepted"]
        after = await store.do(lambda ledger: (ledger.counts(1), ledger.rates(1), ledger.daily_rates(1, 1)))
        assert after[0] == before[0]
        assert (clicks(after[1]), clicks(after[2])) == (clicks(before[1]) + 1, clicks(before[2]) + 1)
        assert await store.do(lambda ledger: ledger.prune(last + 1, 100)) == 14
        assert await store.do(lambda ledger: (ledger.rates(1), ledger.daily_rates(1, 1))) == after[1:]
        await store.close()

    asyncio.run(open_store())
    assert verify(path).differences == []


@pytest.mark.parametrize("version", EVERY_VERSION)
def test_a_backup_that_each_version_wrote_is_restored(tmp_path: Path, version: int) -> None:
    backup, path = load(tmp_path / "backup.db", f"version_{version}.sql"), tmp_path / "store.db"
    before = backup.read_bytes()
    assert restore(backup, path)[2:] == (12, 6)
    assert backup.read_bytes() == before
    verdict = verify(path)
    assert (verdict.displays, verdict.events, verdict.differences) == (12, 6, [])


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path, slotwise) -> None:
    path = tmp_path / "store.db"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"PRAGMA user_version = {len(MIGRATIONS) + 1}; CREATE TABLE meta (key); ")
        connection.executescript(f"PRAGMA application_id = {APPLICATION};")
    before = path.read_bytes()
    address, export = ("--store", f"sqlite:///{path}"), str(tmp_path / "export.ndjson")
    for command in (
        ["serve", "--dev", "--port", "0", *address],
        ["verify", *address],
        ["backup", str(tmp_path / "backup.db"), *address],
        ["restore", str(path), "--store", f"sqlite:///{tmp_path / 'restored.db'}"],
        ["keys", "create", "--name", "a", "--scope", "admin", *address],
        ["keys", "list", *address],
        ["keys", "revoke", "none", *address],
        ["keys", "rotate", "none", *address],
        ["keys", "history", *address],
        ["logs", "export", export, "--page", "shop", *address],
    ):
        refused = slotwise(*command)
        refused.assert_refused(f"version {len(MIGRATIONS) + 1} of the tables", "a newer one")
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]
    assert path.read_bytes() == before
