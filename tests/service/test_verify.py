"""`verify` finds and locates every manipulation."""

import asyncio
import sqlite3
from pathlib import Path

import pytest

from slotwise.service.verify import verify
from tests.service.running_service import Client, open_client

TAMPERINGS = {
    "a count": "UPDATE counts SET clicks = clicks + 1 WHERE clicks > 0",
    "a cell": "DELETE FROM counts WHERE clicks > 0",
    "a number of displays": "UPDATE epochs SET displays = displays + 1",
    "an event": "DELETE FROM events WHERE kind = 1",
    "an event that was late": "UPDATE events SET accepted = 0 WHERE kind = 1",
    "a display": "DELETE FROM displays",
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    async def scenario() -> None:
        async with open_client(tmp_path) as client:
            await client.page()
            await clicks(client)

    async def clicks(client: Client) -> None:
        for position in ("hero", "left"):
            shown = await client.recommend()
            assert await client.send({"type": "click", "token": shown["token"], "position": position}) == ["accepted"]

    asyncio.run(scenario())
    return tmp_path / "store.db"


@pytest.mark.parametrize("what", sorted(TAMPERINGS))
def test_a_difference_is_found(store: Path, what: str) -> None:
    assert verify(store)[:3] == (2, 2, len(cells(store)))
    assert verify(store).differences == []
    with sqlite3.connect(store) as connection:
        connection.execute(TAMPERINGS[what])
    connection.close()
    assert verify(store).differences != []


def cells(store: Path) -> list[tuple[int, ...]]:
    with sqlite3.connect(store) as connection:
        rows = connection.execute("SELECT * FROM counts WHERE clicks + skips > 0").fetchall()
    connection.close()
    return rows
