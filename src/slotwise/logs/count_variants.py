"""Count what each variant of a page earned on each day, from the log that the service exports."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.logs.display_lines import DISPLAY_COLUMNS, open_display_log, parse_displays
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, number_of_lines
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.variant_days import N_CLUSTERS, VariantDay, VariantDays, days_of_variants

if TYPE_CHECKING:
    import ibis.expr.types as ir

_DAY = 86400  # seconds
_KEYS = ["page", "allocation", "variant", "day", "cluster", "status"]


class CountedVariants(NamedTuple):
    """The variants of each page, as {page: {variant: days}}, and an account of the lines.

    Only displays of the last allocation of each page count, as in the insights: those since its shares last changed.
    `earlier` is the number of the other displays of each page that has some.

    All variants of a page have the same days. A cluster is a group of visitors. If the log has no column `bucket`, a
    cluster is a group of displays, as if each display had its own visitor; then `has_visitors` is False.
    """

    pages: dict[str, dict[str, VariantDays]]
    account: LineAccount
    has_visitors: bool
    earlier: dict[str, int]


def count_variants(files: str | Iterable[str], options: CountOptions = DEFAULT_OPTIONS) -> CountedVariants:
    """Count the displays, clicks and value of each page, variant, day and cluster."""
    with open_display_log(files, options, DISPLAY_COLUMNS) as log:
        from slotwise.logs import aggregate

        counted = log.materialize(lambda lines: _count(parse_displays(lines, log)))
        table = log.engine.to_arrow(counted)
        lines = number_of_lines(log.engine.to_arrow(aggregate.lines_by_status(counted)))
        account = account_for_lines(log.files, log.filters, lines, PositionFrequencies.of({}), options.max_bad)
        has_visitors = "bucket" in log.files.read
    rows = [row for row in table.to_pylist() if row["status"] == 0]
    if not rows:
        raise BadInput(f"no line is left of {account.lines:,}: there is nothing to compare")
    compared, earlier = _last_allocation(rows)
    return CountedVariants(_pages(compared), account, has_visitors, earlier)


def _count(parsed: "ir.Table") -> "ir.Table":
    from slotwise.logs.aggregate import whole_sum

    parsed = parsed.mutate(day=(parsed["issued"] / _DAY).floor().cast("int64"))
    displays = parsed.group_by([*_KEYS, "display_id"]).agg(
        lines=parsed.count(),
        shown=parsed["shown"].max(),
        clicks=whole_sum(parsed["clicked"]),
        value=(parsed["clicked"] * parsed["value"]).sum(),
    )
    counted = displays["shown"] > 0  # a display that was discarded, or does not count, has no `shown`
    return displays.group_by(_KEYS).agg(
        lines=whole_sum(displays["lines"]),
        displays=displays.count(where=counted),
        clicks=whole_sum(displays["clicks"]),
        value=displays["value"].sum(),
    )


def _last_allocation(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The rows of the last allocation of each page, and the number of displays in the other rows of each page."""
    last, earlier = dict[str, float](), dict[str, int]()
    for row in rows:
        last[row["page"]] = max(row["allocation"], last.get(row["page"], 0.0))
    for row in rows:
        if row["allocation"] < last[row["page"]] and row["displays"]:
            earlier[row["page"]] = earlier.get(row["page"], 0) + row["displays"]
    return [row for row in rows if row["allocation"] == last[row["page"]]], earlier


def _pages(rows: list[dict[str, Any]]) -> dict[str, dict[str, VariantDays]]:
    clusters = {name: k % N_CLUSTERS for k, name in enumerate(sorted({str(row["cluster"]) for row in rows}))}
    pages: dict[str, list[VariantDay]] = {str(name): [] for name in sorted({row["page"] for row in rows})}
    for row in rows:
        cluster, earned = clusters[str(row["cluster"])], (row["displays"], row["clicks"], row["value"])
        pages[row["page"]].append(VariantDay(int(row["day"]), row["variant"], cluster, *map(float, earned)))
    return {page: days_of_variants(days) for page, days in pages.items()}
