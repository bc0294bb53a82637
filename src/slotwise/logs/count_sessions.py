"""Ibis expressions that count the equal sessions of a log. They run unchanged on DuckDB and on Spark.

The lines of a display become one row with the item at each position and the clicks. Rows that are equal are counted.
"""

from collections.abc import Sequence

import ibis
import ibis.expr.types as ir

from slotwise.logs.aggregate import parse_clicks, parse_names, require_values, whole_sum
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import LineStatus
from slotwise.logs.schema import Schema

_SAMPLE = 100_000  # lines in which to look for the positions of a log


def parse_session_lines(lines: ir.Table, schema: Schema, filters: Sequence[Filter] = ()) -> ir.Table:
    """Every line with its status, its display, and `shown`: whether the display counts."""
    display = lines["display"].cast("string")
    lines = lines.mutate(display=ibis.ifelse(display == "", ibis.null("string"), display))
    parsed = parse_names(parse_clicks(lines, schema, filters, ["display"]), schema)
    parsed = require_values(parsed, ["display"])
    if schema.sessions:
        parsed = parsed.mutate(shown=ibis.literal(1, "int64"), clicked=(parsed["clicked"] > 0).cast("int64"))
    good = parsed["status"] == int(LineStatus.COUNTED)
    keys = {name: ibis.ifelse(good, parsed[name], ibis.null(parsed[name].type())) for name in ("query", "display")}
    return parsed.mutate(**keys)


def positions_of(lines: ir.Table, sample: bool) -> ir.Table:
    """The positions of parsed lines. With `sample`, those of the first lines that the engine reads."""
    some = lines.limit(_SAMPLE) if sample else lines
    good = some.filter(some["status"] == int(LineStatus.COUNTED))
    return good.select("position").distinct()


def count_sessions(lines: ir.Table, positions: Sequence[int | str]) -> ir.Table:
    """The number of equal sessions, and of lines, by query, status and fold.

    The columns `item0`, `item1` and so on have the item at each of the positions. `clicks` is a number whose binary
    digits are the clicks. `repeated` marks displays that have a position twice. `unlisted` is the number of lines whose
    position is not one of `positions`, and `counts` the number of lines that are the sum of several displays.
    """
    shown, position = lines["shown"] > 0, lines["position"]
    here = [position == name for name in positions]
    bits = ibis.cases(*((at, lines["clicked"] * (1 << k)) for k, at in enumerate(here)), else_=0)
    sessions = lines.group_by(["query", "display", "status"]).agg(
        lines=lines.count(),
        shown=lines.count(where=shown),
        unlisted=lines.count(where=shown & ~position.isin(list(positions))),
        counts=lines.count(where=lines["shown"] > 1),
        clicks=whole_sum(bits),
        **{f"item{k}": lines["item"].max(where=shown & at) for k, at in enumerate(here)},
    )
    items = [f"item{k}" for k in range(len(positions))]
    filled = sum((sessions[name].notnull().cast("int64") for name in items), ibis.literal(0, "int64"))
    good = sessions["status"] == int(LineStatus.COUNTED)
    repeated = good & (sessions["shown"] - sessions["unlisted"] != filled)
    kept = good & ~repeated
    half = ibis.ifelse(sessions["display"].hexdigest("md5")[:1] < "8", 0, 1).cast("int8")  # the same on every engine
    columns = {name: ibis.ifelse(kept, sessions[name], ibis.null(sessions[name].type())) for name in [*items, "clicks"]}
    rows = sessions.mutate(repeated=repeated, fold=ibis.ifelse(kept, half, ibis.null("int8")), **columns)
    return rows.group_by(["query", "status", "repeated", "fold", "clicks", *items]).agg(
        sessions=rows.count(),
        lines=whole_sum(rows["lines"]),
        unlisted=whole_sum(rows["unlisted"]),
        counts=whole_sum(rows["counts"]),
        example=rows["display"].min(where=rows["repeated"]),
    )
