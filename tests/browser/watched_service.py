"""A service that requires keys, with pages for the dashboard, and a browser tab that has signed in."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from slotwise.service.maintenance.verify import verify
from tests.command_line import COMMAND
from tests.service.running_service import Process, process

GRID = ["top-left", "top-right", "bottom-left", "bottom-right"]
GOODS = ["silk scarf", "straw hat", "canvas bag", "bow tie", "rain coat", "wool socks"]
# names of items have no slash, so there is no closing tag
HOSTILE = [
    "<script>alert(1)<script>",
    '"><img src=x onerror=alert(1)>',
    "\u0642\u0628\u0639\u0629 \u0645\u0646 \u0642\u0634",
]
HOSTILE += ["long " * 25 + "end", "w" * 128]


class WatchedService:
    """The service, its keys, and ways to change it as another program would."""

    def __init__(self, service: Process, keys: dict[str, str]) -> None:
        self.service, self.keys = service, keys

    def create_key(self, name: str, **spec: Any) -> str:
        """A new key. Returns its id."""
        created = self.call("POST", "/v1/keys", {"name": name, **spec})
        self.keys[name] = created["key"]
        return str(created["id"])

    def call(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = self.service.http.request(method, path, json=body, **options)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def page(self, name: str, items: list[str] | None = None, positions: list[str] | None = None, **spec: Any) -> str:
        """Define a page."""
        self.call("PUT", f"/v1/pages/{name}", {"positions": GRID if positions is None else positions, **spec})
        rows = [{"item": item} for item in (GOODS if items is None else items)]
        for first in range(0, len(rows), 1000):
            self.call("POST", f"/v1/pages/{name}/items:batch", {"items": rows[first : first + 1000]})
        return name

    def visits(self, name: str, number: int, liked: str = GOODS[0]) -> None:
        """Visitors who click one item, wherever it is."""
        events = []
        for _ in range(number):
            display = self.call("POST", f"/v1/pages/{name}/recommendations", {})
            for placed in display["items"]:
                if placed["item"] == liked:
                    events.append({"type": "click", "display": display["id"], "position": placed["position"]})
        for first in range(0, len(events), 500):
            self.call("POST", "/v1/events", {"events": events[first : first + 500]})

    def pins(self, name: str) -> Any:
        return self.call("GET", f"/v1/pages/{name}")["pins"]

    def item(self, name: str, item: str) -> Any:
        return self.call("GET", f"/v1/pages/{name}/items/{item}")

    def open(self, tab: Page, path: str, key: str = "admin") -> Page:
        """Open a page of the dashboard, signed in."""
        tab.goto(f"{self.service.address}{path}")
        if tab.locator("#key").count():
            tab.fill("#key", self.keys[key])
            tab.click("main button")
        tab.wait_for_selector("#live-content")
        return tab


@contextmanager
def watched_service(folder: Path) -> Iterator[WatchedService]:
    """A service without pages. At the end, its counts must be what its log says."""
    store = f"sqlite:///{folder / 'store.db'}"
    command = [*COMMAND, "keys", "create", "--store", store, "--name", "admin", "--scope", "admin", "--json"]
    admin = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["key"]
    with process(folder / "store.db", dev=False) as service:
        service.http.headers["authorization"] = f"Bearer {admin}"
        watched = WatchedService(service, {"admin": admin})
        for scope in ("read", "serve"):
            watched.create_key(scope, scopes=[scope])
        watched.create_key("bound", scopes=["admin"], pages=["bound-page"])
        yield watched
        service.stop()
    assert verify(folder / "store.db").differences == []
