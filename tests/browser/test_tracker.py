"""tracker.js in Chromium: what it reports of a page of another origin, and that it never breaks a page."""

from collections.abc import Callable

import pytest
from playwright.sync_api import BrowserContext, Page, Request

from tests.browser.tracked_shop import STRICT_POLICY, TrackedShop
from tests.waiting import wait_until

pytestmark = pytest.mark.browser
# `seen` has the elements that the tracker has seen. Like the tracker, this watches a display first, and its elements
# once the display is in sight. Its observers are created later, so they are called later.
WATCH = """<script>addEventListener("DOMContentLoaded", () => setTimeout(() => {
  window.seen = [];
  const elements = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    seen = seen.filter((element) => element !== target).concat(isIntersecting ? target : []);
  }), { threshold: 0.5 });
  const displays = new IntersectionObserver((entries) => entries.forEach(({ target, isIntersecting }) => {
    if (!isIntersecting) return;
    displays.unobserve(target);
    target.querySelectorAll("[data-slotwise-position]").forEach((element) => elements.observe(element));
  }));
  document.querySelectorAll("[data-slotwise-token]").forEach((display) => displays.observe(display));
}))</script>"""


def stop_clock(tab: Page) -> None:
    """Give the pages of this tab a clock that only the test moves."""
    tab.clock.install(time=0)
    tab.clock.pause_at(1)


def open_display(shop: TrackedShop, tab: Page, style: str = "", **settings: str) -> str:
    """Open a page with one display, and return its token. Only the test moves its clock."""
    display = shop.display()
    stop_clock(tab)
    tab.goto(shop.site.publish(shop.script(**settings) + WATCH + shop.elements(display, style)))
    return str(display["token"])


def wait_until_seen(tab: Page, number: int = 3) -> None:
    tab.clock.run_for(1)  # WATCH begins after the tracker
    tab.wait_for_function(f"window.seen && seen.length === {number}")


def stay_on_page(tab: Page) -> None:
    tab.evaluate("addEventListener('click', (event) => event.preventDefault())")


def test_a_click_that_leaves_the_page_is_reported(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    tab.click("[data-slotwise-position=hero]")
    tab.wait_for_url("**/items/*")
    wait_until(lambda: shop.clicked(token) == ["hero"])


def test_a_middle_click_is_reported_and_a_right_click_is_not(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    tab.click("[data-slotwise-position=left]", button="right")
    tab.click("[data-slotwise-position=right]", button="middle")
    wait_until(lambda: shop.clicked(token) == ["right"])


def test_the_enter_key_counts_as_a_click(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    tab.focus("[data-slotwise-position=left]")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/items/*")
    wait_until(lambda: shop.clicked(token) == ["left"])


def test_a_double_click_is_reported_once(shop: TrackedShop, tab: Page) -> None:
    token, before = open_display(shop, tab), shop.events()
    stay_on_page(tab)
    tab.dblclick("[data-slotwise-position=hero]")
    tab.click("[data-slotwise-position=left]")
    wait_until(lambda: shop.clicked(token) == ["hero", "left"])
    assert shop.events() == before | {"accepted": before.get("accepted", 0.0) + 2.0}


def test_a_display_is_viewed_when_half_of_an_element_was_visible_for_a_second(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    wait_until_seen(tab)
    tab.clock.run_for(900)
    tab.evaluate("slotwise.flush()")
    assert not shop.counts(token)
    tab.clock.run_for(2_000)
    wait_until(lambda: shop.counts(token))
    assert shop.clicked(token) == []


def test_less_than_half_of_an_element_is_no_view(shop: TrackedShop, tab: Page) -> None:
    """Two displays below each other: of the first one, 40 % of each element is above the window, of the other 60 %."""
    seen, unseen = shop.display(), shop.display()
    boxes = "<style>div { display: flex; height: 100px } a { flex: 1; height: 100px } body { margin: 0 }</style>"
    html = shop.elements(unseen, "margin-top: -60px") + shop.elements(seen)
    stop_clock(tab)
    tab.goto(shop.site.publish(shop.script() + WATCH + boxes + html))
    wait_until_seen(tab)
    tab.clock.run_for(5_000)
    wait_until(lambda: shop.counts(seen["token"]))
    assert not shop.counts(unseen["token"])
    tab.evaluate("document.body.style.paddingTop = '20px'")  # now it is 60 %
    wait_until_seen(tab, 6)
    tab.clock.run_for(5_000)
    wait_until(lambda: shop.counts(unseen["token"]))


def test_an_element_that_leaves_the_window_within_a_second_is_not_viewed(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    wait_until_seen(tab)
    tab.clock.run_for(900)
    tab.evaluate("document.querySelector('div').style.marginTop = '9000px'")
    wait_until_seen(tab, 0)
    tab.clock.run_for(5_000)
    tab.evaluate("slotwise.flush()")
    tab.evaluate("document.querySelector('div').style.marginTop = '0'")
    wait_until_seen(tab)
    tab.clock.run_for(900)
    tab.evaluate("slotwise.flush()")
    assert not shop.counts(token)  # 900 ms and 900 ms are not a second
    tab.clock.run_for(2_000)
    wait_until(lambda: shop.counts(token))


def hide(tab: Page, hidden: bool) -> None:
    """Hide or show the page. Headless Chromium never hides a tab, so the page is made to believe it."""
    tab.evaluate(
        "(hidden) => { Object.defineProperty(document, 'hidden', { get: () => hidden, configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange')); }",
        hidden,
    )


def test_a_hidden_page_is_not_viewed(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    wait_until_seen(tab)
    tab.clock.run_for(900)
    hide(tab, True)
    tab.clock.run_for(60_000)
    hide(tab, False)
    tab.clock.run_for(900)
    tab.evaluate("slotwise.flush()")
    assert not shop.counts(token)
    tab.clock.run_for(2_000)
    wait_until(lambda: shop.counts(token))


def test_a_view_that_waits_is_sent_when_the_page_is_hidden(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    wait_until_seen(tab)
    tab.clock.run_for(1_100)
    assert not shop.counts(token)
    hide(tab, True)
    wait_until(lambda: shop.counts(token))


def test_a_view_that_waits_is_sent_when_the_page_is_left(shop: TrackedShop, tab: Page) -> None:
    token = open_display(shop, tab)
    wait_until_seen(tab)
    tab.clock.run_for(1_100)
    tab.goto(shop.site.publish("the next page"))
    wait_until(lambda: shop.counts(token))


def test_events_of_a_browser_that_is_offline_are_sent_later(
    shop: TrackedShop, context: BrowserContext, tab: Page
) -> None:
    token = open_display(shop, tab)
    stay_on_page(tab)
    context.set_offline(True)
    tab.click("[data-slotwise-position=hero]")
    tab.clock.run_for(60_000)
    assert shop.clicked(token) == []
    context.set_offline(False)
    wait_until(lambda: shop.clicked(token) == ["hero"])


REFUSING = {
    "refused": "navigator.sendBeacon = () => false",
    "blocked": "navigator.sendBeacon = () => { throw new Error('blocked') }",
    "missing": "delete Navigator.prototype.sendBeacon",
}


@pytest.mark.parametrize("change", REFUSING.values(), ids=REFUSING.keys())
def test_without_beacons_events_are_fetched(change: str, shop: TrackedShop, tab: Page) -> None:
    tab.add_init_script(change)
    token = open_display(shop, tab)
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    wait_until(lambda: shop.clicked(token) == ["hero"])


def test_an_event_that_cannot_be_sent_is_sent_once_more(shop: TrackedShop, tab: Page) -> None:
    tab.add_init_script(
        "navigator.sendBeacon = () => false; window.tries = 0; const real = fetch;"
        "window.fetch = (...given) => given[1].body.includes('click') && ++tries === 1"
        " ? Promise.reject(new Error('no network')) : real(...given)"
    )
    token = open_display(shop, tab)
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    tab.wait_for_function("tries === 1")
    tab.clock.run_for(6_000)
    wait_until(lambda: shop.clicked(token) == ["hero"])
    assert tab.evaluate("tries") == 2


def test_an_event_is_given_up_after_the_second_failure(shop: TrackedShop, tab: Page) -> None:
    tab.add_init_script(
        "navigator.sendBeacon = () => false; window.tries = 0;"
        "window.fetch = (_, { body }) => { tries += body.includes('click');"
        "return Promise.reject(new Error('no network')) }"
    )
    open_display(shop, tab)
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    for _ in range(5):
        tab.clock.run_for(6_000)
    assert tab.evaluate("tries") == 2


def test_several_displays_on_one_page_are_distinguished_by_their_tokens(shop: TrackedShop, tab: Page) -> None:
    first, second = shop.display(), shop.display()
    tab.goto(shop.site.publish(shop.script() + shop.elements(first) + shop.elements(second)))
    stay_on_page(tab)
    tab.locator("[data-slotwise-position=left]").nth(1).click()
    tab.locator("[data-slotwise-position=right]").nth(0).click()
    wait_until(lambda: shop.clicked(first["token"]) == ["right"] and shop.clicked(second["token"]) == ["left"])


def test_inserted_elements_are_tracked(shop: TrackedShop, tab: Page) -> None:
    """A single-page app: elements are inserted, and later get the token of another display."""
    first, second = shop.display(), shop.display()
    stop_clock(tab)
    tab.goto(shop.site.publish(shop.script() + "<main></main>"))
    tab.evaluate("(html) => document.querySelector('main').innerHTML = html", shop.elements(first))
    view_now(tab)
    wait_until(lambda: shop.counts(first["token"]))
    tab.evaluate("(token) => document.querySelector('main div').dataset.slotwiseToken = token", second["token"])
    view_now(tab)
    wait_until(lambda: shop.counts(second["token"]))


def view_now(tab: Page) -> None:
    """Wait until the observers of the page have been called, then let the time for a view pass."""
    tab.evaluate(
        "window.drawn = false; const later = (work) => new IntersectionObserver(work).observe(document.body);"
        "later(() => later(() => { drawn = true }))"
    )  # created after the observers of the script, which sees a display and then its elements
    tab.wait_for_function("drawn")
    tab.clock.run_for(3_000)


def test_a_page_from_the_back_forward_cache_reports_clicks(shop: TrackedShop, tab: Page) -> None:
    display = shop.display()
    tab.goto(shop.site.publish(shop.script() + shop.elements(display)))
    tab.evaluate("window.restored = false; addEventListener('pageshow', (event) => { restored = event.persisted })")
    tab.click("[data-slotwise-position=hero]")
    tab.wait_for_url("**/items/*")
    tab.go_back(wait_until="commit")
    tab.wait_for_selector("[data-slotwise-position]")
    tab.wait_for_function("document.readyState === 'complete'")
    if not tab.evaluate("window.restored"):
        pytest.skip("this Chromium does not keep pages in a back-forward cache")
    stay_on_page(tab)
    tab.click("[data-slotwise-position=left]")
    wait_until(lambda: shop.clicked(display["token"]) == ["hero", "left"])


def refuse_dnt(tab: Page) -> None:
    tab.add_init_script("Object.defineProperty(navigator, 'doNotTrack', { value: '1' })")


def refuse_gpc(tab: Page) -> None:
    tab.add_init_script("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")


@pytest.mark.parametrize(("refuse", "respect"), [(refuse_dnt, "dnt"), (refuse_gpc, "gpc"), (refuse_gpc, "dnt gpc")])
def test_a_visitor_who_refuses_is_not_tracked_if_the_site_says_so(
    refuse: Callable[[Page], None], respect: str, shop: TrackedShop, tab: Page, sent: list[Request]
) -> None:
    refuse(tab)
    open_display(shop, tab, respect=respect)
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    wait_until_seen(tab)
    tab.clock.run_for(5_000)
    assert tab.evaluate("slotwise.recommend('shop')") is None
    assert sent == []


def test_a_site_that_does_not_say_so_tracks(shop: TrackedShop, tab: Page) -> None:
    refuse_gpc(tab)
    token = open_display(shop, tab, respect="dnt")
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    wait_until(lambda: shop.clicked(token) == ["hero"])


def test_nothing_is_sent_or_kept_without_consent(shop: TrackedShop, tab: Page, sent: list[Request]) -> None:
    token = open_display(shop, tab, consent="required")
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    wait_until_seen(tab)
    tab.clock.run_for(5_000)
    tab.evaluate("slotwise.consent(true)")
    tab.clock.run_for(1)
    assert sent == []  # the click before is not sent later
    tab.click("[data-slotwise-position=left]")
    wait_until(lambda: shop.clicked(token) == ["left"])
    tab.evaluate("slotwise.consent(false)")
    tab.click("[data-slotwise-position=right]")
    tab.clock.run_for(5_000)
    assert (len(sent), shop.clicked(token)) == (1, ["left"])


@pytest.fixture
def sent(tab: Page) -> list[Request]:
    """The requests to the service, without those for the script."""
    requests: list[Request] = []
    tab.on("request", lambda request: requests.append(request) if "/v1/" in request.url else None)
    return requests


def test_a_strict_policy_that_names_the_service_is_enough(shop: TrackedShop, tab: Page) -> None:
    display = shop.display()
    policy = STRICT_POLICY.format(service=shop.service.address)
    tab.goto(shop.site.publish(shop.script() + shop.elements(display), {"content-security-policy": policy}))
    tab.click("[data-slotwise-position=hero]")
    wait_until(lambda: shop.clicked(display["token"]) == ["hero"])


def test_a_policy_that_forbids_the_events_breaks_nothing(shop: TrackedShop, tab: Page, messages: list[str]) -> None:
    display = shop.display()
    policy = f"default-src 'none'; img-src data:; script-src {shop.service.address}"
    tab.goto(shop.site.publish(shop.script() + shop.elements(display), {"content-security-policy": policy}))
    tab.click("[data-slotwise-position=hero]")
    tab.wait_for_url("**/items/*")
    assert not [message for message in messages if message.startswith("exception")]
    messages.clear()  # the browser itself reports what the policy forbids


HOSTILE = """
<div data-slotwise-token="">none</div> <a data-slotwise-position="hero">without a token</a>
<svg data-slotwise-token="forged" width="9" height="9"><rect data-slotwise-position="x" width="9" height="9"/></svg>
<div data-slotwise-token='"]{}<b>' data-slotwise-position='"]'>odd</div>
<main data-slotwise-page="other"><b data-slotwise-position='"]'><i data-slotwise-item='<img src=x>'>one</i></b></main>
"""


def test_odd_elements_raise_no_exception(shop: TrackedShop, tab: Page, messages: list[str]) -> None:
    stop_clock(tab)
    tab.goto(shop.site.publish(HOSTILE + shop.script(key="wrong")))
    for element in tab.locator("[data-slotwise-position]").all():
        element.click()
    tab.evaluate("document.dispatchEvent(new Event('click')); document.body.append('text'); document.body.remove()")
    tab.clock.run_for(5_000)
    assert tab.evaluate("slotwise.arrange(document.createElement('p'))") is None
    assert tab.evaluate("slotwise.arrange(null)") is None
    assert not [message for message in messages if message.startswith("exception")]
    messages.clear()  # the browser itself reports the wrong key and the forged tokens


def test_a_browser_without_observers_reports_clicks(shop: TrackedShop, tab: Page) -> None:
    tab.add_init_script("delete window.IntersectionObserver")
    display = shop.display()
    tab.goto(shop.site.publish(shop.script() + shop.elements(display)))
    tab.click("[data-slotwise-position=hero]")
    wait_until(lambda: shop.clicked(display["token"]) == ["hero"])


def test_a_page_that_loads_the_script_twice_reports_once(shop: TrackedShop, tab: Page) -> None:
    display, before = shop.display(), shop.events()
    stop_clock(tab)
    tab.goto(shop.site.publish(2 * shop.script() + shop.elements(display)))
    stay_on_page(tab)
    tab.click("[data-slotwise-position=hero]")
    tab.click("[data-slotwise-position=left]")
    wait_until(lambda: shop.clicked(display["token"]) == ["hero", "left"])
    assert shop.events() == before | {"accepted": before.get("accepted", 0.0) + 2.0}
