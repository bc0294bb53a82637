"""The lines of the log that the service exports, parsed: one line for each item of a display."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from slotwise.checks import BadInput
from slotwise.logs.formats import EXPORTED_LOG
from slotwise.logs.opened_log import CountOptions, OpenedLog, columns_in, open_log

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

DISPLAY_COLUMNS = ["display", "issued", "variant"]  # those that `parse_displays` needs
_LINE_COLUMNS = [*DISPLAY_COLUMNS, "segment", "layout"]  # those that `parse_display_lines` needs
_OPTIONAL = ["propensity", "bucket", "value", "allocation"]


@contextmanager
def open_display_log(
    files: str | Iterable[str], options: CountOptions, required: Sequence[str] = _LINE_COLUMNS
) -> Iterator[OpenedLog]:
    """Open an exported log with the required columns, and those optional columns that it has."""
    names = [files] if isinstance(files, str) else list(files)
    known = columns_in(names, EXPORTED_LOG)
    extra = [*required, *(column for column in _OPTIONAL if column in known)]
    with open_log(names, EXPORTED_LOG, None, options, extra) as log:
        yield log


def parse_displays(lines: "ir.Table", log: OpenedLog, extra: Sequence[str] = ()) -> "ir.Table":
    """Every line with its `status`, and what the line says about its display, with the right types.

    `cluster` is the bucket of the visitor. `allocation` grows when the shares of the variants change; it is 0 if the
    log does not know it.
    """
    import ibis

    from slotwise.logs.aggregate import parse_clicks, require_values

    name = log.files.read
    lines = lines.mutate(
        page=lines["query"].cast("string"),
        display_id=lines[name["display"]].cast("string"),
        issued=lines[name["issued"]].try_cast("float64"),
        variant=lines[name["variant"]].cast("string"),
        cluster=_cluster(lines, log),
        allocation=_number(lines, name.get("allocation"), ibis.literal(0.0)),
        value=_number(lines, name.get("value"), ibis.literal(1.0)),
    )
    columns = ["page", "display_id", "issued", "variant", "cluster", "allocation", "value", *extra]
    parsed = parse_clicks(lines, log.schema, log.filters, columns)
    return require_values(parsed, ["page", "display_id", "issued", "variant"])


def parse_display_lines(lines: "ir.Table", log: OpenedLog) -> "ir.Table":
    """The columns of `parse_displays`, and what the line says about its item and its position.

    `propensity` is null unless it is known for every item of the display. `first` marks one line of each display, and
    `counts` the lines of displays that count.
    """
    import ibis

    from slotwise.logs.aggregate import parse_names, require_values

    name = log.files.read
    lines = lines.mutate(
        layout=lines[name["layout"]].cast("string"),
        segment=lines[name["segment"]].cast("string"),
        propensity=_number(lines, name.get("propensity"), ibis.null("float64")),
    )
    parsed = parse_names(parse_displays(lines, log, ["layout", "segment", "propensity"]), log.schema)
    parsed = require_values(parsed, ["layout"]).mutate(counts=parsed["shown"] > 0)
    same_display = {"group_by": ["page", "display_id", "status", "counts"]}
    known = parsed["propensity"].count().over(**same_display) == parsed["item"].count().over(**same_display)
    first = ibis.row_number().over(**same_display, order_by=["position", "item"]) == 0
    return parsed.mutate(propensity=ibis.ifelse(known, parsed["propensity"], ibis.null("float64")), first=first)


def _cluster(lines: "ir.Table", log: OpenedLog) -> "ir.Value":
    """The bucket of the visitor. Without buckets, the first three hexadecimal digits of a digest of the display's id.

    A digest is the same on every engine, unlike the engines' own hash functions.
    """
    if "bucket" in log.files.read:
        return lines[log.files.read["bucket"]].cast("string")
    return lines[log.files.read["display"]].cast("string").hexdigest("md5")[:3]


def _number(lines: "ir.Table", name: str | None, default: "ir.Value") -> "ir.Value":
    return default if name is None else lines[name].try_cast("float64").fill_null(default)


def only_name(column: str, table: "pa.Table") -> str:
    """The only page or layout of a table."""
    found = sorted(str(value) for value in table[column].unique().to_pylist())
    if len(found) > 1:
        raise BadInput(f"the log has {len(found)} {column}s: {', '.join(found)}; select one with --{column} {found[0]}")
    return found[0]
