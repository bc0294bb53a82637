"""`verify` finds every manipulation and every damage, and never ends with a traceback."""

import asyncio
import contextlib
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from slotwise.checks import BadInput
from slotwise.service.keys.api_keys import make_key
from slotwise.service.maintenance.verify import verify
from slotwise.service.store.sqlite.sqlite_schema import MIGRATIONS
from tests.service.running_service import START, Client, ManualClock, open_client

FLIPS = 100  # copies of the store, each with one flipped bit
DAY = 86400.0
TAMPERINGS = {
    "a count": "UPDATE counts SET clicks = clicks + 1 WHERE clicks > 0",
    "a cell": "DELETE FROM counts WHERE clicks > 0",
    "a number of displays": "UPDATE epochs SET displays = displays + 1",
    "an event": "DELETE FROM events WHERE kind = 1",
    "an event that was late": "UPDATE events SET accepted = 0 WHERE kind = 1",
    "an event with a position that cannot be": "UPDATE events SET entry = 1 << 40 WHERE kind = 1",
    "an event of an unknown kind": "UPDATE events SET kind = 7 WHERE kind = 1",
    "a time": "UPDATE events SET received = received + 1",
    "a display": "DELETE FROM displays",
    "a nonce": "UPDATE displays SET nonce = nonce + 1",
    "the entries of a display": "UPDATE displays SET entries = '[1]'",
    "text that is not UTF-8": "UPDATE displays SET id = CAST(X'ff' AS TEXT) WHERE number = 2",
    "the snapshot": "UPDATE base SET clicks = clicks + 1",
    "a cell of the snapshot": "DELETE FROM base",
    "the displays in the snapshot": "UPDATE pages SET base_displays = base_displays + 1",
    "rates": "UPDATE rates SET clicks = clicks + 1",
    "rates of the snapshot": "UPDATE base_rates SET clicks = clicks + 1",
    "daily rates": "UPDATE daily_rates SET displays = displays + 1",
    "a value": "UPDATE daily_rates SET value = value + 1",
    "daily rates of the snapshot": "UPDATE base_daily_rates SET clicks = clicks + 1",
    "a bucket": "UPDATE displays SET bucket = (bucket + 1) % 512",
    "the secret of a page": "UPDATE pages SET unit_secret = randomblob(32)",
    "an event id": "UPDATE event_ids SET id = id || 'x'",
    "a forgotten event id": "DELETE FROM event_ids",
    "a definition": "UPDATE pages SET body = replace(body, 'hero', 'zero')",
    "a revision": "UPDATE pages SET revision = revision + 1",
    "an item": "UPDATE items SET name = name || 'x' WHERE number = 0",
    "a secret": "UPDATE meta SET value = value || ' ' WHERE key = 'secrets'",
    "a key": "UPDATE keys SET scopes = '[\"admin\"]'",
    "the last number": "UPDATE sqlite_sequence SET seq = seq - 1",
    "a checksum": "UPDATE checksums SET sum = sum + 1 WHERE name = 'items'",
    "a trigger": "DROP TRIGGER counts_below_zero",
    "a table": "CREATE TABLE other (id)",
}


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with everything in it: a log, a snapshot, rates, event ids and a key."""
    folder, clock = tmp_path_factory.mktemp("original"), ManualClock()

    async def click(client: Client, position: str) -> None:
        shown = await client.recommend()
        event = {"type": "click", "token": shown["token"], "position": position, "id": f"{position}-{clock.now}"}
        assert await client.send(event) == ["accepted"]

    async def scenario() -> None:
        async with open_client(folder, clock) as client:
            await client.page(half_life=8 * DAY)
            await click(client, "hero")
            clock.now += 31 * DAY
            await client.service.tick()  # the display leaves the log
            for position in ("hero", "left"):
                await click(client, position)
            key = make_key("backend", ("read",), START).key
            await client.service.store.do(lambda ledger: ledger.save_key(key))
            await client.service.store.do(lambda ledger: ledger.mark_keys_used([(key.id, START)]))

    asyncio.run(scenario())
    return folder / "store.db"


@pytest.fixture
def store(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "store.db"))


def content(path: Path) -> Any:
    """Everything that a store says: its schema and all rows, except of a counter without a meaning."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        run = connection.execute
        tables = [name.decode() for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        rows = {name: sorted(run(f'SELECT * FROM "{name}"'), key=repr) for name in tables}
        rows["meta"] = [row for row in rows["meta"] if row[0] != b"heartbeat"]
        schema = run("SELECT type, name, tbl_name, sql FROM sqlite_master").fetchall()
        return schema, rows, run("PRAGMA user_version").fetchall()


def test_a_clean_store_has_no_differences(store: Path) -> None:
    verdict = verify(store)
    assert (verdict.displays, verdict.events, verdict.differences) == (2, 2, [])
    assert 3 <= verdict.cells <= 6, "two displays at three positions, of equal or different items"
    _, rows, _ = content(store)
    assert all(rows[name] for name in rows), "every table has rows that can be changed"


@pytest.mark.parametrize("what", sorted(TAMPERINGS))
def test_a_difference_is_found(store: Path, what: str) -> None:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        assert connection.executescript(TAMPERINGS[what] + ";")
    assert verify(store).differences != []


def test_a_difference_is_located(store: Path) -> None:
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as connection:
        (item,) = connection.execute("SELECT item FROM counts WHERE clicks > 0").fetchone()
        connection.execute("UPDATE counts SET clicks = 9 WHERE item = ? AND clicks > 0", (item,))
    assert any(f"item {item}" in line and "(9, " in line for line in verify(store).differences)


def test_flipped_bits_are_found(original: Path, tmp_path: Path) -> None:
    """Flip one random bit in each copy. If the content changes, `verify` refuses the copy or finds a difference."""
    image, expected, rng, found = original.read_bytes(), content(original), random.Random(0), 0
    used = [index for index, byte in enumerate(image) if byte]  # most zeros are in unused parts of the file
    for k in range(FLIPS):
        path, damaged, index, bit = tmp_path / f"{k}.db", bytearray(image), rng.choice(used), rng.randrange(8)
        damaged[index] ^= 1 << bit
        path.write_bytes(damaged)
        try:
            is_clean = not verify(path).differences
        except BadInput:
            is_clean = False
        found += not is_clean
        if is_clean:
            assert content(path) == expected, f"bit {bit} of byte {index}"
        for file in tmp_path.iterdir():
            file.unlink()
    assert found > FLIPS / 2


@pytest.mark.parametrize("version", [-1, 0, len(MIGRATIONS) - 1, len(MIGRATIONS) + 1, 99])
def test_another_version_is_refused_before_anything_is_read(store: Path, version: int) -> None:
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.executescript(f"PRAGMA user_version = {version}; DROP TABLE displays;")
    with pytest.raises(BadInput, match=f"version {version} of the tables"):
        verify(store)
