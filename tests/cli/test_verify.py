"""`slotwise verify`; tests/service/maintenance/test_verify.py has the tests of what it finds."""

import sqlite3
from pathlib import Path

import pytest

from tests.service.running_service import Client, run_scenario


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with one display and one click."""

    async def scenario(client: Client) -> None:
        await client.page()
        display = await client.recommend()
        event = {"type": "click", "token": display["token"], "position": "hero"}
        assert await client.send(event) == ["accepted"]

    run_scenario(tmp_path, scenario)
    return tmp_path / "store.db"


def test_the_exit_code_says_whether_counts_differ(store: Path, slotwise) -> None:
    command = ["verify", "--store", f"sqlite:///{store}"]
    verification = slotwise(*command, "--json").json()
    assert (verification["displays"], verification["events"], verification["differences"]) == (1, 1, [])
    assert slotwise(*command).exit_code == 0
    with sqlite3.connect(store) as connection:
        ((item,),) = connection.execute("SELECT item FROM counts WHERE clicks > 0").fetchall()
        connection.execute("UPDATE counts SET clicks = clicks + 1 WHERE clicks > 0")
    connection.close()
    result = slotwise(*command)
    assert result.exit_code == 1
    assert all(text in result.stdout for text in ("page 1", f"item {item}", "(1, 0)", "(2, 0)"))
    assert "1 difference" in result.stdout


def test_a_store_that_does_not_exist_is_refused(slotwise, tmp_path: Path) -> None:
    missing = f"{tmp_path}/nothing-here.db"
    slotwise("verify", "--store", f"sqlite:///{missing}").assert_refused(missing)
    assert list(tmp_path.iterdir()) == []
