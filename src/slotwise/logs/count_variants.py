"""Count what each variant of a page earned on each day, from the log that the service exports."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.logs.formats import EXPORTED_LOG
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, OpenedLog, columns_in, number_of_lines, open_log
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.variant_days import N_CLUSTERS, VariantDay, VariantDays, days_of_variants

if TYPE_CHECKING:
    import ibis.expr.types as ir

_DAY = 86400  # seconds
_KEYS = ["page", "variant", "day", "cluster", "status"]


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


def _pages(rows: list[dict[str, Any]]) -> dict[str, dict[str, VariantDays]]:
    clusters = {name: k % N_CLUSTERS for k, name in enumerate(sorted({str(row["cluster"]) for row in rows}))}
    pages: dict[str, list[VariantDay]] = {str(name): [] for name in sorted({row["page"] for row in rows})}
    for row in rows:
        cluster, earned = clusters[str(row["cluster"])], (row["displays"], row["clicks"], row["value"])
        pages[row["page"]].append(VariantDay(int(row["day"]), row["variant"], cluster, *map(float, earned)))
    return {page: days_of_variants(days) for page, days in pages.items()}
