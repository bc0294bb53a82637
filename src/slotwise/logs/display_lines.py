"""The lines of the log that the service exports, parsed: one line for each item of a display."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slotwise.checks import BadInput
from slotwise.logs.count_variants import cluster_of
from slotwise.logs.formats import EXPORTED_LOG
from slotwise.logs.opened_log import CountOptions, OpenedLog, columns_in, open_log

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

_REQUIRED = ["display", "issued", "segment", "layout", "variant"]
_OPTIONAL = ["propensity", "bucket", "value"]


@contextmanager
def open_display_log(files: str | Iterable[str], options: CountOptions) -> Iterator[OpenedLog]:
    """Open an exported log with all columns that `parse_display_lines` needs or can use."""
    names = [files] if isinstance(files, str) else list(files)
    known = columns_in(names, EXPORTED_LOG)
    extra = [*_REQUIRED, *(column for column in _OPTIONAL if column in known)]
    with open_log(names, EXPORTED_LOG, None, options, extra) as log:
        yield log


def parse_display_lines(lines: "ir.Table", log: OpenedLog) -> "ir.Table":
    """Every line with its `status`, and names and numbers of the right type.

    `propensity` is null unless it is known for every item of the display. `first` marks one line of each display, and
    `counts` the lines of displays that count.
    """
    import ibis

    from slotwise.logs.aggregate import parse_clicks, parse_names, require_values

    name = log.files.read
    lines = lines.mutate(
        page=lines["query"].cast("string"),
        layout=lines[name["layout"]].cast("string"),
        segment=lines[name["segment"]].cast("string"),
        display_id=lines[name["display"]].cast("string"),
        issued=lines[name["issued"]].try_cast("float64"),
        variant=lines[name["variant"]].cast("string"),
        cluster=cluster_of(lines, log),
        propensity=_number(lines, name.get("propensity"), ibis.null("float64")),
        value=_number(lines, name.get("value"), ibis.literal(1.0)),
    )
    extra = ["page", "layout", "segment", "display_id", "issued", "variant", "cluster", "propensity", "value"]
    parsed = parse_names(parse_clicks(lines, log.schema, log.filters, extra), log.schema)
    parsed = require_values(parsed, ["layout", "display_id", "variant"]).mutate(counts=parsed["shown"] > 0)
    same_display = {"group_by": ["page", "display_id", "status", "counts"]}
    known = parsed["propensity"].count().over(**same_display) == parsed["item"].count().over(**same_display)
    first = ibis.row_number().over(**same_display, order_by=["position", "item"]) == 0
    return parsed.mutate(propensity=ibis.ifelse(known, parsed["propensity"], ibis.null("float64")), first=first)


def _number(lines: "ir.Table", name: str | None, default: "ir.Value") -> "ir.Value":
    return default if name is None else lines[name].try_cast("float64").fill_null(default)


def only_name(column: str, table: "pa.Table") -> str:
    """The only page or layout of a table."""
    found = sorted(str(value) for value in table[column].unique().to_pylist())
    if len(found) > 1:
        raise BadInput(f"the log has {len(found)} {column}s: {', '.join(found)}; select one with --{column} {found[0]}")
    return found[0]
