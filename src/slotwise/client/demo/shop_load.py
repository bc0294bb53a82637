"""Define the shop on a service, and let its visitors come."""

from typing import Any

import msgspec

from slotwise.clickmodels.pbm import PBM
from slotwise.client import pages
from slotwise.client.apply import apply
from slotwise.client.demo.shop_link import ShopLink
from slotwise.client.demo.shop_traffic import ShopTraffic
from slotwise.client.demo.shop_visitors import ShopVisitors
from slotwise.client.http_client import HttpClient
from slotwise.client.load.fast_connection import FastConnection
from slotwise.client.load.generator import LoadGenerator, LoadPlan
from slotwise.client.page_file import PageFile, read_page
from slotwise.client.sample import SHOP
from slotwise.service.web.demo.reports import HALF_LIFE

HOLDOUT = 0.1  # of the visitors, so that the demo also shows what learning earns
CLICK_WINDOW = 600.0  # seconds: the log of a page with a half-life is kept for a few of them only


def read_shop() -> PageFile:
    """The page of the shop. Its clicks fade, so that it learns again when the taste of its visitors changes."""
    shop = read_page(SHOP)
    shop.spec = msgspec.structs.replace(
        shop.spec, holdout=HOLDOUT, half_life=HALF_LIFE, click_window=CLICK_WINDOW, retention=None
    )
    return shop


def open_shop(
    url: str, key: str | None, shop: PageFile, truth: PBM, seed: int, **schedule: Any
) -> tuple[LoadGenerator, ShopLink]:
    """Create the shop on a service. Returns a load generator for its visitors, and what links it to the shop's page."""
    with HttpClient(url, key) as client:
        apply(client, shop)
        outline = pages.outline(pages.fetch_existing_page(client, shop.page))
        visitors = ShopVisitors.of_page(truth, outline, seed)
        generator = LoadGenerator(client.address, visitors, LoadPlan(shop.page, **schedule), key)
        traffic = ShopTraffic(visitors)
        generator.on_visit = traffic.add
        return generator, ShopLink(generator, traffic, FastConnection(client.address, key))
