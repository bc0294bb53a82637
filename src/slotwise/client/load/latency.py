"""Latencies of requests as a histogram of fixed size, so that memory does not grow with the run."""

import math
from collections import deque

import numpy as np

from slotwise.checks import Ints

SMALLEST, STEP = 1e-6, math.log(1.01)  # seconds; each bin is 1 % wider than the previous one
BINS = 2100  # up to a quarter of an hour
RECENT_SECONDS = 10
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


class Latency:
    """A histogram of latencies with a precision of 1 %."""

    def __init__(self) -> None:
        self._bins: Ints = np.zeros(BINS, np.int64)
        self.count = 0

    def add(self, seconds: float) -> None:
        number = int(math.log(seconds / SMALLEST) / STEP) + 1 if seconds > SMALLEST else 0
        self._bins[min(number, BINS - 1)] += 1
        self.count += 1

    def add_all(self, other: "Latency") -> None:
        """Add the latencies of another histogram."""
        self._bins += other._bins
        self.count += other.count

    def quantile(self, share: float) -> float | None:
        """The time within which this share of the requests was answered, or None if there were no requests."""
        if not self.count:
            return None
        rank = max(math.ceil(share * self.count), 1)
        number = int(np.searchsorted(self._bins.cumsum(), rank))
        return SMALLEST * math.exp(number * STEP)

    def milliseconds(self) -> dict[str, float | None]:
        """The reported quantiles."""
        quantiles = {name: self.quantile(share) for name, share in QUANTILES.items()}
        return {name: None if value is None else round(1e3 * value, 3) for name, value in quantiles.items()}


class RecentLatency:
    """The latencies of about the last 10 seconds, as one histogram for each second."""

    def __init__(self) -> None:
        self._by_second: deque[tuple[int, Latency]] = deque(maxlen=RECENT_SECONDS)

    def add(self, seconds: float, now: float) -> None:
        if not self._by_second or self._by_second[-1][0] != int(now):
            self._by_second.append((int(now), Latency()))
        self._by_second[-1][1].add(seconds)

    def collect(self, now: float) -> Latency:
        """The recent latencies as one histogram. It is empty if there were no recent requests."""
        total = Latency()
        for second, latency in self._by_second:
            if second > now - RECENT_SECONDS:
                total.add_all(latency)
        return total
