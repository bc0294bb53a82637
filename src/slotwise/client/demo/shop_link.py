"""ShopLink: tells the page of the shop what the visitors do, and does what people set there."""

import asyncio

import msgspec

from slotwise.client.demo.shop_traffic import ShopTraffic
from slotwise.client.load.fast_connection import ConnectionLost, FastConnection
from slotwise.client.load.generator import LoadGenerator
from slotwise.service.web.demo.reports import REPORT_PATH, Controls

INTERVAL = 0.4  # seconds between two reports
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Controls).decode


class ShopLink:
    """Sends a report several times a second. The answer to each has the controls of the page."""

    def __init__(self, generator: LoadGenerator, traffic: ShopTraffic, connection: FastConnection) -> None:
        self._generator, self._traffic, self._connection = generator, traffic, connection
        self._taste = 0

    async def run(self) -> None:
        """Report until cancelled."""
        try:
            while True:
                await self._exchange()
                await asyncio.sleep(INTERVAL)
        finally:
            self._connection.close()

    async def _exchange(self) -> None:
        report = self._traffic.report(self._generator.schedule.rate)
        try:
            status, content = await self._connection.post(REPORT_PATH, _encode(report))
        except ConnectionLost:
            return  # the load notices too, and says so
        if status == 200:
            self._apply(_decode(content))

    def _apply(self, controls: Controls) -> None:
        rate = controls.rate
        if rate is not None and rate != self._generator.schedule.rate:
            self._generator.set_rate(rate)
        if controls.taste != self._taste:
            self._taste = controls.taste
            self._traffic.change_taste()
