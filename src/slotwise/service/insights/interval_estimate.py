"""An estimate with its interval, from posterior draws."""

from typing import Any

from msgspec import Struct

from slotwise.checks import Floats

LEAST_ESS = 400.0  # an estimate with a smaller effective sample size has no interval
LEVEL = 0.9


class IntervalEstimate(Struct):
    """A mean and its 90 % interval. `low` and `high` are null until the estimate is `ready`."""

    mean: float
    low: float | None
    high: float | None
    ready: bool


def estimate_fields(draws: Floats, interval: Floats, ess: float) -> dict[str, Any]:
    """The fields of an estimate."""
    ready = bool(ess >= LEAST_ESS)
    low, high = (float(interval[0]), float(interval[1])) if ready else (None, None)
    return {"mean": float(draws.mean()), "low": low, "high": high, "ready": ready}
