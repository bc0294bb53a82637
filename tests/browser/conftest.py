"""Chromium, for tests that click. Tests with the marker `browser` run with `make test-browser`, the others also with
`make test`. Without Chromium they are skipped.

Playwright runs an event loop in the thread of the tests, so no test of this folder may call `asyncio.run`.
"""

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.tracked_shop import TrackedShop, running_shop
from tests.waiting import HANG

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
OPTIONS += ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"]  # no other host

OMITTED = ["--disable-back-forward-cache"]  # visitors use this cache


def find_chromium() -> str:
    """The path of the browser; without one, the test is skipped."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("Chromium is not installed, so nothing is clicked in a real browser: install the package chromium")
    return path


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A headless Chromium, which all tests of this folder share."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS, ignore_default_args=OMITTED)
        yield browser
        browser.close()


@pytest.fixture
def messages() -> list[str]:
    """What the browser has written to its console, and uncaught exceptions. A test that expects some removes them."""
    return []


@pytest.fixture
def context(browser: Browser, messages: list[str]) -> Iterator[BrowserContext]:
    """A browser without cookies or history. The test fails if its pages leave messages on the console."""
    context = browser.new_context()
    context.set_default_timeout(1e3 * HANG)
    context.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))
    context.on("weberror", lambda raised: messages.append(f"exception: {raised.error}"))
    yield context
    context.close()
    assert messages == []


@pytest.fixture
def tab(context: BrowserContext) -> Page:
    """An open tab."""
    return context.new_page()


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrackedShop]:
    """A website whose pages use tracker.js, and its service. Tests publish pages and request displays of their own."""
    with running_shop(tmp_path_factory.mktemp("shop")) as running:
        yield running
