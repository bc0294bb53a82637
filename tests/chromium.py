"""The Chromium of the system, driven by Playwright: the one way in which tests use a browser.

Playwright runs an event loop in the thread of the tests until the browser is closed, so `asyncio.run` fails meanwhile.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]
OPTIONS += ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost"]  # no other host
OMITTED = ["--disable-back-forward-cache"]  # visitors use this cache


def find_chromium() -> str:
    """The path of the browser; without one, the test is skipped."""
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("Chromium is not installed, so nothing is tested in a real browser: install the package chromium")
    return path


@contextmanager
def running_browser() -> Iterator[Browser]:
    """A headless Chromium that ends with the block."""
    path = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=OPTIONS, ignore_default_args=OMITTED)
        yield browser
        browser.close()
