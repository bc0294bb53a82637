"""Write the dumps of stores in `written_by`, with this version: `python -m tests.service.store.write_fixture`.

Run it before the tables change, so that the dumps of the version before stay in the repository.
"""

import contextlib
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slotwise.service.store.sqlite.sqlite_schema import MIGRATIONS
from tests.service.running_service import Process, process

WRITTEN_BY = Path(__file__).parent / "written_by"
SHOP: dict[str, Any] = {"positions": ["hero", "left"], "segments": ["new"], "holdout": 0.3, "half_life": 86400}
CELL = {"item": "hat", "layout": "default", "position": "hero", "clicks": 5, "skips": 20}


def call(server: Process, method: str, path: str, body: Any) -> Any:
    answer = server.http.request(method, f"/v1{path}", json=body).raise_for_status()
    return answer.json() if answer.content else None


def two_pages(server: Process) -> None:
    """Displays, events and an import of counts before them. All versions of the tables have such a dump."""
    call(server, "PUT", "/pages/shop", SHOP)
    call(server, "POST", "/pages/shop/items:batch", {"items": [{"item": item} for item in ("hat", "tie", "bag")]})
    call(server, "PATCH", "/pages/shop/items/tie", {"prior": {"clicks": 3, "views": 100}})
    call(server, "PUT", "/pages/shop/pins/default/left", {"item": "bag"})
    call(server, "PUT", "/pages/shop/state", {"displays": 25, "counts": [CELL]})
    call(server, "PUT", "/pages/viewed", {"positions": ["one"], "count": "viewed"})
    call(server, "POST", "/pages/viewed/items:batch", {"items": [{"item": item} for item in "ab"]})
    for k in range(8):
        recommend(server, "shop", k, {"segment": "new"} if k % 2 else {})
    for k in range(4):
        recommend(server, "viewed", k, {})
    clicks = [event("click", f"shop-{k}", position="hero", id=f"event-{k}") for k in range(3)]
    viewed = [event("view", "viewed-0"), event("click", "viewed-1", position="one")]
    call(server, "POST", "/events", {"events": [*clicks, event("discard", "shop-7"), *viewed]})


def late_import(server: Process) -> None:
    """Counts are imported while the log has displays. One of these displays is clicked later."""
    call(server, "PUT", "/pages/shop", SHOP)
    call(server, "POST", "/pages/shop/items:batch", {"items": [{"item": item} for item in ("hat", "tie", "bag")]})
    for k in range(10):
        recommend(server, "shop", k, {"unit": f"visitor {k % 3}"})
    clicks = [event("click", f"shop-{k}", position="hero") for k in range(5)]
    call(server, "POST", "/events", {"events": [*clicks, event("discard", "shop-7")]})
    call(server, "PUT", "/pages/shop/state", {"displays": 25, "counts": [CELL]})
    for k in range(10, 14):
        recommend(server, "shop", k, {})
    late = [event("click", f"shop-{k}", position="left") for k in (1, 8, 10)]
    call(server, "POST", "/events", {"events": [*late, event("discard", "shop-2")]})


def recommend(server: Process, page: str, k: int, fields: dict[str, Any]) -> None:
    call(server, "POST", f"/pages/{page}/recommendations", {"id": f"{page}-{k}", **fields})


def event(type: str, display: str, **fields: Any) -> dict[str, Any]:
    return {"type": type, "display": display, **fields}


def write(name: str, drive: Callable[[Process], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store.db"
        with process(store) as server:
            drive(server)
            assert server.stop() == 0
        with contextlib.closing(sqlite3.connect(store)) as connection:
            numbers = {
                key: connection.execute(f"PRAGMA {key}").fetchone()[0] for key in ("application_id", "user_version")
            }
            lines = [*(f"PRAGMA {key} = {number};" for key, number in numbers.items()), *connection.iterdump(), ""]
    (WRITTEN_BY / f"version_{len(MIGRATIONS)}{name}.sql").write_text("\n".join(lines))


if __name__ == "__main__":
    write("", two_pages)
    write("_late_import", late_import)
