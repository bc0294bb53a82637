"""Time is an argument: no part of the service reads the clock of the machine directly."""

import time
from collections.abc import Callable

Clock = Callable[[], float]  # seconds since 1970


def machine_clock() -> float:
    """The clock of the machine."""
    return time.time()
