"""The JavaScript client in a real browser, on a web page of another origin, with a browser key and a real service."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Request

from slotwise.client.keys import StoreKeys
from slotwise.service.maintenance.verify import verify
from tests.chromium import find_chromium, running_browser
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import wait_until

SOURCES = Path(__file__).parent.parent.parent / "clients" / "js" / "src"
PRESET = {"positions": POSITIONS, "items": ITEMS}


class Sources(SimpleHTTPRequestHandler):
    """The files of the client, and no lines in the output."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    """The address of a website that has the files of the client."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Sources, directory=str(SOURCES))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def run(tab: Page, script: str) -> Any:
    """The result of an async script of the page."""
    return tab.evaluate(f"async () => {{ {script} }}")


def recommend(tab: Page, **fields: Any) -> Any:
    asked = json.dumps({"default": PRESET, "timeoutMs": 3000} | fields)
    return run(tab, f"return window.shown = await window.client.recommend('shop', {asked});")


def items_of(display: Any) -> dict[str, str]:
    return {row["position"]: row["item"] for row in display["items"]}


def outcomes(tab: Page) -> dict[str, int]:
    return dict(run(tab, "await window.client.flush(20000); return window.client.outcomes;"))


@pytest.mark.soak  # scripted answers are in client.test.mjs; the browser takes long to start
def test_a_web_page_survives_an_outage(tmp_path: Path, origin: str) -> None:
    """It shows a display, the last good one, and a new one. A click during the outage counts once."""
    find_chromium()
    store, keys = tmp_path / "store.db", StoreKeys(tmp_path / "store.db")
    admin = keys.create({"name": "admin", "scopes": ["admin"]})["key"]
    key = keys.create({"name": "web", "scopes": ["browser"], "pages": ["shop"], "origins": [origin]})["key"]
    with running_browser() as browser:
        tab, keyed = browser.new_page(), list[Request]()
        tab.on("request", lambda request: keyed.append(request) if request.url.endswith("/v1/events") else None)
        with process(store, dev=False) as server:
            server.http.headers["authorization"] = f"Bearer {admin}"
            server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
            rows = [{"item": item} for item in ITEMS]
            server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
            tab.goto(f"{origin}/index.js")
            arguments = f"{server.address!r}, {{ key: {key!r}, longestBackoffMs: 500, breakerMs: 500 }}"
            loaded = f"const {{ Client }} = await import('{origin}/index.js'); window.client = new Client({arguments});"
            assert run(tab, loaded) is None
            preview = recommend(tab, preview=True)
            assert (preview["source"], preview["token"]) == ("service", "")
            first = recommend(tab, unit="visitor 7")
            assert (first["source"], len(first["items"])) == ("service", 3)
            run(tab, "window.client.click(window.shown, 'hero'); window.client.view(window.shown);")
            assert outcomes(tab) == {"accepted": 2}
            assert keyed
            assert not any("authorization" in request.headers for request in keyed)
            server.kill()
        during = recommend(tab)
        assert (during["source"], items_of(during)) == ("last_good", items_of(first))
        token = json.dumps(first["token"])
        assert run(tab, f"window.client.click({token}, 'left'); return window.client.queued;") == 1
        restarted = Process(store, "--port", server.address.rpartition(":")[2], dev=False)
        try:
            restarted.wait_until_ready()
            wait_until(lambda: recommend(tab)["source"] == "service", pause=0.3)
            assert outcomes(tab) == {"accepted": 3}
            assert restarted.stop() == 0
        finally:
            if restarted.process.poll() is None:
                restarted.kill()
    assert verify(store).differences == []
