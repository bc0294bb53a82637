"""The traffic of the shop: what happened so far, as its page shows it."""

from collections.abc import Sequence
from typing import NamedTuple

from slotwise.client.demo.shop_visitors import ShopVisitors
from slotwise.service.web.demo.reports import ShopReport, TrafficPoint, VisitReport

LEARNT = "learnt"  # the variant that is compared; the others are the holdout
MOST_POINTS = 120


class Totals(NamedTuple):
    """Clicks of the same visits: on what slotwise showed, on displays in random order, and on the best one."""

    visits: int = 0
    clicks: int = 0
    at_random: float = 0.0
    best: int = 0


class ShopTraffic:
    """Adds up the visits that saw what slotwise had learnt. It keeps a bounded number of points."""

    def __init__(self, visitors: ShopVisitors) -> None:
        self._visitors = visitors
        self._totals, self._points, self._step = Totals(), [Totals()], 20
        self._changes: list[int] = []
        self._last: VisitReport | None = None

    def add(self, variant: str, items: dict[str, str], clicked: Sequence[str]) -> None:
        """Add a visit."""
        if variant != LEARNT:
            return
        visits, clicks, at_random, best = self._totals
        visitors = self._visitors
        self._totals = Totals(
            visits + 1,
            clicks + len(clicked),
            at_random + visitors.clicks_at_random,
            best + visitors.clicks_of_best,
        )
        if self._last is None or clicked or visits % 50 == 0:  # visits with clicks are more interesting to see
            self._last = VisitReport(visits + 1, items, list(clicked))
        if self._totals.visits % self._step == 0:
            self._points.append(self._totals)
        if len(self._points) > MOST_POINTS:
            self._points, self._step = self._points[::2], 2 * self._step

    def change_taste(self) -> None:
        """Let the visitors like other items from now on."""
        self._visitors.change_taste()
        self._changes.append(self._totals.visits)

    def report(self, rate: float | None) -> ShopReport:
        """What the page shows now."""
        points = [TrafficPoint(*point) for point in self._points]
        return ShopReport(rate, TrafficPoint(*self._totals), points, self._changes, self._last)
