"""Checksums of the tables. With them, `verify` notices every change that was not made through a ledger.

The checksum of a table is the sum of the hashes of its rows. So a group that adds a row hashes only this row. The
checksums find damage and edits by hand. They do not stop an attacker, who can write new checksums too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import msgspec

from slotwise.service.store.tables.sql_connection import Rows, SqlConnection

MODULUS = 1 << 61  # the sum of two checksums is still an integer for SQLite
DISPLAY = (
    "number, id, nonce, page, layout, segment, issued, until, drop_after, variant, epoch, allocation, bucket, "
    "counting, entries"
)
QUERIES = {  # what is checked: counts, epochs and rates are not listed, because `verify` computes them from the others
    "meta": "SELECT key, value FROM meta WHERE key <> 'heartbeat'",
    "pages": "SELECT page, name, version, archived, body, epoch, epoch_began, counted_from, base_epoch, base_displays, "
    "rates_from, unit_secret, allocation, imported_epoch FROM pages WHERE 1 = 1",
    "revisions": "SELECT page, revision FROM pages WHERE 1 = 1",
    "items": "SELECT page, number, name, body, version FROM items WHERE 1 = 1",
    "displays": f"SELECT {DISPLAY} FROM displays WHERE 1 = 1",
    "last_number": "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'displays'",
    "events": "SELECT display, kind, entry, accepted, received FROM events WHERE 1 = 1",
    "event_ids": "SELECT id, display, kind, entry FROM event_ids WHERE 1 = 1",
    "base": 'SELECT page, item, segment, "column", clicks, skips, epoch FROM base WHERE 1 = 1',
    "base_rates": "SELECT page, hour, variant, displays, shown, clicks FROM base_rates WHERE 1 = 1",
    "base_daily_rates": "SELECT page, day, allocation, variant, bucket, displays, clicks, value FROM base_daily_rates "
    "WHERE 1 = 1",
    "history": "SELECT page, number, time, key, name, action, subject, before, after FROM history WHERE 1 = 1",
    "keys": "SELECT id, digest, name, scopes, pages, origins, rate, created, expires, revoked, last_used FROM keys "
    "WHERE 1 = 1",
}
_encode = msgspec.msgpack.Encoder().encode
_empty = blake2b(digest_size=8)  # to copy it takes less time than to create one for each row
_MOST_VALUES = 500  # in one list of a statement


class Checksums:
    """Collects the changes of the checksums in one transaction. `write` adds them to the table."""

    def __init__(self, connection: SqlConnection) -> None:
        self._connection = connection
        self._changes: dict[str, int] = defaultdict(int)

    def clear(self) -> None:
        self._changes.clear()

    def add(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        """Note rows that were added. They must have the values and the types that SQLite returns for them."""
        self._changes[name] += sum(map(hash_of, rows))

    def replace(self, name: str, before: Iterable[Sequence[Any]], after: Iterable[Sequence[Any]]) -> None:
        """Note rows that were changed, as they were and as they are."""
        self._changes[name] += sum(map(hash_of, after)) - sum(map(hash_of, before))

    def remove(self, name: str, where: str = "1 = 1", arguments: Sequence[Any] = ()) -> None:
        """Note rows that will be deleted. Call this before the deletion."""
        self._changes[name] -= sum(map(hash_of, self._select(name, where, arguments)))

    def remove_all(self, name: str, column: str, values: Sequence[Any]) -> None:
        """Note that the rows whose column has one of these values will be deleted."""
        for first in range(0, len(values), _MOST_VALUES):
            chunk = values[first : first + _MOST_VALUES]
            self.remove(name, f"{column} IN ({', '.join('?' * len(chunk))})", chunk)

    @contextmanager
    def changing(self, name: str, where: str, arguments: Sequence[Any] = ()) -> Iterator[None]:
        """Note how the rows that satisfy a condition change within the block."""
        self.remove(name, where, arguments)
        yield
        self.add(name, self._select(name, where, arguments))
        self.write()

    def write(self) -> None:
        """Add the changes to the table. Another process may have changed the table since the last time."""
        rows = [(change % MODULUS, name) for name, change in self._changes.items() if change]
        if rows:
            statement = f"UPDATE checksums SET sum = (sum + ?) % {MODULUS} WHERE name = ?"
            self._connection.executemany(statement, rows)
        self.clear()

    def _select(self, name: str, where: str, arguments: Sequence[Any]) -> Rows:
        return self._connection.execute(f"{QUERIES[name]} AND {where}", arguments)


def hash_of(row: Sequence[Any]) -> int:
    """The hash of one row."""
    hashed = _empty.copy()
    hashed.update(_encode(row))
    return int.from_bytes(hashed.digest(), "big") % MODULUS


def compute_checksum(connection: SqlConnection, name: str) -> int:
    """The checksum of the rows that are in the store now."""
    return sum(map(hash_of, connection.execute(QUERIES[name]))) % MODULUS


def rebuild_checksums(connection: SqlConnection, names: Iterable[str] = tuple(QUERIES)) -> None:
    """Compute checksums. Migrations and copies call this, because they change the tables without a ledger."""
    rows = [(name, compute_checksum(connection, name)) for name in names]
    connection.executemany("INSERT OR REPLACE INTO checksums VALUES (?, ?)", rows)
