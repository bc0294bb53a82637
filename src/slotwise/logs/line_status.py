"""The status of a log line: counted, filtered out, or malformed for one of several reasons."""

from enum import IntEnum


class LineStatus(IntEnum):
    """What happens to a line. If a line has several problems, the first one found is reported."""

    COUNTED = 0
    BAD_COLUMNS = 1
    BAD_DATE = 2
    BAD_NUMBER = 3
    BAD_CLICKS = 4
    BAD_POSITION = 5
    MISSING_NAME = 6
    BAD_ENCODING = 7
    FILTERED_OUT = 8  # well-formed, but excluded by a filter


WELL_FORMED = (LineStatus.COUNTED, LineStatus.FILTERED_OUT)
_DESCRIPTIONS = {
    LineStatus.BAD_COLUMNS: "wrong number of columns",
    LineStatus.BAD_DATE: "invalid or missing date",
    LineStatus.BAD_NUMBER: "a field that must be a whole number is not",
    LineStatus.BAD_CLICKS: "negative clicks, or more clicks than impressions",
    LineStatus.BAD_POSITION: "unknown position",
    LineStatus.MISSING_NAME: "the query or the item is missing",
    LineStatus.BAD_ENCODING: "not UTF-8",
}


def describe_status(status: LineStatus, kind: str) -> str:
    """What is wrong with a malformed line of a file of this kind."""
    if status is LineStatus.BAD_COLUMNS and kind == "ndjson":
        return "not a JSON object with the expected fields"
    return _DESCRIPTIONS[status]
