"""Filters: which lines of a log are meant."""

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import ibis.expr.types as ir

from slotwise.checks import BadInput

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_WRITTEN = re.compile(r"(.+?)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?")


class Filter(NamedTuple):
    """A column compared with a value: as numbers if both are, or for < and > if the value is; else as text."""

    column: str
    sign: str
    value: str
    date: bool = False
    ours: str = ""  # our name of the column, once the log is open

    def passes(self, lines: ir.Table) -> ir.BooleanValue:
        """Whether a line is meant; a missing value never is."""
        column, compare = lines[self.ours], _COMPARE[self.sign]
        number = column.type().is_numeric() or self.sign not in ("=", "!=")
        if number and not self.date and _is_number(self.value):
            return compare(column.try_cast("float64"), float(self.value)).fill_null(False)
        text = column.cast("string")
        return compare(text.replace("T", " ") if self.date else text, self.value).fill_null(False)

    def undated(self, lines: ir.Table) -> ir.BooleanValue:
        """Whether a line has no date, such as 2024-01-31 or 2024-01-31 12:00:00, in the column of dates."""
        text = lines[self.ours].cast("string")
        return (~text.like("____-__-__%")).fill_null(True)


def parse(text: str) -> Filter:
    """A filter as people write it: 'segment=mobile', 'depth>=2'."""
    match = _WRITTEN.fullmatch(text)
    if not match:
        raise BadInput(f"--where {text!r} is not a comparison such as segment=mobile or depth>=2")
    column, sign, value = match.groups()
    return Filter(column.strip(), sign, value.strip())


def between(column: str, since: str | None, until: str | None) -> list[Filter]:
    """Lines from `since` on and before `until`, compared as they are written: year first, no time zones."""
    found = []
    for sign, value in ((">=", since), ("<", until)):
        if value is not None:
            if not _DATE.fullmatch(value):
                raise BadInput(f"{value!r} is not a date such as 2024-01-31 or '2024-01-31 12:00:00'")
            found.append(Filter(column, sign, value.replace("T", " "), date=True))
    return found


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
