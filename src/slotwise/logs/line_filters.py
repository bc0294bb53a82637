"""Filters: which lines of a log are counted."""

import operator
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from slotwise.checks import BadInput

if TYPE_CHECKING:
    import ibis.expr.types as ir

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
_FILTER_TEXT = re.compile(r"(.+?)(!=|<=|>=|=|<|>)(.*)", re.DOTALL)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?)?")


class Filter(NamedTuple):
    """A comparison of a column with a value.

    The two values are compared as numbers if both are numeric. For <, <=, > and >=, it is enough that the value of the
    filter is numeric. In all other cases they are compared as text.
    """

    column: str
    symbol: str
    value: str
    date: bool = False
    internal_name: str = ""  # the column's name in the engine, set when the log is opened

    def passes(self, lines: "ir.Table") -> "ir.BooleanValue":
        """Whether a line passes the filter. A line with a missing value never passes."""
        column, compare = lines[self.internal_name], _COMPARISONS[self.symbol]
        numeric = column.type().is_numeric() or self.symbol not in ("=", "!=")
        if numeric and not self.date and _is_number(self.value):
            return compare(column.try_cast("float64"), float(self.value)).fill_null(False)
        text = column.cast("string")
        return compare(text.replace("T", " ") if self.date else text, self.value).fill_null(False)

    def lacks_date(self, lines: "ir.Table") -> "ir.BooleanValue":
        """Whether a line has no date, such as 2024-01-31 or 2024-01-31 12:00:00, in its date column."""
        text = lines[self.internal_name].cast("string")
        return (~text.like("____-__-__%")).fill_null(True)


def parse(text: str) -> Filter:
    """Parse a filter such as 'segment=mobile' or 'depth>=2'."""
    match = _FILTER_TEXT.fullmatch(text)
    if not match:
        raise BadInput(f"--where {text!r} is not a comparison such as segment=mobile or depth>=2")
    column, symbol, value = match.groups()
    return Filter(column.strip(), symbol, value.strip())


def between(column: str, since: str | None, until: str | None) -> list[Filter]:
    """Filters for dates from `since` (inclusive) to `until` (exclusive).

    Dates are compared as text. So they must start with the year, and time zones are ignored.
    """
    filters = []
    for symbol, value in ((">=", since), ("<", until)):
        if value is not None:
            if not _DATE.fullmatch(value):
                raise BadInput(f"{value!r} is not a date such as 2024-01-31 or '2024-01-31 12:00:00'")
            filters.append(Filter(column, symbol, value.replace("T", " "), date=True))
    return filters


def _is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True
