"""Query: the counts of one query of a log, ready to be fitted."""

from typing import NamedTuple

from slotwise.counts import Counts


class Query(NamedTuple):
    """The counts of one query: one row per item and one column per position, with the names of both."""

    name: str
    items: list[str]
    positions: list[str]
    counts: Counts
