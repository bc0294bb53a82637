"""A store has one owner: a second process gets a one-line error, and the first one is not disturbed."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.service.store.sqlite import SqliteStore
from tests.service.running_service import ITEMS, POSITIONS, process
from tests.waiting import wait_until


def test_a_second_process_is_rejected_and_the_first_continues(tmp_path: Path, slotwise_process) -> None:
    statuses: list[str] = []
    over = threading.Event()
    with process(tmp_path / "store.db") as first:
        first.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        first.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()

        def visit() -> None:
            while not over.is_set():
                shown = first.http.post("/v1/pages/shop/recommendations", json={}).raise_for_status().json()
                event = {"type": "click", "token": shown["token"], "position": "hero"}
                answer = first.http.post("/v1/events", json={"events": [event]}).raise_for_status().json()
                statuses.append("degraded" if shown["degraded"] else answer["results"][0]["status"])

        visiting = threading.Thread(target=visit)
        visiting.start()
        second = slotwise_process("serve", "--dev", "--port", "0", "--store", f"sqlite:///{tmp_path / 'store.db'}")
        wait_until(lambda: len(statuses) > 50)
        over.set()
        visiting.join()
    second.assert_refused("in use by another process")
    assert set(statuses) == {"accepted"}


@pytest.mark.parametrize("how", ["same", "roundabout", "relative", "link", "linked folder"])
def test_the_lock_holds_for_every_path_to_the_store(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    store = folder / "store.db"
    (tmp_path / "linked").symlink_to(folder)
    (folder / "link.db").symlink_to(store)
    names = {
        "same": store,
        "roundabout": folder / ".." / "real" / "store.db",
        "relative": Path(os.path.relpath(store)),
        "link": folder / "link.db",
        "linked folder": tmp_path / "linked" / "store.db",
    }

    async def scenario() -> None:
        first = SqliteStore(store)
        with pytest.raises(BadInput, match="in use by another process"):
            SqliteStore(names[how])
        await first.close()
        await SqliteStore(names[how]).close()  # it can be opened once the owner has closed it

    asyncio.run(scenario())
