"""Count what each variant of a page earned on each day, from the log that the service exports."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats
from slotwise.logs.formats import EXPORTED_LOG
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, OpenedLog, columns_in, number_of_lines, open_log
from slotwise.logs.position_frequencies import PositionFrequencies

if TYPE_CHECKING:
    import ibis.expr.types as ir

N_CLUSTERS = 512
_DAY = 86400  # seconds
_KEYS = ["page", "variant", "day", "cluster", "status"]


class VariantDays(NamedTuple):
    """What one variant of a page earned: days x clusters. `value` sums the values of the clicked items."""

    displays: Floats
    clicks: Floats
    value: Floats


class CountedVariants(NamedTuple):
    """The variants of each page, as {page: {variant: days}}, and an account of the lines.

    All variants of a page have the same days. A cluster is a group of visitors. If the log has no column `bucket`, a
    cluster is a group of displays, as if each display had its own visitor; then `has_visitors` is False.
    """

    pages: dict[str, dict[str, VariantDays]]
    account: LineAccount
    has_visitors: bool


def count_variants(files: str | Iterable[str], options: CountOptions = DEFAULT_OPTIONS) -> CountedVariants:
    """Count the displays, clicks and value of each page, variant, day and cluster."""
    names = [files] if isinstance(files, str) else list(files)
    known = columns_in(names, EXPORTED_LOG)
    optional = [column for column in ("bucket", "value") if column in known]
    with open_log(names, EXPORTED_LOG, None, options, ["display", "issued", "variant", *optional]) as log:
        from slotwise.logs import aggregate

        counted = log.materialize(lambda lines: _count(lines, log))
        table = log.engine.to_arrow(counted)
        lines = number_of_lines(log.engine.to_arrow(aggregate.lines_by_status(counted)))
        account = account_for_lines(log.files, log.filters, lines, PositionFrequencies.of({}), options.max_bad)
    rows = [row for row in table.to_pylist() if row["status"] == 0]
    if not rows:
        raise BadInput(f"no line is left of {account.lines:,}: there is nothing to compare")
    return CountedVariants(_pages(rows), account, "bucket" in known)


def _count(lines: "ir.Table", log: OpenedLog) -> "ir.Table":
    import ibis

    from slotwise.logs.aggregate import parse_clicks, require_values, whole_sum

    name = log.files.read
    lines = lines.mutate(
        page=lines["query"].cast("string"),
        display_id=lines[name["display"]].cast("string"),
        variant_name=lines[name["variant"]].cast("string"),
        day=(lines[name["issued"]].try_cast("float64") / _DAY).floor().cast("int64"),
        earning=lines[name["value"]].try_cast("float64").fill_null(1.0) if "value" in name else ibis.literal(1.0),
        cluster=cluster_of(lines, log),
    )
    extra = ["page", "display_id", "variant_name", "day", "earning", "cluster"]
    parsed = parse_clicks(lines, log.schema, log.filters, extra).rename(variant="variant_name")
    parsed = require_values(parsed, ["page", "display_id", "variant", "day"])
    displays = parsed.group_by([*_KEYS, "display_id"]).agg(
        lines=parsed.count(),
        shown=parsed["shown"].max(),
        clicks=whole_sum(parsed["clicked"]),
        value=(parsed["clicked"] * parsed["earning"]).sum(),
    )
    counted = displays["shown"] > 0  # a display that was discarded, or does not count, has no `shown`
    return displays.group_by(_KEYS).agg(
        lines=whole_sum(displays["lines"]),
        displays=displays.count(where=counted),
        clicks=whole_sum(displays["clicks"]),
        value=displays["value"].sum(),
    )


def cluster_of(lines: "ir.Table", log: OpenedLog) -> "ir.Value":
    """The bucket of the visitor. Without buckets, the first three hexadecimal digits of a digest of the display's id.

    A digest is the same on every engine, unlike the engines' own hash functions.
    """
    if "bucket" in log.files.read:
        return lines[log.files.read["bucket"]].cast("string")
    return lines[log.files.read["display"]].cast("string").hexdigest("md5")[:3]


def _pages(rows: list[dict[str, object]]) -> dict[str, dict[str, VariantDays]]:
    clusters = {name: k % N_CLUSTERS for k, name in enumerate(sorted({str(row["cluster"]) for row in rows}))}
    pages: dict[str, dict[str, VariantDays]] = {}
    for page in sorted({str(row["page"]) for row in rows}):
        own = [row for row in rows if row["page"] == page]
        days = {day: k for k, day in enumerate(sorted({int(str(row["day"])) for row in own}))}
        variants = {
            variant: VariantDays(*np.zeros((3, len(days), N_CLUSTERS)))
            for variant in sorted({str(row["variant"]) for row in own})
        }
        for row in own:
            cell = days[int(str(row["day"]))], clusters[str(row["cluster"])]
            for array, column in zip(variants[str(row["variant"])], VariantDays._fields, strict=True):
                array[cell] += float(str(row[column]))
        pages[page] = variants
    return pages
