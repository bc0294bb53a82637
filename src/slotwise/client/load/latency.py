"""How long requests took: a histogram of fixed size, so that a long run takes no more memory than a short one."""

import math

import numpy as np

from slotwise.checks import Ints

LEAST, STEP = 1e-6, math.log(1.01)  # seconds; each class is 1 % wider than the one before
CLASSES = 2100  # until a quarter of an hour
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}


class Latency:
    """Latencies, each known to 1 %."""

    def __init__(self) -> None:
        self._classes: Ints = np.zeros(CLASSES, np.int64)
        self.count = 0

    def add(self, seconds: float) -> None:
        """One more."""
        number = int(math.log(seconds / LEAST) / STEP) + 1 if seconds > LEAST else 0
        self._classes[min(number, CLASSES - 1)] += 1
        self.count += 1

    def quantile(self, share: float) -> float | None:
        """The time within which this share of the requests was answered; None when there were none."""
        if not self.count:
            return None
        wanted = max(math.ceil(share * self.count), 1)
        number = int(np.searchsorted(self._classes.cumsum(), wanted))
        return LEAST * math.exp(number * STEP)

    def milliseconds(self) -> dict[str, float | None]:
        """The quantiles that are reported."""
        found = {name: self.quantile(share) for name, share in QUANTILES.items()}
        return {name: None if value is None else round(1e3 * value, 3) for name, value in found.items()}
