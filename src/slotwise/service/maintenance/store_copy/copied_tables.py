"""The tables that a copy of a store has, in a form that is the same for every store."""

from typing import NamedTuple

from slotwise.service.store.tables.checksums import DISPLAY
from slotwise.service.store.tables.key_table import COPYING
from slotwise.service.store.tables.rate_deltas import KEYS, SUMS

_PAGE = (
    "page, name, version, archived, body, revision, epoch, epoch_began, base_epoch, base_displays, rates_from, "
    "unit_secret, allocation, imported_epoch, counted_from"
)
_CELL = 'page, item, segment, "column"'
_HISTORY = "page, number, time, key, name, action, subject, before, after"
_KEY = "id, digest, name, scopes, pages, origins, rate, created, expires, revoked, last_used"


class CopiedTable(NamedTuple):
    """A table, its columns, and how many of them, the first ones, identify a row. Rows are copied in this order."""

    name: str
    columns: list[str]
    n_keys: int
    n_compared: int  # the other columns are the same in the sense of each store only
    where: str = "1 = 1"

    @property
    def keys(self) -> list[str]:
        return self.columns[: self.n_keys]


def _table(name: str, columns: str, n_keys: int = 1, where: str = "1 = 1", uncompared: int = 0) -> CopiedTable:
    names = columns.split(", ")
    return CopiedTable(name, names, n_keys, len(names) - uncompared, where)


def _rates(name: str, prefix: str = "") -> CopiedTable:
    keys, sums = KEYS[name], SUMS[name]
    above = " OR ".join(f"{column} <> 0" for column in sums)
    return _table(f"{prefix}{name}", ", ".join((*keys, *sums)), len(keys), above)


FILLED = ("pages", "keys", "displays", "history")  # a store is empty if it has no row in these tables
TABLES = [
    _table("meta", "key, value", where=f"key NOT IN ('heartbeat', '{COPYING}')"),
    _table("pages", _PAGE, uncompared=1),
    _table("items", "page, number, name, body, version", 2),
    _table("keys", _KEY),
    _table("history", _HISTORY, 2),
    _table("base", f"{_CELL}, clicks, skips, epoch", 4),
    _rates("rates", "base_"),
    _rates("daily_rates", "base_"),
    _table("counts", 'page, epoch, item, segment, "column", clicks, skips', 5, "clicks <> 0 OR skips <> 0"),
    _table("epochs", "page, epoch, displays", 2, "displays <> 0"),
    _rates("rates"),
    _rates("daily_rates"),
    _table("displays", f"{DISPLAY}, counted"),
    _table("events", "display, kind, entry, accepted, received", 3),
    _table("event_ids", "id, display, kind, entry"),
]
