"""Chromium, for tests that click. Tests with the marker `browser` run with `make test-browser`, the others also with
`make test`. Without Chromium they are skipped.

Playwright runs an event loop in the thread of the tests, so no test of this folder may call `asyncio.run`.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.tracked_shop import TrackedShop, running_shop
from tests.chromium import running_browser
from tests.waiting import HANG


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium, which all tests of this folder share."""
    with running_browser() as browser:
        yield browser


@pytest.fixture
def messages() -> list[str]:
    """What the browser has written to its console, and uncaught exceptions. A test that expects some removes them."""
    return []


@pytest.fixture
def context(browser: Browser, messages: list[str]) -> Iterator[BrowserContext]:
    """A browser without cookies or history. Its pages must leave nothing on the console, and ask no other host."""
    context = browser.new_context()
    hosts: set[str | None] = set()
    context.on("request", lambda request: hosts.add(urlsplit(request.url).hostname))
    context.set_default_timeout(1e3 * HANG)
    context.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))
    context.on("weberror", lambda raised: messages.append(f"exception: {raised.error}"))
    yield context
    context.close()
    assert messages == []
    assert hosts <= {None, "127.0.0.1", "localhost"}  # an address that begins with `data:` has no host


@pytest.fixture
def tab(context: BrowserContext) -> Page:
    """An open tab."""
    return context.new_page()


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackedShop]:
    """A website whose pages use tracker.js, and its service. Tests publish pages and request displays of their own."""
    with running_shop(tmp_path_factory.mktemp("shop")) as running:
        yield running
