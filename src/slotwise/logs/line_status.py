"""What can be wrong with a line of a log."""

from enum import IntEnum


class Bad(IntEnum):
    """Why a line is not counted; the first reason that applies."""

    NOTHING = 0  # it is counted
    COLUMNS = 1
    DATE = 2
    NUMBER = 3
    CLICKS = 4
    POSITION = 5
    MISSING = 6
    ENCODING = 7
    LEFT_OUT = 8  # nothing is wrong with it: a filter asked for others


_REASONS = {
    Bad.COLUMNS: "wrong number of columns",
    Bad.DATE: "no date where one belongs",
    Bad.NUMBER: "no whole number where one belongs",
    Bad.CLICKS: "clicks above impressions",
    Bad.POSITION: "no such position",
    Bad.MISSING: "no page or no item",
    Bad.ENCODING: "not UTF-8",
}


def reason(bad: Bad, kind: str) -> str:
    """Why a line of such a file is not counted, in words."""
    if bad is Bad.COLUMNS and kind == "ndjson":
        return "no JSON object with these fields"
    return _REASONS[bad]
