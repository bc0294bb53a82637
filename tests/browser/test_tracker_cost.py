"""What tracker.js costs a page: bytes, and milliseconds of its main thread."""

import gzip
from statistics import median

import httpx
from playwright.sync_api import BrowserContext

from slotwise.service.web.tracker_script import TRACKER
from tests.browser.tracked_shop import TrackedShop

MOST_BYTES, MOST_MILLISECONDS, ELEMENTS = 3_000, 5.0, 1_000


def test_the_script_is_served_compressed_and_may_be_cached(shop: TrackedShop) -> None:
    address = f"{shop.service.address}/tracker.js"
    with httpx.stream("GET", address, headers={"accept-encoding": "gzip", "origin": shop.site.origin}) as served:
        sent = b"".join(served.iter_raw())
    assert served.headers["content-encoding"] == "gzip"
    assert served.headers["content-type"] == "text/javascript; charset=utf-8"
    assert served.headers.get_list("cache-control") == ["public, max-age=3600"]
    assert served.headers["vary"] == "Accept-Encoding, Origin"
    assert gzip.decompress(sent) == TRACKER.read_bytes()
    assert len(sent) < MOST_BYTES
    plain = httpx.get(address, headers={"accept-encoding": "identity"})
    assert plain.content == TRACKER.read_bytes()


def test_the_script_is_the_file_for_every_kind_of_page() -> None:
    """Older browsers get a syntax error from newer syntax, so the file must not use more than it says."""
    source = TRACKER.read_text()
    assert "?." not in source
    assert "import " not in source


def script_milliseconds(context: BrowserContext, address: str) -> float:
    """The processor time that the main thread of a page spends in scripts until the views are sent."""
    tab = context.new_page()
    session = context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(address)
    tab.wait_for_timeout(2_500)  # a view and the pause before it is sent
    measured = {row["name"]: row["value"] for row in session.send("Performance.getMetrics")["metrics"]}
    tab.close()
    return float(1e3 * measured["ScriptDuration"])


def test_many_elements_cost_milliseconds(shop: TrackedShop, context: BrowserContext) -> None:
    """Twenty displays of fifty elements, and the same page without them; both load the script.

    `benchmarks.tracker` measures all that the script costs, on a quiet machine.
    """
    link = '<a data-slotwise-position="p{}" style="width: 200px; height: 200px">item</a>'
    links = "".join(link.format(number) for number in range(50))
    display = f'<div data-slotwise-token="a.b" style="display: flex; flex-wrap: wrap">{links}</div>'
    html = shop.script() + ELEMENTS // 50 * display
    tracked, untracked = shop.site.publish(html), shop.site.publish(html.replace("data-slotwise-", "data-"))
    tries = [(script_milliseconds(context, tracked), script_milliseconds(context, untracked)) for _ in range(3)]
    cost = median([row[0] for row in tries]) - median([row[1] for row in tries])
    print(f"{cost:.1f} ms; with and without elements: {tries}")
    assert 0.0 < cost < MOST_MILLISECONDS
