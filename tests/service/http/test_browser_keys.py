"""A web page of another origin calls the service with a browser key, in a real browser."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from slotwise.client.keys import StoreKeys
from tests.chromium import find_chromium, running_browser
from tests.service.running_service import ITEMS, POSITIONS, Process, process
from tests.waiting import wait_until


class EmptyPage(BaseHTTPRequestHandler):
    """A web page without content. The test runs its scripts."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>shop</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[int]:
    """The port of a website. It has two origins: localhost and 127.0.0.1."""
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyPage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def fetch(tab: Page, url: str, key: str) -> dict[str, Any]:
    """The status and the body of a POST by the web page, or the error that its script gets."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    return dict(
        tab.evaluate(
            "([url, options]) => fetch(url, options)"
            ".then(async (reply) => ({status: reply.status, body: await reply.json()}))"
            ".catch((error) => ({error: String(error)}))",
            [url, {"method": "POST", "headers": headers, "body": "{}"}],
        )
    )


def accepted_clicks(server: Process) -> bool:
    return 'slotwise_events_total{page="shop",status="accepted"} 1.0' in server.http.get("/metrics").text


@pytest.mark.soak  # the header tests are in test_key_access.py; the browser takes long to start
def test_a_web_page_shows_a_display_and_reports_a_click(tmp_path: Path, site: int) -> None:
    find_chromium()
    keys, origin = StoreKeys(tmp_path / "store.db"), f"http://localhost:{site}"
    admin = keys.create({"name": "admin", "scopes": ["admin"]})["key"]
    key = keys.create({"name": "web", "scopes": ["browser"], "pages": ["shop"], "origins": [origin]})["key"]
    with process(tmp_path / "store.db", dev=False) as server, running_browser() as browser:
        tab = browser.new_page()
        server.http.headers["authorization"] = f"Bearer {admin}"
        server.http.put("/v1/pages/shop", json={"positions": POSITIONS}).raise_for_status()
        rows = [{"item": item} for item in ITEMS]
        server.http.post("/v1/pages/shop/items:batch", json={"items": rows}).raise_for_status()
        recommendations = f"{server.address}/v1/pages/shop/recommendations"
        tab.goto(origin)
        display = fetch(tab, recommendations, key)
        assert display["status"] == 201
        click = {"type": "click", "token": display["body"]["token"], "position": "hero"}
        beacon = json.dumps(json.dumps({"events": [click]}))
        assert tab.evaluate(f"navigator.sendBeacon('{server.address}/v1/events', {beacon})")
        wait_until(lambda: accepted_clicks(server), pause=0.2)
        other_page = fetch(tab, f"{server.address}/v1/pages/other/recommendations", key)
        assert (other_page["status"], "'other'" in other_page["body"]["detail"]) == (403, True)
        tab.goto(f"http://127.0.0.1:{site}")
        assert "error" in fetch(tab, recommendations, key)  # the browser hides the answer from this origin
