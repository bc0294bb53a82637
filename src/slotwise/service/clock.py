"""The clock of the service. It is passed as an argument, and no other module reads the time of day."""

import time
from collections.abc import Callable

Clock = Callable[[], float]  # seconds since 1970


def machine_clock() -> float:
    """The clock of the machine."""
    return time.time()
