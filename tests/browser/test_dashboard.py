"""The dashboard in Chromium: what a merchandiser sees and does. Every test also fails on any console message."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from slotwise.service.keys.sessions import LOOPBACK_COOKIE
from tests.browser.watched_service import GOODS, WatchedService, watched_service
from tests.waiting import HANG

expect.set_options(timeout=1e3 * HANG)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory, browser: object) -> Iterator[WatchedService]:
    with watched_service(tmp_path_factory.mktemp("watched")) as running:
        running.page("shop", holdout=0.2)
        running.visits("shop", 60)
        running.page("bound-page")
        yield running


def submit(tab: Page, dialog: str) -> None:
    tab.click(f"#dialog-{dialog} .button-primary")
    expect(tab.locator(f"#dialog-{dialog}")).to_be_hidden()


def test_sign_in_look_and_sign_out(
    watched: WatchedService, tab: Page, context: BrowserContext, messages: list[str]
) -> None:
    tab.goto(f"{watched.service.address}/dashboard/pages/shop")
    tab.fill("#key", "sw_wrong")
    tab.click("main button")
    expect(tab.locator("[role=alert]")).to_be_visible()
    assert all("401" in message for message in messages)  # Chromium reports the status of a page
    messages.clear()
    watched.open(tab, "/dashboard/pages/shop", "read")
    (cookie,) = context.cookies()
    assert (cookie["name"], cookie["httpOnly"], cookie["sameSite"]) == (LOOPBACK_COOKIE, True, "Strict")
    expect(tab.locator("h1")).to_have_text("shop")
    expect(tab.locator("#grid > li")).to_have_count(4)
    expect(tab.locator("[data-dialog]")).to_have_count(0)  # this key may only look
    tab.click("text=Sign out")
    expect(tab.locator("#key")).to_be_visible()
    assert context.cookies() == []


def test_pin_and_undo_and_live_changes_of_others(watched: WatchedService, tab: Page, messages: list[str]) -> None:
    watched.open(tab, "/dashboard/pages/shop")
    expect(tab.locator("#live")).to_have_attribute("data-state", "live")
    place = tab.locator("#place-default-top-left")
    place.locator("button").click()
    tab.fill("#pin-item", GOODS[3])
    submit(tab, "pin")
    expect(place).to_contain_text(GOODS[3])
    assert watched.pins("shop") == {"default": {"top-left": GOODS[3]}}
    tab.click("#toasts >> text=Undo")
    expect(place.locator("button")).to_contain_text("Pin …")
    assert watched.pins("shop") == {}
    watched.call("PUT", "/v1/pages/shop/pins/default/top-right", {"item": GOODS[4]})  # another program
    expect(tab.locator("#place-default-top-right")).to_contain_text("Pinned here")
    expect(tab.locator("#changes li").first).to_contain_text(GOODS[4])
    watched.call("DELETE", "/v1/pages/shop/pins/default/top-right")


def test_two_people_who_act_at_once(watched: WatchedService, tab: Page, messages: list[str]) -> None:
    """The second one sees what the first one did, and can try again."""
    watched.open(tab, "/dashboard/pages/shop")
    messages.clear()
    tab.click("[data-dialog=settings]")
    tab.check("#dialog-settings [value=off]")
    watched.call("PATCH", "/v1/pages/shop", {"holdout": 0.1})
    tab.click("#dialog-settings .button-primary")
    expect(tab.locator("#dialog-conflict")).to_be_visible()
    expect(tab.locator("#conflict-changes")).to_contain_text("share without learning")
    assert watched.call("GET", "/v1/pages/shop")["mode"] == "learn"
    assert [message for message in messages if "412" not in message] == []
    messages.clear()
    tab.click("#conflict-again")
    tab.check("#dialog-settings [value=off]")
    submit(tab, "settings")
    expect(tab.locator("#toasts")).to_contain_text("saved")
    changed = watched.call("GET", "/v1/pages/shop")
    assert (changed["mode"], changed["holdout"]) == ("off", 0.1)  # what the other person set stays
    tab.click("#changes li:first-child [data-undo]")
    expect(tab.locator("#toasts")).to_contain_text("Undone")
    assert watched.call("GET", "/v1/pages/shop")["mode"] == "learn"


def test_a_revoked_key_ends_the_session_of_an_open_page(
    watched: WatchedService, tab: Page, messages: list[str]
) -> None:
    id = watched.create_key("brief", scopes=["read"])
    watched.open(tab, "/dashboard", "brief")
    expect(tab.locator("#live")).to_have_attribute("data-state", "live")
    watched.call("DELETE", f"/v1/keys/{id}")
    expect(tab.locator("#key")).to_be_visible()
    messages.clear()


def test_a_key_that_is_bound_to_pages_sees_only_these(watched: WatchedService, tab: Page, messages: list[str]) -> None:
    watched.open(tab, "/dashboard", "bound")
    expect(tab.locator("#pages tbody tr")).to_have_count(1)
    expect(tab.locator("#health")).to_have_count(0)
    tab.goto(f"{watched.service.address}/dashboard/pages/shop")
    expect(tab.locator("h1")).to_have_text("Not allowed")
    messages.clear()
