"""ClickQueue: each click waits for its delay. All clicks that are due are sent in one batch, as websites do."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable

import msgspec

from slotwise.client.http_client import status_text
from slotwise.client.load.fast_connection import ConnectionLost, FastConnection
from slotwise.client.load.latency import Latency
from slotwise.service.pages.limits import MOST_EVENTS

TRIES = 3  # a retry cannot count a click twice, because the register of a position accepts a click once
RETRY_PAUSE = 0.2  # seconds
_encode = msgspec.json.Encoder().encode


class _EventResult(msgspec.Struct):
    status: str


class _EventResults(msgspec.Struct):
    results: list[_EventResult]


_decode = msgspec.json.Decoder(_EventResults).decode


class ClickQueue:
    """Sends the clicks of round t after round t + delay has received its display. `simulate` uses the same delay."""

    def __init__(self, connection: FastConnection, delay: int) -> None:
        self._connection, self._delay = connection, delay
        self._rounds: deque[list[bytes]] = deque()  # clicks of the last `delay` rounds
        self._due: deque[tuple[float, bytes]] = deque()  # (time at which it became due, event)
        self._released = self._settled = 0
        self._wake, self._progress = asyncio.Event(), asyncio.Event()
        self.latency, self.statuses, self.errors = Latency(), Counter[str](), Counter[str]()

    def add(self, token: str, clicked: Iterable[str]) -> None:
        """Add the clicks of a round. The clicks of `delay` rounds ago become due."""
        self._rounds.append([_encode({"type": "click", "token": token, "position": position}) for position in clicked])
        if len(self._rounds) > self._delay:
            self._release(self._rounds.popleft())

    async def settled(self) -> None:
        """Wait until every click that is due now has been acknowledged, or has failed for good."""
        target = self._released
        while self._settled < target:
            await self._progress.wait()

    async def finish(self) -> None:
        """Send all clicks that still wait for their delay."""
        while self._rounds:
            self._release(self._rounds.popleft())
        await self.settled()

    async def send(self) -> None:
        """Send due clicks until cancelled. Clicks that become due during a request go with the next one."""
        while True:
            await self._wake.wait()
            while self._due:
                batch = [self._due.popleft() for _ in range(min(len(self._due), MOST_EVENTS))]
                await self._post(batch)
                self._settled += len(batch)
                self._progress.set()
                self._progress = asyncio.Event()
            self._wake.clear()

    def _release(self, events: list[bytes]) -> None:
        if events:
            now = time.perf_counter()
            self._due.extend((now, event) for event in events)
            self._released += len(events)
            self._wake.set()

    async def _post(self, batch: list[tuple[float, bytes]]) -> None:
        body = b'{"events":[%s]}' % b",".join(event for _, event in batch)
        for _ in range(TRIES):
            try:
                status, content = await self._connection.post("/v1/events", body)
            except ConnectionLost as error:
                self.errors[str(error)] += 1
            else:
                if status == 200:
                    now = time.perf_counter()
                    for since, _ in batch:
                        self.latency.add(now - since)
                    self.statuses.update(result.status for result in _decode(content).results)
                    return
                self.errors[status_text(status)] += 1
            await asyncio.sleep(RETRY_PAUSE)
        self.statuses["given up"] += len(batch)
