"""Query: what a log says of one query or page, ready to be fitted."""

from typing import NamedTuple

from slotwise.counts import Counts


class Query(NamedTuple):
    """The counts of one query or page: a row for each item, a column for each position, both by name."""

    name: str
    items: list[str]
    positions: list[str]
    counts: Counts
