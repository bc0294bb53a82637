"""examples/static_page.html: a page that needs nothing but tracker.js and a browser key, on a website of its own."""

from pathlib import Path

from playwright.sync_api import Page

from tests.browser.tracked_shop import STRICT_POLICY, TrackedShop
from tests.service.running_service import ITEMS, POSITIONS
from tests.waiting import wait_until

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "static_page.html"


def test_a_static_page_shows_a_display_and_reports_a_click(shop: TrackedShop, tab: Page) -> None:
    html = EXAMPLE.read_text().replace("http://127.0.0.1:8000", shop.service.address)
    policy = STRICT_POLICY.format(service=shop.service.address)
    tab.goto(shop.site.publish(html.replace("BROWSER_KEY", shop.key), {"content-security-policy": policy}))
    tab.wait_for_selector("[data-slotwise-token]")
    token = tab.get_attribute("main", "data-slotwise-token")
    shown = {place: tab.inner_text(f"[data-slotwise-position={place}] a") for place in POSITIONS}
    assert tab.locator("[hidden] a").count() == len(ITEMS) - len(POSITIONS)
    tab.click("[data-slotwise-position=left] a")
    tab.wait_for_url("**/items/*")
    assert tab.url.endswith(f"/items/{shown['left']}")
    wait_until(lambda: shop.clicked(token) == ["left"])
    assert shop.items(token) == shown


def test_without_an_answer_a_static_page_keeps_its_own_order(shop: TrackedShop, tab: Page, messages: list[str]) -> None:
    html = EXAMPLE.read_text().replace("http://127.0.0.1:8000", shop.service.address)
    tab.goto(shop.site.publish(html.replace("BROWSER_KEY", "sw_wrong")))
    tab.wait_for_function("performance.getEntriesByType('resource').some((entry) => entry.name.includes('/v1/pages/'))")
    assert tab.locator("[data-slotwise-position] a").all_inner_texts() == ITEMS[:3]
    assert tab.locator("[data-slotwise-token]").count() == 0
    messages.clear()  # the browser itself reports the status 401
