"""Check a store: its file, its tables and its checksums. Recompute all counts from the log, and compare them."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.service.pages.limits import MOST_POSITIONS
from slotwise.service.registers import NOTHING, changes
from slotwise.service.store.open_store import is_postgres
from slotwise.service.store.sqlite.file_lock import check_file
from slotwise.service.store.sqlite.sqlite_ledger import SqliteLedger
from slotwise.service.store.sqlite.sqlite_schema import check_current, check_ours, current_schema, schema
from slotwise.service.store.sqlite.sqlite_store import connect_to_read, path_of
from slotwise.service.store.tables.checksums import QUERIES, compute_checksum
from slotwise.service.store.tables.count_deltas import Deltas
from slotwise.service.store.tables.rate_deltas import KEYS
from slotwise.service.store.tables.sql_connection import SqlConnection
from slotwise.service.store.tables.sql_ledger import HOURS_PER_DAY, SqlLedger

CHUNK = 5_000  # displays read at a time, so that memory does not grow with the log
_MOST_LISTED = 20
_CONTRADICTIONS = {  # what is wrong, and a query that counts the rows
    "events without a display": "SELECT count(*) FROM events e WHERE NOT EXISTS "
    "(SELECT 1 FROM displays WHERE number = e.display)",
    "event ids without a display": "SELECT count(*) FROM event_ids e WHERE NOT EXISTS "
    "(SELECT 1 FROM displays WHERE number = e.display)",
    "counts below zero": "SELECT count(*) FROM counts WHERE clicks < 0 OR skips < 0",
    "snapshots below zero": "SELECT count(*) FROM base WHERE clicks < 0 OR skips < 0",
}
_INVALID_EVENTS = "SELECT count(*) FROM events WHERE kind NOT IN (0, 1, 2) OR entry < -1 OR entry >= ?"
_INVALID_TYPES = " OR typeof(entry) <> 'integer'"  # in SQLite, any column can have values of any type
_DECODING_ERRORS = (msgspec.MsgspecError, ValueError, TypeError, LookupError, ArithmeticError, RecursionError)


class Verification(NamedTuple):
    """How much was recomputed, and every difference between what the store has and what it should have."""

    displays: int
    events: int
    cells: int
    differences: list[str]


def verify(store: Path | str) -> Verification:
    """Check a store, and recompute its counts from its log. Meanwhile, services may be running on the store.

    `store` is the path of a SQLite file, or an address. Raises BadInput if the store cannot be read, or has another
    version of the tables.
    """
    if isinstance(store, str) and is_postgres(store):
        require("postgres", "a PostgreSQL store")
        from slotwise.service.store.postgres.postgres_store import read_postgres

        return read_postgres(store, verify_ledger)
    return _verify_file(store if isinstance(store, Path) else path_of(store))


def _verify_file(path: Path) -> Verification:
    if not path.is_file():
        raise BadInput(f"there is no store {str(path)!r}")
    check_file(path)
    connection = connect_to_read(path)
    connection.text_factory = lambda text: text.decode(errors="backslashreplace")  # damaged text fails later
    try:
        check_ours(connection, str(path))
        check_current(connection, str(path))
        connection.execute("BEGIN")  # one consistent snapshot, even if other groups are committed meanwhile
        return _verify(SqliteLedger(connection), list(_damage(connection)), _INVALID_EVENTS + _INVALID_TYPES)
    except (sqlite3.Error, UnicodeDecodeError, OverflowError) as error:  # SQLite quotes damaged text
        raise BadInput(f"cannot read the store {str(path)!r}: {error}") from None
    finally:
        connection.close()


def verify_ledger(ledger: SqlLedger) -> Verification:
    """Recompute the counts of a store that has no checksums."""
    return _verify(ledger, [], _INVALID_EVENTS)


def _verify(ledger: SqlLedger, damage: list[str], invalid_events: str) -> Verification:
    connection, lines = ledger.connection, damage
    lines += [f"{what}: {number:,}" for what, query in _CONTRADICTIONS.items() if (number := _count(connection, query))]
    displays, events = (_count(connection, f"SELECT count(*) FROM {table}") for table in ("displays", "events"))
    folded = Deltas()
    if invalid := _count(connection, invalid_events, (MOST_POSITIONS,)):
        lines.append(f"invalid events, so the counts cannot be recomputed: {invalid:,}")
    else:
        try:
            _fold(ledger, folded)
            lines += _count_differences(ledger, folded)
        except _DECODING_ERRORS as error:
            lines.append(f"the log cannot be decoded, so the counts cannot be recomputed: {error}")
    return Verification(displays, events, len(folded.cells), lines)


def _damage(connection: sqlite3.Connection) -> Iterator[str]:
    """Find damage of the file, changes of the schema, and tables that were changed by anything but a ledger."""
    for (line,) in connection.execute(f"PRAGMA integrity_check({_MOST_LISTED})"):
        if line != "ok":
            yield f"the file is damaged: {line}"
    for kind, name in sorted({row[:2] for row in schema(connection) ^ current_schema()}, key=str):
        yield f"the {kind} {name} is not defined as this version of the tables defines it"
    stored = dict(connection.execute("SELECT name, sum FROM checksums"))
    for name in sorted(stored.keys() | QUERIES.keys(), key=str):
        if name not in QUERIES:
            yield f"there is a checksum for {name}, which is not a table"
        elif compute_checksum(connection, name) != stored.get(name):
            yield f"the table {name} has rows that were not written by slotwise, or lacks rows: its checksum differs"


def _fold(ledger: SqlLedger, folded: Deltas) -> None:
    """Count the log."""
    last = 0
    while chunk := ledger.load("WHERE number > ? ORDER BY number LIMIT ?", (last, CHUNK)):
        for display in chunk:
            totals = display.registers.totals()
            if totals is not NOTHING:
                folded.change(display, changes(NOTHING, totals), totals.displays)
        last = chunk[-1].number


def _count_differences(ledger: SqlLedger, folded: Deltas) -> list[str]:
    connection = ledger.connection
    return [
        *_differences(
            "counts of page {}, epoch {}, item {}, segment {}, column {}",
            {key: tuple(change) for key, change in folded.cells.items() if any(change)},
            _counts(ledger),
        ),
        *_differences(
            "displays of page {}, epoch {}",
            {key: (number,) for key, number in folded.epochs.items() if number},
            _rows(connection, "SELECT * FROM epochs WHERE displays <> 0", 2),
        ),
        *_differences(
            "rates of page {}, hour {}, variant {}", *_rates(connection, "rates", "rates_from", folded.rates.hours)
        ),
        *_differences(
            "rates of page {}, day {}, allocation {}, variant {}, bucket {}",
            *_rates(connection, "daily_rates", f"rates_from / {HOURS_PER_DAY}", folded.rates.days),
        ),
    ]


def _counts(ledger: SqlLedger) -> dict[Any, tuple[Any, ...]]:
    """The counts of the log, without those that an import has replaced, which are deleted later."""
    replaced, pages = set(ledger.unused_snapshots()), ledger.pages_of_snapshots()
    rows = _rows(ledger.connection, "SELECT * FROM counts WHERE clicks <> 0 OR skips <> 0", 5)
    return {(pages.get(key[0], key[0]), *key[1:]): row for key, row in rows.items() if key[0] not in replaced}


def _rates(
    connection: SqlConnection, table: str, kept_from: str, folded: Mapping[Any, list[int]]
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The rates as the snapshot and the log say, and as the store has them, without those that are already deleted."""
    n_keys, time = len(KEYS[table]), KEYS[table].index("hour" if table == "rates" else "day")
    rates = {key: tuple(sums) for key, sums in folded.items()}
    for key, sums in _rows(connection, f"SELECT * FROM base_{table}", n_keys).items():
        rates[key] = tuple(map(sum, zip(rates.get(key, (0, 0, 0)), sums, strict=True)))
    first = dict(connection.execute(f"SELECT page, {kept_from} FROM pages"))
    stored = _rows(connection, f"SELECT * FROM {table}", n_keys)
    said, has = (
        {key: sums for key, sums in side.items() if any(sums) and key[time] >= first.get(key[0], 0)}
        for side in (rates, stored)
    )
    return said, has


def _rows(connection: SqlConnection, query: str, n_keys: int) -> dict[Any, tuple[Any, ...]]:
    return {tuple(row[:n_keys]): tuple(row[n_keys:]) for row in connection.execute(query)}


def _differences(what: str, folded: dict[Any, Any], stored: dict[Any, Any]) -> list[str]:
    keys = sorted((key for key in folded.keys() | stored.keys() if folded.get(key) != stored.get(key)), key=repr)
    listed = keys[:_MOST_LISTED]
    lines = [f"{what.format(*key)}: the log says {folded.get(key)}, the store has {stored.get(key)}" for key in listed]
    return lines + ([f"and {len(keys) - len(listed):,} more"] if len(keys) > len(listed) else [])


def _count(connection: SqlConnection, query: str, arguments: Sequence[Any] = ()) -> int:
    return int(connection.execute(query, arguments).fetchone()[0])
