"""Waiting for a condition, independently of the speed of the machine."""

import asyncio
import time
from collections.abc import Callable

HANG = 300.0  # seconds until a wait fails, far longer than any condition should take


def wait_until(condition: Callable[[], bool], pause: float = 0.01) -> None:
    """Wait for a condition, which is computed again after each `pause` in seconds."""
    deadline = time.monotonic() + HANG
    while not condition():
        assert time.monotonic() < deadline, "the condition was never met"
        time.sleep(pause)


async def until(condition: Callable[[], bool]) -> None:
    """Like `wait_until`, but on an event loop."""
    async with asyncio.timeout(HANG):
        while not condition():
            await asyncio.sleep(0.001)
