"""The JavaScript client in a real browser, on a web page of another origin, with a browser key and a real service."""

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from slotwise.client.keys import StoreKeys
from slotwise.service.maintenance.verify import verify
from tests.chromium import Chromium, find_chromium
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


def run(browser: Chromium, script: str) -> Any:
    """The result of an async script of the page, as JSON."""
    browser.evaluate(
        f"window.answer = null; (async () => {{ {script} }})()"
        ".catch((error) => ({error: String(error)}))"
        ".then((answer) => { window.answer = JSON.stringify(answer ?? null); }); 0"
    )
    wait_until(lambda: browser.evaluate("window.answer") is not None, pause=0.1)
    return json.loads(browser.evaluate("window.answer"))


def recommend(browser: Chromium, **fields: Any) -> Any:
    asked = json.dumps({"default": PRESET, "timeoutMs": 3000} | fields)
    return run(browser, f"return window.shown = await window.client.recommend('shop', {asked});")


def items_of(display: Any) -> dict[str, str]:
    return {row["position"]: row["item"] for row in display["items"]}


def outcomes(browser: Chromium) -> dict[str, int]:
    return dict(run(browser, "await window.client.flush(20000); return window.client.outcomes;"))


@pytest.mark.soak  # scripted answers are in client.test.mjs; the browser takes long to start
def test_a_web_page_survives_an_outage(tmp_path: Path, origin: str) -> None:
    """It shows a display, the last good one, and a new one. A click during the outage counts once."""
    find_chromium()
    store, keys = tmp_path / "store.db", StoreKeys(tmp_path / "store.db")
    admin = keys.create({"name": "admin", "scopes": ["admin"]})["key"]
    key = keys.create({"name": "web", "scopes": ["browser"], "pages": ["shop"], "origins": [origin]})["key"]
    with Chromium(tmp_path / "profile") as browser:
        with process(store, dev=False) as server:
            server.http.headers["authorization"] = f"Bearer {admin}"
            server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
            rows = [{"item": item} for item in ITEMS]
            server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
            browser.open(f"{origin}/index.js")
            arguments = f"{server.address!r}, {{ key: {key!r}, longestBackoffMs: 500, breakerMs: 500 }}"
            loaded = f"const {{ Client }} = await import('{origin}/index.js'); window.client = new Client({arguments});"
            assert run(browser, loaded) is None
            preview = recommend(browser, preview=True)
            assert (preview["source"], preview["token"]) == ("service", "")
            first = recommend(browser, unit="visitor 7")
            assert (first["source"], len(first["items"])) == ("service", 3)
            run(browser, "window.client.click(window.shown, 'hero'); window.client.view(window.shown);")
            assert outcomes(browser) == {"accepted": 2}
            keyed = [request for request in browser.requests if request["url"].endswith("/v1/events")]
            assert keyed
            assert not any("authorization" in map(str.lower, request["headers"]) for request in keyed)
            server.kill()
        during = recommend(browser)
        assert (during["source"], items_of(during)) == ("last_good", items_of(first))
        token = json.dumps(first["token"])
        assert run(browser, f"window.client.click({token}, 'left'); return window.client.queued;") == 1
        restarted = Process(store, "--port", server.address.rpartition(":")[2], dev=False)
        try:
            restarted.wait_until_ready()
            wait_until(lambda: recommend(browser)["source"] == "service", pause=0.3)
            assert outcomes(browser) == {"accepted": 3}
            assert restarted.stop() == 0
        finally:
            if restarted.process.poll() is None:
                restarted.kill()
    assert verify(store).differences == []
