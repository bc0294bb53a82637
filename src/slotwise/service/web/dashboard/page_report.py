"""Everything that the dashboard shows of one page, from what the HTTP interface returns about it."""

from typing import NamedTuple

import msgspec
from markupsafe import Markup

from slotwise.service.api.pages import PageView
from slotwise.service.history import Change
from slotwise.service.insights.insights import Insights, VariantTotals
from slotwise.service.insights.page_summary import Settled
from slotwise.service.pages.page_definition import ItemSpec
from slotwise.service.web.dashboard.change_lines import ChangeLine, change_lines
from slotwise.service.web.dashboard.heat_map import HeatMap, heat_map
from slotwise.service.web.dashboard.item_rows import ItemRow, item_rows, why
from slotwise.service.web.dashboard.position_grid import PositionGrid, position_grid
from slotwise.service.web.dashboard.position_views import SURE, PositionView, position_views
from slotwise.service.web.dashboard.rate_chart import RateChart, rate_chart
from slotwise.service.web.dashboard.verdict import details, verdict


class PageData(NamedTuple):
    """What the report is made from. `insights` is None while they are computed, `settled` while there are no draws."""

    view: PageView
    insights: Insights | None
    settled: Settled | None
    changes: list[Change]
    now: float


class PageReport(NamedTuple):
    """One page, in one layout and one segment."""

    view: PageView
    insights: Insights | None
    settled: Settled | None
    now: float
    layout: str
    segment: str
    grid: PositionGrid
    positions: list[PositionView]
    items: list[ItemRow]
    heat: HeatMap
    chart: RateChart | None
    changes: list[ChangeLine]
    verdict: Markup | None
    gain_details: list[Markup]

    @property
    def visible(self) -> list[str]:
        """The positions of the layout, most visible first. Empty while visibilities are not known."""
        ranked = [view for view in self.positions if view.visibility is not None]
        return [view.position for view in sorted(ranked, key=lambda view: view.visibility_rank)]

    @property
    def by_visibility(self) -> list[PositionView]:
        return sorted(self.positions, key=lambda view: view.visibility_rank or len(self.positions))

    @property
    def has_values(self) -> bool:
        """Whether clicks on items are worth differently much."""
        return any(row.spec.value != 1.0 for row in self.items)

    @property
    def has_repeated_items(self) -> bool:
        """Whether an item is shown most at several positions."""
        names = [view.item for view in self.positions if view.item is not None]
        return len(set(names)) < len(names)

    @property
    def n_sure(self) -> int:
        """The number of positions at which the item is sure, or pinned."""
        return sum(view.share >= SURE for view in self.positions)

    @property
    def totals(self) -> list[VariantTotals]:
        return [] if self.insights is None else self.insights.variants

    @property
    def largest(self) -> float:
        """The end of the scale on which attractiveness is drawn."""
        return max((row.high or row.mean or 0.0 for row in self.items), default=0.0) or 1.0

    def why(self, row: ItemRow) -> Markup:
        """Why an item stands where it stands."""
        return why(row, self.items, self.visible, self.now)

    def changes_of(self, item: str) -> list[ChangeLine]:
        """The changes of an item and of its pins."""
        return [line for line in self.changes if line.concerns(item)]

    def item(self, name: str) -> ItemRow | None:
        """The row of an item."""
        return next((row for row in self.items if row.item == name), None)


def page_report(data: PageData, layout: str | None = None, segment: str | None = None) -> PageReport:
    """The report. Unknown layouts and segments count as the first ones."""
    view, insights = data.view, data.insights
    chosen = layout if layout in view.layouts else next(iter(view.layouts))
    group = segment if segment in view.segments else ""
    assert chosen is not None
    assert group is not None
    grid = position_grid(view.layouts[chosen])
    fields = ItemSpec.__struct_fields__
    specs = {row.item: ItemSpec(**{name: getattr(row, name) for name in fields}) for row in view.items}
    return PageReport(
        view, insights, data.settled, data.now, chosen, group, grid,
        position_views(chosen, grid.cells, view.pins.get(chosen, {}), insights, group),
        item_rows(specs, insights, group, data.now),
        heat_map(view.layouts[chosen], insights, group, chosen),
        rate_chart(insights.hours) if insights is not None else None,
        change_lines(data.changes),
        None if insights is None else verdict(insights.uplift, view.mode, view.holdout),
        [] if insights is None else details(insights.uplift, any(spec.value != 1.0 for spec in specs.values())),
    )  # fmt: skip


def script_data(report: PageReport) -> str:
    """What the scripts of a page need to know, as JSON."""
    view, newest = report.view, report.changes[0].change.number if report.changes else 0
    known = {
        "page": view.page, "version": view.version, "newest": newest, "layout": report.layout, "layouts": view.layouts,
        "mode": view.mode, "holdout": view.holdout, "defaultOrder": view.default_order,
        "order": [row.item for row in view.items],
        "items": {row.item: [row.spec.state, row.spec.value, row.spec.category] for row in report.items},
    }  # fmt: skip
    return msgspec.json.encode(known).decode()
