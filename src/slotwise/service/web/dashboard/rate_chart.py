"""Click rates over time by variant, as the geometry of an SVG. Colours and fonts come from the style sheet.

The drawing is made on the server. The other candidate, Vega-Lite, is 898 kB of script (305 kB compressed), needs the
extra `charts`, and its bundle in vl-convert lacks the interpreter without which it needs `unsafe-eval`.
"""

import math
from collections import defaultdict
from typing import NamedTuple

from slotwise.service.insights.insights import VariantHour

WIDTH, HEIGHT = 720.0, 220.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 12.0, 12.0, 26.0
MOST_POINTS = 60
LEAST_SHOWN = 50  # items shown in an interval; with fewer, its rate is noise
_STEPS = (1, 2, 3, 6, 12, 24, 48, 168)  # hours of an interval


class RateLine(NamedTuple):
    """One variant: the points of its line, and the rate of the last interval."""

    variant: str
    path: str
    last: float
    end: tuple[float, float]


class Tick(NamedTuple):
    """A mark on an axis: where, its value, and where the text stands."""

    at: float
    value: float


class RateChart(NamedTuple):
    """The lines and the marks of both axes. Values on the horizontal axis are seconds since 1970."""

    lines: list[RateLine]
    rates: list[Tick]
    times: list[Tick]
    hours: int  # of an interval


def rate_chart(hours: list[VariantHour]) -> RateChart | None:
    """The chart, or None if there are no two intervals with enough data."""
    if not hours:
        return None
    first, last = min(row.time for row in hours), max(row.time for row in hours) + 3600
    step = next((step for step in _STEPS if (last - first) / 3600 / step <= MOST_POINTS), _STEPS[-1])
    width = step * 3600
    sums: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for row in hours:
        total = sums[row.variant][row.time // width]
        total[0] += row.shown
        total[1] += row.clicks
    rates = {
        variant: {
            interval: clicks / shown for interval, (shown, clicks) in sorted(found.items()) if shown >= LEAST_SHOWN
        }
        for variant, found in sums.items()
    }
    points = sorted({interval for found in rates.values() for interval in found})
    if len(points) < 2:
        return None
    top = _round_up(max(rate for found in rates.values() for rate in found.values()))
    low, high = points[0], points[-1]

    def x(interval: float) -> float:
        return LEFT + (interval - low) / (high - low) * (WIDTH - LEFT - RIGHT)

    def y(rate: float) -> float:
        return HEIGHT - BOTTOM - rate / top * (HEIGHT - TOP - BOTTOM)

    lines = []
    for variant in ("learnt", "holdout", "default"):
        found = rates.get(variant, {})
        if found:
            path = "M" + "L".join(f"{x(interval):.1f} {y(rate):.1f}" for interval, rate in found.items())
            end = max(found)
            lines.append(RateLine(variant, path, found[end], (x(end), y(found[end]))))
    every = max(1, math.ceil(len(points) / 5))
    times = [Tick(x(interval), interval * width) for interval in points[::every]]
    return RateChart(lines, [Tick(y(top * k / 4), top * k / 4) for k in range(5)], times, step)


def _round_up(value: float) -> float:
    """A round number at or above the value, for the end of the axis."""
    if value <= 0.0:
        return 0.01
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * size >= value)


def spark_path(hours: list[VariantHour], now: float) -> str:
    """The displays of each of the last 24 hours as a line in a box of 96 x 24; empty if there were none."""
    current = int(now // 3600)
    sums = [0] * 24
    for row in hours:
        ago = current - row.time // 3600
        if 0 <= ago < 24:
            sums[23 - ago] += row.displays
    most = max(sums)
    if most == 0:
        return ""
    return "M" + "L".join(f"{1 + k * 94 / 23:.1f} {22 - 20 * number / most:.1f}" for k, number in enumerate(sums))
