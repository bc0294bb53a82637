"""The demo shop in Chromium, as `slotwise demo` serves it."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page

from slotwise.service.web.demo.shop import POSITIONS
from tests.browser.accessibility import serious_problems
from tests.command_line import COMMAND
from tests.waiting import wait_until


@contextmanager
def running_demo(*options: str) -> Iterator[str]:
    """The address of a demo that runs until the end of the block."""
    command = [*COMMAND, "demo", "--headless", "--rounds", "10000000", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        address = re.findall(r"(http://\S+)/demo", line)
        assert address, line
        yield address[0]
    finally:
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def demo() -> Iterator[str]:
    with running_demo("--rate", "100") as address:
        yield address


@pytest.fixture
def shop_page(demo: str, tab: Page) -> Page:
    """The page of the shop, after the first report."""
    tab.goto(f"{demo}/demo")
    wait_for(tab, "document.getElementById('whose').textContent.startsWith('Visitor')")
    return tab


def wait_for(tab: Page, condition: str) -> None:
    """Wait until an expression is true. Playwright's own way needs `eval`, which the policy of the page forbids."""
    wait_until(lambda: bool(tab.evaluate(condition)), pause=0.1)


def visits(tab: Page) -> int:
    return int(re.sub(r"\D", "", tab.inner_text("#visits")))


def set_speed(tab: Page, step: int) -> None:
    tab.fill("#speed", str(step))


def test_it_shows_visitors_and_lets_a_person_click(demo: str, shop_page: Page) -> None:
    """One walk through the page, because `make test` runs it."""
    before = visits(shop_page)
    wait_for(shop_page, f"Number(document.getElementById('visits').textContent.replace(/\\D/g, '')) > {before}")
    assert shop_page.locator(".cell img:visible").count() == len(POSITIONS)
    shop_page.click("#visit")
    shop_page.wait_for_selector("#grid[data-slotwise-token] .cell:enabled")
    token = shop_page.get_attribute("#grid", "data-slotwise-token")
    shop_page.click("[data-slotwise-position=bottom-left]")
    assert "slotwise learns" in shop_page.inner_text("#said")
    shop_page.wait_for_selector(f"#grid[data-slotwise-token]:not([data-slotwise-token='{token}'])")  # the next page
    wait_until(lambda: clicked(demo, str(token)) == ["bottom-left"], pause=0.2)


def clicked(demo: str, token: str) -> list[str]:
    lines = httpx.get(f"{demo}/v1/pages/shop/log", timeout=60).text.splitlines()
    display = token.partition(".")[0]
    found = [line for line in lines if f'"display":"{display}"' in line and '"clicked":1' in line]
    return re.findall(r'"position":"([\w-]+)"', "".join(found))


@pytest.mark.browser
def test_the_heat_map_says_which_position_is_seen_most(shop_page: Page) -> None:
    seen = "[data-slotwise-position={}] .heat strong"
    wait_for(shop_page, "[...document.querySelectorAll('.heat strong')].every((one) => /\\d/.test(one.textContent))")
    shares = {where: int(re.sub(r"\D", "", shop_page.inner_text(seen.format(where)))) for where in POSITIONS}
    shop_page.uncheck("#show-heat")
    assert shop_page.locator(".heat:visible").count() == 0
    assert all(0 <= share <= 100 for share in shares.values())


@pytest.mark.browser
def test_the_speed_and_a_pause(shop_page: Page) -> None:
    set_speed(shop_page, 0)
    shop_page.wait_for_timeout(1_500)
    before = visits(shop_page)
    shop_page.wait_for_timeout(1_500)
    assert visits(shop_page) == before
    assert shop_page.inner_text("#speed-text") == "paused"
    set_speed(shop_page, 4)
    wait_for(shop_page, f"Number(document.getElementById('visits').textContent.replace(/\\D/g, '')) > {before}")


@pytest.mark.browser
def test_another_taste_is_marked_in_the_chart(shop_page: Page) -> None:
    before = shop_page.locator("#chart .change").count()
    shop_page.click("#taste")
    wait_for(shop_page, f"document.querySelectorAll('#chart .change').length === {before + 1}")


@pytest.mark.browser
def test_the_keyboard_is_enough(shop_page: Page) -> None:
    shop_page.focus("#visit")
    shop_page.keyboard.press("Enter")
    shop_page.wait_for_selector(".cell:enabled")
    shop_page.keyboard.press("Tab")
    assert shop_page.evaluate("document.activeElement.dataset.slotwisePosition") == POSITIONS[0]
    shop_page.keyboard.press("Enter")
    wait_for(shop_page, "document.getElementById('said').textContent !== ''")
    wait_for(shop_page, f"document.activeElement.dataset.slotwisePosition === '{POSITIONS[0]}'")  # as before


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_accessible(scheme: Any, shop_page: Page) -> None:
    shop_page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    assert serious_problems(shop_page) == []
    shop_page.click("#visit")
    shop_page.wait_for_selector("#grid[data-slotwise-token] .cell:enabled")
    assert serious_problems(shop_page) == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 768, 1920])
def test_nothing_is_wider_than_the_screen(width: int, shop_page: Page) -> None:
    shop_page.set_viewport_size({"width": width, "height": 800})
    assert shop_page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.browser
def test_a_lost_connection_is_shown(browser: Browser) -> None:
    context = browser.new_context()
    tab = context.new_page()
    with running_demo("--rate", "20") as address:
        tab.goto(f"{address}/demo")
        wait_for(tab, "document.getElementById('whose').textContent.startsWith('Visitor')")
        assert not tab.is_visible("#lost")
    tab.wait_for_selector("#lost", state="visible")
    context.close()
