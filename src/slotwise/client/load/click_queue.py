"""Clicks on their way to the service: each waits its delay, then goes with whatever else is due, as sites send them."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterable

import msgspec

from slotwise.client.address import phrase
from slotwise.client.load.fast_connection import Lost, Stream
from slotwise.client.load.latency import Latency
from slotwise.service.pages.limits import MOST_EVENTS

TRIES, PAUSE = 3, 0.2  # seconds between tries; a register moves once, so a retry cannot count twice
_encode = msgspec.json.Encoder().encode


class _Result(msgspec.Struct):
    status: str


class _Results(msgspec.Struct):
    results: list[_Result]


_decode = msgspec.json.Decoder(_Results).decode


class Clicks:
    """A click of round t becomes due when round t + delay has its display, as `simulate` has it; then it is sent."""

    def __init__(self, stream: Stream, delay: int) -> None:
        self._stream, self._delay = stream, delay
        self._rounds: deque[list[bytes]] = deque()  # clicks of the last `delay` rounds
        self._due: deque[tuple[float, bytes]] = deque()  # (since when, event)
        self._released = self._settled = 0
        self._wake, self._progress = asyncio.Event(), asyncio.Event()
        self.latency, self.statuses, self.errors = Latency(), Counter[str](), Counter[str]()

    def add(self, token: str, clicked: Iterable[str]) -> None:
        """The clicks of one more round; those of the round `delay` rounds ago become due."""
        self._rounds.append([_encode({"type": "click", "token": token, "position": position}) for position in clicked])
        if len(self._rounds) > self._delay:
            self._release(self._rounds.popleft())

    async def settled(self) -> None:
        """Wait until everything that is due now was acknowledged, or given up."""
        target = self._released
        while self._settled < target:
            await self._progress.wait()

    async def finish(self) -> None:
        """Send all that still waits for its round."""
        while self._rounds:
            self._release(self._rounds.popleft())
        await self.settled()

    async def send(self) -> None:
        """For ever: send what is due; what becomes due meanwhile goes with the next call."""
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
                status, content = await self._stream.post("/v1/events", body)
            except Lost as lost:
                self.errors[str(lost)] += 1
            else:
                if status == 200:
                    now = time.perf_counter()
                    for since, _ in batch:
                        self.latency.add(now - since)
                    self.statuses.update(result.status for result in _decode(content).results)
                    return
                self.errors[phrase(status)] += 1
            await asyncio.sleep(PAUSE)
        self.statuses["given up"] += len(batch)
