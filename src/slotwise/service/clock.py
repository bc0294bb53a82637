"""The clock is an argument: nothing in the service asks the machine for the time behind one's back."""

import time
from collections.abc import Callable

Clock = Callable[[], float]  # seconds since 1970


def machine_clock() -> float:
    """The time of the machine."""
    return time.time()
