"""Count the displays of a page by cluster of visitors, item, position and propensity, from the log of the service."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats, Ints
from slotwise.logs.display_lines import only_name, open_display_log, parse_display_lines
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, number_of_lines
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.position_order import in_page_order, page_orders
from slotwise.logs.read_log import MAX_CELLS
from slotwise.logs.schema import natural_sort_key
from slotwise.logs.variant_days import N_CLUSTERS

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

_NAMES = ["page", "layout", "variant", "cluster", "item", "position"]
_SUMS = ["shown", "clicked", "earned", "value", "displays"]


class DisplayCells(NamedTuple):
    """The displays of one layout of a page, summed by variant, cluster, item, position and propensity.

    `propensity` is NaN if the log does not know it for every item of the display. `displays` counts the displays whose
    first line is in the cell, so its sum over any variants or clusters is their number of displays.
    """

    items: list[str]
    positions: list[str]  # in the order of the page
    variants: list[str]
    item: Ints
    position: Ints
    variant: Ints
    cluster: Ints
    propensity: Floats
    shown: Floats
    clicked: Floats
    earned: Floats  # the values of the clicked items
    value: Floats  # the values of the displayed items
    displays: Floats


class CountedDisplays(NamedTuple):
    """The cells of a page, and an account of the lines of the log."""

    page: str
    layout: str
    cells: DisplayCells
    account: LineAccount
    has_visitors: bool  # whether the log says which displays belong to the same visitor
    has_values: bool


def count_displays(files: str | Iterable[str], options: CountOptions = DEFAULT_OPTIONS) -> CountedDisplays:
    """Count the displays of a log that has only one page and layout, or filters that leave only one."""
    with open_display_log(files, options) as log:
        from slotwise.logs import aggregate

        counted = log.materialize(lambda lines: _count(parse_display_lines(lines, log)))
        lines = number_of_lines(log.engine.to_arrow(aggregate.lines_by_status(counted)))
        account = account_for_lines(log.files, log.filters, lines, PositionFrequencies.of({}), options.max_bad)
        good = counted.filter(counted["status"] == 0, counted["shown"] > 0)
        n_cells = log.engine.to_arrow(good.agg(cells=good.count()))["cells"][0].as_py()
        if n_cells > MAX_CELLS:
            raise BadInput(f"{n_cells:,} cells are more than fit into memory at once; select fewer lines with --where")
        table, orders, columns = log.engine.to_arrow(good), page_orders(log.files), log.files.read
    if not n_cells:
        raise BadInput(f"no display is left of {account.lines:,} lines: there is nothing to evaluate")
    page, layout = only_name("page", table), only_name("layout", table)
    cells = _cells(table, orders.get(page, []))
    return CountedDisplays(page, layout, cells, account, "bucket" in columns, "value" in columns)


def _count(lines: "ir.Table") -> "ir.Table":
    from slotwise.logs.aggregate import whole_sum

    return lines.group_by([*_NAMES, "propensity", "status"]).agg(
        lines=lines.count(),
        shown=whole_sum(lines["shown"]),
        clicked=whole_sum(lines["clicked"]),
        earned=(lines["clicked"] * lines["value"]).sum(),
        value=(lines["shown"] * lines["value"]).sum(),
        displays=lines.count(where=lines["first"] & lines["counts"]),
    )


def _cells(table: "pa.Table", order: list[str]) -> DisplayCells:
    columns = {name: table[name].to_pylist() for name in ("item", "position", "variant", "cluster")}
    names = {name: sorted(set(values), key=natural_sort_key) for name, values in columns.items()}
    names["position"] = in_page_order(names["position"], order)
    index = {name: {value: k for k, value in enumerate(values)} for name, values in names.items()}
    coded = {name: np.array([index[name][value] for value in values]) for name, values in columns.items()}
    sums = {name: table[name].to_numpy().astype(float) for name in _SUMS}
    return DisplayCells(
        names["item"],
        names["position"],
        names["variant"],
        coded["item"],
        coded["position"],
        coded["variant"],
        coded["cluster"] % N_CLUSTERS,
        _checked(table["propensity"].to_numpy().astype(float)),
        **sums,
    )


def _checked(propensity: Floats) -> Floats:
    """The propensities, NaN where they are not known."""
    known = propensity[~np.isnan(propensity)]
    wrong = known[(known <= 0.0) | (known > 1.0 + 1e-9)]
    if wrong.size:
        raise BadInput(f"the log has a propensity of {wrong[0]:g}, which is not above 0 and at most 1")
    return propensity
