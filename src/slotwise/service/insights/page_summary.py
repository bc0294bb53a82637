"""A page at a glance: its traffic, what learning earns, and how settled its display is."""

from msgspec import Struct

from slotwise.inference.uplift.uplift import Uplift
from slotwise.service.ensembles.picked_displays import PickedDisplays
from slotwise.service.insights.insights import VariantHour, VariantTotals, variant_totals
from slotwise.service.store.records import HourlyRate

WINDOW_HOURS, RECENT_HOURS = 7 * 24, 24
CERTAIN = 0.9  # a position is settled from this probability on


class Settled(Struct):
    """How sure the display that is shown most is the best one, in the first layout without a segment.

    `probability` is that of the whole display. `settled` of the `positions` have an item whose probability is 0.9 or
    more.
    """

    probability: float
    settled: int
    positions: int


class PageSummary(Struct):
    """A page at a glance. `variants` has the last 7 days, `hours` the last 24 hours. `settled` may be null."""

    page: str
    computed: float
    mode: str
    holdout: float
    items: int
    positions: int
    variants: list[VariantTotals]
    hours: list[VariantHour]
    uplift: Uplift
    settled: Settled | None


def settled(likely: PickedDisplays | None) -> Settled | None:
    """How settled a page is, given the best display under each draw."""
    if likely is None or not likely.displays.shape[1]:
        return None
    probability: dict[tuple[int, ...], float] = {}
    by_position: list[dict[int, float]] = [{} for _ in range(likely.displays.shape[1])]
    for display, chance in zip(likely.displays.tolist(), likely.chances.tolist(), strict=True):
        probability[tuple(display)] = probability.get(tuple(display), 0.0) + chance
        for position, item in zip(by_position, display, strict=True):
            position[item] = position.get(item, 0.0) + chance
    n_settled = sum(max(position.values()) >= CERTAIN for position in by_position)
    return Settled(min(max(probability.values()), 1.0), n_settled, len(by_position))


def recent_rates(rates: list[HourlyRate], now: float) -> tuple[list[VariantTotals], list[VariantHour]]:
    """The totals of the last 7 days, and the hours of the last day."""
    hour = int(now // 3600)
    week = [rate for rate in rates if rate.hour > hour - WINDOW_HOURS]
    day = [VariantHour(rate.hour * 3600, *rate[1:]) for rate in week if rate.hour > hour - RECENT_HOURS]
    return variant_totals(week), day
