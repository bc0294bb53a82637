"""Count the displays of a page by cluster of visitors, item, position and propensity, from the log of the service."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats, Ints
from slotwise.logs.formats import EXPORTED_LOG
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, OpenedLog, columns_in, number_of_lines, open_log
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.position_order import page_orders
from slotwise.logs.read_log import MAX_CELLS
from slotwise.logs.schema import natural_sort_key
from slotwise.logs.variant_days import N_CLUSTERS, cluster_of

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

_NAMES = ["page", "layout", "variant", "cluster", "item", "position"]
_SUMS = ["lines", "shown", "clicked", "earned", "value", "displays"]


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
    names = [files] if isinstance(files, str) else list(files)
    known = columns_in(names, EXPORTED_LOG)
    optional = [column for column in ("propensity", "bucket", "value") if column in known]
    with open_log(names, EXPORTED_LOG, None, options, ["display", "layout", "variant", *optional]) as log:
        from slotwise.logs import aggregate

        counted = log.materialize(lambda lines: _count(lines, log))
        lines = number_of_lines(log.engine.to_arrow(aggregate.lines_by_status(counted)))
        account = account_for_lines(log.files, log.filters, lines, PositionFrequencies.of({}), options.max_bad)
        good = counted.filter(counted["status"] == 0, counted["shown"] > 0)
        n_cells = log.engine.to_arrow(good.agg(cells=good.count()))["cells"][0].as_py()
        if n_cells > MAX_CELLS:
            raise BadInput(f"{n_cells:,} cells are more than fit into memory at once; select fewer lines with --where")
        table, orders = log.engine.to_arrow(good), page_orders(log.files)
    if not n_cells:
        raise BadInput(f"no display is left of {account.lines:,} lines: there is nothing to evaluate")
    page, layout = (_only(name, table) for name in ("page", "layout"))
    cells = _cells(table, orders.get(page, []))
    return CountedDisplays(page, layout, cells, account, "bucket" in known, "value" in known)


def _count(lines: "ir.Table", log: OpenedLog) -> "ir.Table":
    import ibis

    from slotwise.logs.aggregate import parse_clicks, parse_names, require_values, whole_sum

    name = log.files.read
    lines = lines.mutate(
        page=lines["query"].cast("string"),
        layout=lines[name["layout"]].cast("string"),
        display_id=lines[name["display"]].cast("string"),
        variant=lines[name["variant"]].cast("string"),
        cluster=cluster_of(lines, log),
        propensity=_number(lines, name.get("propensity"), ibis.null("float64")),
        value=_number(lines, name.get("value"), ibis.literal(1.0)),
    )
    extra = ["page", "layout", "display_id", "variant", "cluster", "propensity", "value"]
    parsed = parse_names(parse_clicks(lines, log.schema, log.filters, extra), log.schema)
    parsed = require_values(parsed, ["layout", "display_id", "variant"]).mutate(counts=parsed["shown"] > 0)
    same_display = {"group_by": ["page", "display_id", "status", "counts"]}
    known = parsed["propensity"].count().over(**same_display) == parsed["item"].count().over(**same_display)
    first = ibis.row_number().over(**same_display, order_by=["position", "item"]) == 0
    parsed = parsed.mutate(propensity=ibis.ifelse(known, parsed["propensity"], ibis.null("float64")), first=first)
    return parsed.group_by([*_NAMES, "propensity", "status"]).agg(
        lines=parsed.count(),
        shown=whole_sum(parsed["shown"]),
        clicked=whole_sum(parsed["clicked"]),
        earned=(parsed["clicked"] * parsed["value"]).sum(),
        value=(parsed["shown"] * parsed["value"]).sum(),
        displays=parsed.count(where=parsed["first"] & parsed["counts"]),
    )


def _number(lines: "ir.Table", name: str | None, default: "ir.Value") -> "ir.Value":
    return default if name is None else lines[name].try_cast("float64").fill_null(default)


def _only(name: str, table: "pa.Table") -> str:
    """The only page or layout of the cells."""
    found = sorted(str(value) for value in table[name].unique().to_pylist())
    if len(found) > 1:
        raise BadInput(f"the log has {len(found)} {name}s: {', '.join(found)}; select one with --{name} {found[0]}")
    return found[0]


def _cells(table: "pa.Table", order: list[str]) -> DisplayCells:
    columns = {name: table[name].to_pylist() for name in ("item", "position", "variant", "cluster")}
    names = {name: sorted(set(values), key=natural_sort_key) for name, values in columns.items()}
    rank = {position: k for k, position in enumerate(order)}
    names["position"].sort(key=lambda position: rank.get(position, len(rank)))
    index = {name: {value: k for k, value in enumerate(values)} for name, values in names.items()}
    coded = {name: np.array([index[name][value] for value in values]) for name, values in columns.items()}
    sums = {name: table[name].to_numpy().astype(float) for name in _SUMS[1:]}
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
