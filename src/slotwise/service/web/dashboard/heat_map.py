"""A heat map: the probability of each item at each position."""

from typing import NamedTuple

from slotwise.service.insights.insights import Insights

MOST_ROWS = 24
LEVELS = 10


class HeatCell(NamedTuple):
    """One probability, and its colour from 0 to LEVELS."""

    probability: float
    level: int


class HeatMap(NamedTuple):
    """The rows are the items that are shown most. `hidden` more items are shown less, each below `limit`."""

    positions: list[str]
    rows: list[tuple[str, list[HeatCell]]]
    hidden: int
    limit: float


def heat_map(positions: list[str], insights: Insights | None, segment: str, layout: str) -> HeatMap:
    """The heat map of what is shown now, the best items of the first positions first."""
    found: dict[str, dict[str, float]] = {}
    for row in insights.shown if insights is not None else []:
        if (row.segment, row.layout) == (segment, layout):
            found.setdefault(row.item, {})[row.position] = row.share
    by_total = sorted(found, key=lambda item: -sum(found[item].values()))
    kept = sorted(by_total[:MOST_ROWS], key=lambda item: _order(found[item], positions))
    rows = [(item, [_cell(found[item].get(position, 0.0)) for position in positions]) for item in kept]
    rest = [sum(found[item].values()) for item in by_total[MOST_ROWS:]]
    return HeatMap(positions, rows, len(rest), max(rest, default=0.0))


def _order(shares: dict[str, float], positions: list[str]) -> tuple[int, float]:
    """The position where an item is most likely, and then the likeliest item first."""
    best = max(shares, key=lambda position: shares[position])
    return positions.index(best) if best in positions else len(positions), -shares[best]


def _cell(probability: float) -> HeatCell:
    return HeatCell(probability, min(round(probability * LEVELS + 0.49), LEVELS) if probability >= 0.005 else 0)
