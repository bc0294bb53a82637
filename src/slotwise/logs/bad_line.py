"""BadLine: a malformed line of a log."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from slotwise.logs.line_status import LineStatus


class BadLine(NamedTuple):
    """One malformed line. Lines are numbered from 1 in each file."""

    file: str
    line: int
    status: LineStatus
    text: str
    values: Mapping[str, Any]  # schema field -> the value that was read
