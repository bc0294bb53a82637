"""The positions of a layout: what each shows most now, why, how sure that is, and how visible the position is."""

import math
from typing import NamedTuple

from markupsafe import Markup

from slotwise.service.insights.insights import Insights, KappaEstimate
from slotwise.service.pages.page_definition import PagePin
from slotwise.service.pages.page_pins import pinned_item, time_of
from slotwise.service.web.dashboard.position_grid import GridCell
from slotwise.service.web.numbers import moment, probability

SURE, FAIRLY_SURE, NOT_SURE = 0.9, 0.6, 0.3


class PositionView(NamedTuple):
    """One position of a layout. `share` is the probability that `item` belongs there; pins have 1."""

    position: str
    cell: GridCell
    item: str | None
    share: float
    reason: str
    sureness: str
    why: Markup
    others: list[tuple[str, float]]  # the next items, with their probabilities
    visibility: KappaEstimate | None
    visibility_rank: int
    pin: PagePin | None  # also one that does not apply now

    @property
    def pin_item(self) -> str | None:
        return None if self.pin is None else pinned_item(self.pin)

    @property
    def pin_time(self) -> Markup:
        """When a pin applies, as text; empty if it always does."""
        return Markup("") if self.pin is None else pin_time(self.pin)

    def pin_word(self, now: float) -> str:
        """Whether a pin applies now: `Pinned`, `Will be pinned` or `Was pinned`."""
        start, end = (-math.inf, math.inf) if self.pin is None else time_of(self.pin)
        return "Will be pinned" if now < start else "Was pinned" if now >= end else "Pinned"


def pin_time(pin: PagePin) -> Markup:
    """When a pin applies, as text; empty if it always does."""
    start, end = time_of(pin)
    begins = Markup("from {} ").format(moment(start)) if start > 0.0 else Markup("")
    ends = Markup("until {}").format(moment(end)) if end < 1e12 else Markup("")
    return begins + ends


def position_views(
    layout: str, cells: dict[str, GridCell], pins: dict[str, PagePin], insights: Insights | None, segment: str
) -> list[PositionView]:
    """The positions in the order of the layout."""
    is_known = insights is not None and (insights.displays > 0.0 or insights.template is not None)
    found_kappas = insights.kappa if insights is not None and is_known else []
    # without an interval, the clicks do not say how visible a position is
    kappas = {row.position: row for row in found_kappas if row.layout == layout and row.low is not None}
    ranked = sorted(kappas, key=lambda position: -kappas[position].mean)
    shown: dict[str, list[tuple[float, str, str]]] = {position: [] for position in cells}
    for row in insights.shown if insights is not None else []:
        if (row.segment, row.layout) == (segment, layout) and row.position in shown:
            shown[row.position].append((row.share, row.item, row.reason))
    views = []
    for position, cell in cells.items():
        found = sorted(shown[position], key=lambda entry: (-entry[0], entry[1]))
        share, item, reason = found[0] if found else (0.0, None, "")
        views.append(
            PositionView(
                position, cell, item, share, reason, sureness(share, reason), _why(share, reason, pins.get(position)),
                [(name, chance) for chance, name, _ in found[1:4]], kappas.get(position),
                ranked.index(position) + 1 if position in kappas else 0, pins.get(position),
            )
        )  # fmt: skip
    return views


def sureness(share: float, reason: str) -> str:
    """How sure it is that the item belongs there, in words."""
    if reason in ("pinned", "default"):
        return reason
    levels = ((SURE, "sure"), (FAIRLY_SURE, "fairly sure"), (NOT_SURE, "not sure yet"))
    return next((word for level, word in levels if share >= level), "still trying")


def _why(share: float, reason: str, pin: PagePin | None) -> Markup:
    if reason == "pinned":
        return Markup("Pinned here {}").format(Markup("") if pin is None else pin_time(pin))
    if reason == "default":
        return Markup("From the default order.")
    if not reason:
        return Markup("Nothing is shown here.")
    return Markup("Best here with a probability of {}.").format(probability(share))
