"""A store has one owner: a second process is refused with one line, and the first one is not disturbed."""

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from slotwise.checks import BadInput
from slotwise.service.store.sqlite import SqliteStore
from tests.service.running_service import ITEMS, POSITIONS, process


def test_a_second_process_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
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
        command = [sys.executable, "-m", "slotwise", "serve", "--dev", "--port", "0", "--store"]
        second = subprocess.run(
            [*command, f"sqlite:///{tmp_path / 'store.db'}"], capture_output=True, text=True, timeout=30
        )
        over.set()
        visiting.join()
    assert second.returncode == 2
    assert second.stdout == ""
    assert "in use by another process" in second.stderr
    assert len(second.stderr.splitlines()) == 1
    assert set(statuses) == {"accepted"}
    assert len(statuses) > 50


@pytest.mark.parametrize("how", ["same", "roundabout", "relative", "link", "linked folder"])
def test_the_store_is_in_use_by_whatever_name_it_is_called(tmp_path: Path, how: str) -> None:
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
        await SqliteStore(names[how]).close()  # it is free when the owner has closed it

    asyncio.run(scenario())
