"""Ibis expressions that count the equal sessions of a log. They run unchanged on DuckDB and on Spark.

The lines of a display become one row of a few whole numbers, which have the item and the click at each position as
groups of binary digits. So a session takes little memory, and equal sessions are found and counted fast.
"""

from collections.abc import Sequence
from typing import NamedTuple

import ibis
import ibis.expr.types as ir
import numpy as np

from slotwise.checks import Ints
from slotwise.logs.aggregate import parse_clicks, parse_names, require_values, whole_sum
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import LineStatus
from slotwise.logs.schema import Schema

UNLISTED = -1  # the status of lines whose item or position is not in the lists
_SAMPLE = 100_000  # lines in which to look for the items and positions of a log
_DIGITS = 52  # binary digits of a word: sums of 64-bit floats are exact up to here, and never overflow
_MARKS = 40  # positions that share one sum of marks; it is exact for every display without a repeated position


class Packing(NamedTuple):
    """How a session becomes whole numbers. A position has `width` digits: 2 x the number of the item + the click."""

    positions: int
    width: int

    @classmethod
    def of(cls, items: int, positions: int) -> "Packing":
        """The packing for items with the numbers 1, 2, and so on. The number 0 means that the position is empty."""
        return cls(positions, (2 * items + 1).bit_length())

    @property
    def words(self) -> list[range]:
        """The positions that are in each of the whole numbers."""
        each = _DIGITS // self.width
        return [range(start, min(start + each, self.positions)) for start in range(0, self.positions, each)]

    @property
    def marks(self) -> list[range]:
        """The positions that share a sum of marks, one binary digit for each."""
        return [range(start, min(start + _MARKS, self.positions)) for start in range(0, self.positions, _MARKS)]

    def unpack(self, words: Sequence[Ints]) -> Ints:
        """2 x the number of the item + the click: rows x positions."""
        found = np.empty((words[0].size, self.positions), np.int64)
        for word, positions in zip(words, self.words, strict=True):
            for position in positions:
                found[:, position] = (word >> (self.width * (position - positions.start))) & (2**self.width - 1)
        return found


def parse_session_lines(lines: ir.Table, schema: Schema, filters: Sequence[Filter] = ()) -> ir.Table:
    """Every line with its status, its display, and `shown`: whether the display counts."""
    display = lines["display"].cast("string")
    lines = lines.mutate(display=ibis.ifelse(display == "", ibis.null("string"), display))
    parsed = parse_names(parse_clicks(lines, schema, filters, ["display"]), schema)
    parsed = require_values(parsed, ["display"])
    if schema.sessions:
        parsed = parsed.mutate(shown=ibis.literal(1, "int64"), clicked=(parsed["clicked"] > 0).cast("int64"))
    return parsed


def list_names(lines: ir.Table, column: str, sample: bool) -> ir.Table:
    """The items or positions of parsed lines, with a number from 1 and their lines.

    With `sample`, those of the first lines that the engine reads.
    """
    some = lines.limit(_SAMPLE) if sample else lines
    good = some.filter(some["status"] == int(LineStatus.COUNTED))
    names = good.group_by(column).agg(lines=good.count())
    return names.mutate(code=ibis.row_number().over(order_by=names[column]).cast("int64") + 1)


def count_sessions(
    lines: ir.Table, items: ir.Table, positions: Sequence[int | str], packing: Packing, schema: Schema
) -> ir.Table:
    """The number of equal sessions, and of lines.

    `items` is a list of names, as `list_names` makes it. The columns `word0`, `word1` and so on have the session as
    `packing` says. `repeated` marks displays that have a position twice. `counts` is the number of lines that are the
    sum of several displays. A row with a `status` has lines that are not counted; the status is null for sessions.
    """
    always_one = schema.shown is None or schema.sessions  # then no line is the sum of several displays, or of none
    sessions = _sessions(_coded(lines, items, positions, packing), packing, always_one)
    words = [f"word{k}" for k in range(len(packing.words))]
    whole = {name: sessions[name].try_cast("int64") for name in words}
    good = sessions["display"].notnull()
    rows = sessions.mutate(good=good, repeated=good & _has_repeated_position(sessions, packing), **whole)
    found = rows.group_by(["query", "good", "repeated", *words]).agg(
        sessions=rows.count(),
        lines=whole_sum(rows["lines"]),
        counts=whole_sum(rows["counts"]),
        example=rows["display"].min(where=rows["repeated"]),
    )
    return found.mutate(status=ibis.ifelse(found["good"], ibis.null("string"), found["query"]))


def _coded(lines: ir.Table, items: ir.Table, positions: Sequence[int | str], packing: Packing) -> ir.Table:
    """The lines with the summands of the words and of the marks of their session.

    A line that is malformed or filtered out has no display, and its status in place of the query. One more column to
    group by would take more time.
    """
    coded = lines.left_join(items.select("item", "code"), "item").select(*lines.columns, "code")
    here = [coded["position"] == name for name in positions]
    place = ibis.cases(*((at, k + 1) for k, at in enumerate(here)), else_=0)
    placed = coded.mutate(place=place.cast("int8"), field=2 * coded["code"].fill_null(0) + coded["clicked"])
    missing = (placed["status"] == int(LineStatus.COUNTED)) & ((placed["place"] == 0) | (placed["field"] < 2))
    checked = placed.mutate(status=ibis.ifelse(missing, ibis.literal(UNLISTED, "int8"), placed["status"]))
    good = checked["status"] == int(LineStatus.COUNTED)
    checked = checked.mutate(good=good, displayed=good & (checked["shown"] > 0))
    summands = {}
    for k, inside in enumerate(packing.words):
        factors = _powers(checked, inside, packing.width)
        summands[f"word{k}"] = ibis.ifelse(checked["displayed"], checked["field"] * factors, 0).cast("float64")
    for k, inside in enumerate(packing.marks):
        summands[f"marks{k}"] = ibis.ifelse(checked["displayed"], _powers(checked, inside, 1), 0).cast("float64")
    return checked.select(
        "displayed",
        query=ibis.ifelse(checked["good"], checked["query"].cast("string"), checked["status"].cast("string")),
        display=ibis.ifelse(checked["good"], checked["display"], ibis.null("string")),
        several=checked["shown"] > 1,
        **summands,
    )


def _powers(lines: ir.Table, inside: range, width: int) -> ir.IntegerValue:
    """The value of the last digit of the position of each line, and 0 if it is not `inside`."""
    digits = [(lines["place"] == p + 1, ibis.literal(2 ** (width * (p - inside.start)), "int64")) for p in inside]
    return ibis.cases(*digits, else_=ibis.literal(0, "int64"))


def _sessions(lines: ir.Table, packing: Packing, always_one: bool) -> ir.Table:
    """One row for each display. The sums have several summands at a position that the display has several times."""
    words = {f"word{k}": lines[f"word{k}"].sum() for k in range(len(packing.words))}
    marks = {f"marks{k}": lines[f"marks{k}"].sum() for k in range(len(packing.marks))}
    groups = lines.group_by(["query", "display"])
    if always_one:
        sessions = groups.agg(lines=lines.count(), **words, **marks)
        return sessions.mutate(shown=sessions["lines"], counts=ibis.literal(0, "int64"))
    shown, counts = lines.count(where=lines["displayed"]), lines.count(where=lines["several"])
    return groups.agg(lines=lines.count(), shown=shown, counts=counts, **words, **marks)


def _has_repeated_position(sessions: ir.Table, packing: Packing) -> ir.BooleanValue:
    """A sum of n powers of two has n binary digits that are 1 only if all of them are different."""
    ones: ir.IntegerValue = ibis.literal(0, "int64")
    for k, inside in enumerate(packing.marks):
        marks = sessions[f"marks{k}"].try_cast("int64")
        for digit in range(len(inside)):
            ones = ones + ((marks >> digit) & 1)
    return (ones != sessions["shown"]).fill_null(True)  # null: the sum is too large
