"""Query: the counts of one query of a log, ready to be fitted."""

from typing import NamedTuple

from slotwise.counts import Counts


class Query(NamedTuple):
    """The counts of one query, and the names of its items and positions. A row is an item, a column is a position.

    >>> counts = Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> Query("hats", items=["felt", "straw"], positions=["top", "side"], counts=counts).name
    'hats'
    """

    name: str
    items: list[str]
    positions: list[str]
    counts: Counts
