"""/docs in Chromium: calls are tried from the page."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.accessibility import serious_problems
from tests.browser.tracked_shop import TrackedShop
from tests.service.running_service import Process, process

pytestmark = pytest.mark.browser
STORY = {"put_page": 201, "put_items": 200, "recommend": 201, "send_events": 200, "get_insights": 200}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with process(tmp_path_factory.mktemp("docs") / "store.db") as running:
        yield running


def send(tab: Page, call: str) -> int:
    """Send a call with its example, and return the status."""
    if not tab.evaluate("(id) => document.getElementById(id).open", call):
        tab.click(f"#{call} > summary")
    tab.click(f"#{call} .button-primary")
    return int(tab.inner_text(f"#{call} .answer .badge"))


def test_the_examples_are_answered(service: Process, tab: Page) -> None:
    tab.goto(f"{service.address}/docs")
    assert {call: send(tab, call) for call in STORY} == STORY
    assert '"accepted"' in tab.inner_text("#send_events .answer pre")


def test_a_call_is_found_and_sent_with_the_keyboard(service: Process, tab: Page) -> None:
    tab.goto(f"{service.address}/docs")
    tab.fill("#search", "readiness")
    assert tab.locator(".call:visible").count() == 1
    tab.focus("#readyz > summary")
    tab.keyboard.press("Enter")
    for _ in range(4):
        tab.keyboard.press("Tab")
        if tab.evaluate("document.activeElement.matches('#readyz .button-primary')"):
            break
    tab.keyboard.press("Enter")
    assert tab.inner_text("#readyz .answer .badge") == "200"


def test_with_keys_a_call_needs_the_key(shop: TrackedShop, tab: Page, messages: list[str]) -> None:
    spec = {"name": "docs", "scopes": ["read"]}
    key = shop.service.http.post("/v1/keys", json=spec).raise_for_status().json()["key"]
    tab.goto(f"{shop.service.address}/docs")
    assert send(tab, "list_pages") == 401
    messages.clear()  # the browser itself reports the status 401
    tab.fill("#key", key)
    tab.click("#list_pages .button-primary")
    tab.wait_for_selector("#list_pages .answer .badge-good")
    assert '"shop"' in tab.inner_text("#list_pages .answer pre")


@pytest.mark.parametrize("width", [360, 1920])
def test_nothing_is_wider_than_the_screen(width: int, service: Process, tab: Page) -> None:
    tab.set_viewport_size({"width": width, "height": 800})
    tab.goto(f"{service.address}/docs")
    for call in ("put_page", "recommend", "get_insights"):
        tab.click(f"#{call} > summary")
    assert tab.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(scheme: Any, service: Process, tab: Page) -> None:
    tab.emulate_media(color_scheme=scheme)
    tab.goto(f"{service.address}/docs")
    for call in ("put_page", "recommend", "get_insights"):
        tab.click(f"#{call} > summary")
    assert serious_problems(tab) == []


def test_without_scripts_the_page_is_readable(service: Process, browser: Browser) -> None:
    tab = browser.new_page(java_script_enabled=False)
    tab.goto(f"{service.address}/docs")
    tab.click("#recommend > summary")
    assert "409" in tab.inner_text("#recommend")
    assert not tab.is_visible("#recommend .try")
    tab.close()
