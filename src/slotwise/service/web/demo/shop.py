"""The routes of the demo shop: its page, live events, controls, and the reports about its visitors.

They exist only in the service that `slotwise demo` starts without keys, so access control of dev mode protects them:
requests come from this machine, and writes only from pages of this service.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, NamedTuple

import msgspec

from slotwise.service.api.route import OPERATIONS, SMALL, Call, Response, Route
from slotwise.service.pages.page_definition import plain_number
from slotwise.service.web.demo.reports import HALF_LIFE, REPORT_PATH, Controls, ControlsPatch, ShopReport
from slotwise.service.web.event_stream import EVENT_STREAM, stream, wait_for_first
from slotwise.service.web.html import html_response
from slotwise.service.web.static_files import static_address

POSITIONS = ("top-left", "top-middle", "top-right", "bottom-left", "bottom-middle", "bottom-right")
KEEP_ALIVE_SECONDS = 15.0
_encode = msgspec.json.Encoder().encode


class Product(NamedTuple):
    """What the page shows of an item. The picture is an SVG file of the project."""

    item: str
    price: str

    @property
    def picture(self) -> str:
        return f"demo/{self.item.replace(' ', '-')}.svg"


PRODUCTS = [
    Product("straw hat", "39"),
    Product("silk scarf", "45"),
    Product("leather belt", "52"),
    Product("wool socks", "14"),
    Product("canvas bag", "35"),
    Product("rain coat", "89"),
    Product("linen shirt", "59"),
    Product("sun glasses", "68"),
    Product("bow tie", "29"),
    Product("felt slippers", "34"),
    Product("denim jacket", "95"),
    Product("winter gloves", "27"),
]


class DemoShop:
    """The last report, and the controls. `routes` serve the page."""

    def __init__(self) -> None:
        self._controls, self._report, self._changed = Controls(), b"", asyncio.Event()

    async def get(self, _: Call[None]) -> Response:
        """The page."""
        products = {
            product.item: {"price": product.price, "picture": static_address(product.picture)} for product in PRODUCTS
        }
        half_life = plain_number(HALF_LIFE)
        return html_response(200, "demo/shop.html", products=products, positions=POSITIONS, half_life=half_life)

    async def take_report(self, call: Call[ShopReport]) -> Response:
        """Keep a report for the page, and answer with the controls."""
        self._report = _encode(call.body)
        self._changed.set()
        self._changed = asyncio.Event()
        return Response(200, self._controls)

    async def change_controls(self, call: Call[ControlsPatch]) -> Response:
        """Change the controls. The visitors follow at their next report."""
        if call.body.rate is not None:
            self._controls.rate = call.body.rate
        self._controls.taste += call.body.change_taste
        return Response(200, self._controls)

    async def get_events(self, call: Call[None]) -> Response:
        """Each report, as an event."""
        return stream(call.service, self._events(call))

    async def _events(self, call: Call[None]) -> AsyncGenerator[bytes, None]:
        stopping = call.service.stopping
        yield b"retry: 1000\n\n"
        while not stopping.is_set():
            changed = self._changed
            yield b"data: %s\n\n" % self._report if self._report else b": no visitors yet\n\n"
            await wait_for_first(KEEP_ALIVE_SECONDS, changed, stopping)

    @property
    def routes(self) -> list[Route[Any]]:
        shown: dict[str, Any] = {"tag": OPERATIONS, "needs": "open", "web": True}
        json: dict[int, tuple[str, Any]] = {200: ("the controls", Controls)}
        return [
            Route("GET", "/demo", "demo", "The shop.", self.get, {200: ("the page", "text/html")}, **shown),
            Route(
                "GET", "/demo/events", "demo_events", "Live events.", self.get_events,
                {200: ("events", EVENT_STREAM)}, **shown,
            ),
            Route(
                "POST", REPORT_PATH, "demo_reports", "A report.", self.take_report, json, body=ShopReport,
                max_bytes=SMALL, **shown,
            ),
            Route(
                "POST", "/demo/controls", "demo_controls", "Controls.", self.change_controls, json,
                body=ControlsPatch, **shown,
            ),
        ]  # fmt: skip
