"""The routes of the demo shop, on a real service in the test's event loop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from slotwise.client.demo.shop_load import read_shop
from slotwise.service.http.access.access import DevAccess
from slotwise.service.http.app import all_routes, make_app
from slotwise.service.service import running
from slotwise.service.web.demo.reports import ShopReport, TrafficPoint
from slotwise.service.web.demo.shop import POSITIONS, PRODUCTS, DemoShop
from slotwise.service.web.static_files import static_files

REPORT = msgspec.to_builtins(ShopReport(200.0, TrafficPoint(9, 4, 2.5, 5), [], [], None))
ORIGIN = "http://localhost"


@asynccontextmanager
async def open_shop(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with running(folder / "store.db") as service:
        transport = httpx.ASGITransport(make_app(service, DevAccess(), DemoShop().routes))
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as http:
            yield http


def test_controls_reach_the_visitors_with_their_next_report(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_shop(tmp_path) as http:
            assert (await http.post("/demo/reports", json=REPORT)).json() == {"rate": None, "taste": 0}
            for change in ({"rate": 50.0}, {"change_taste": True}, {"change_taste": True}):
                assert (await http.post("/demo/controls", json=change)).status_code == 200
            assert (await http.post("/demo/reports", json=REPORT)).json() == {"rate": 50.0, "taste": 2}

    asyncio.run(scenario())


def test_only_the_page_itself_may_change_the_controls(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_shop(tmp_path) as http:
            for headers in ({"origin": "http://other.example"}, {"sec-fetch-site": "cross-site"}):
                for path, body in (("/demo/controls", {"rate": 0.0}), ("/demo/reports", REPORT)):
                    assert (await http.post(path, json=body, headers=headers)).status_code == 403
            for rate in (-1.0, 1e9, "fast"):
                assert (await http.post("/demo/controls", json={"rate": rate})).status_code == 422
            assert (
                await http.post("/demo/controls", json={"rate": 1.0}, headers={"origin": ORIGIN})
            ).status_code == 200

    asyncio.run(scenario())


def test_the_page_has_a_strict_policy_and_no_inline_script(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_shop(tmp_path) as http:
            page = await http.get("/demo")
            assert page.status_code == 200
            assert "script-src 'self'" in page.headers["content-security-policy"]
            assert "default-src 'none'" in page.headers["content-security-policy"]

    asyncio.run(scenario())


def test_the_shop_exists_only_in_the_demo() -> None:
    assert not [route for route in all_routes() if route.path.startswith("/demo")]


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.item)
def test_every_product_has_a_picture(product) -> None:
    assert static_files().contents[product.picture].startswith(b"<svg")


def test_the_page_shows_the_positions_and_items_of_the_sample() -> None:
    shop = read_shop()
    assert list(POSITIONS) == shop.spec.all_layouts()["default"]
    assert [product.item for product in PRODUCTS] == list(shop.items)
