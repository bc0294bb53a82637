"""Recompute all counts from the log, and compare them with the counts in the store."""

import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.service.registers import NOTHING, changes
from slotwise.service.store.count_deltas import Deltas
from slotwise.service.store.file_lock import check_file
from slotwise.service.store.migrations import check_current, check_ours
from slotwise.service.store.sqlite import connect_to_read
from slotwise.service.store.sqlite_ledger import SqliteLedger

CHUNK = 5_000  # displays read at a time, so that memory does not grow with the log
_MOST_LISTED = 20


class Verification(NamedTuple):
    """How much was recomputed, and every difference between the log and the counts."""

    displays: int
    events: int
    cells: int
    differences: list[str]


def verify(path: Path) -> Verification:
    """Recompute the counts of a store from its log. Meanwhile, a service may be running on the store."""
    if not path.is_file():
        raise BadInput(f"there is no store {str(path)!r}")
    check_file(path)
    connection = connect_to_read(path)
    try:
        check_ours(connection, str(path))
        check_current(connection, str(path))
        connection.execute("BEGIN")  # one consistent snapshot, even if other groups are committed meanwhile
        return _verify(connection)
    except sqlite3.Error as error:
        raise BadInput(f"cannot read the store {str(path)!r}: {error}") from None
    finally:
        connection.close()


def _verify(connection: sqlite3.Connection) -> Verification:
    folded, displays = _fold(connection)
    differences = _differences(
        "counts of page {}, epoch {}, item {}, segment {}, column {}",
        {key: tuple(change) for key, change in folded.cells.items() if any(change)},
        {tuple(row[:5]): tuple(row[5:]) for row in connection.execute("SELECT * FROM counts") if any(row[5:])},
    )
    differences += _differences(
        "displays of page {}, epoch {}",
        {key: number for key, number in folded.epochs.items() if number},
        {tuple(row[:2]): row[2] for row in connection.execute("SELECT * FROM epochs WHERE displays")},
    )
    differences += _inconsistencies(connection)
    (events,) = connection.execute("SELECT count(*) FROM events").fetchone()
    return Verification(displays, events, len(folded.cells), differences)


def _fold(connection: sqlite3.Connection) -> tuple[Deltas, int]:
    ledger, folded, last, displays = SqliteLedger(connection), Deltas(), 0, 0
    while chunk := ledger.load("WHERE number > ? ORDER BY number LIMIT ?", (last, CHUNK)):
        for display in chunk:
            totals = display.registers.totals()
            if totals is not NOTHING:
                folded.change(display, changes(NOTHING, totals), totals.displays)
        last, displays = chunk[-1].number, displays + len(chunk)
    return folded, displays


def _differences(what: str, folded: dict[tuple[int, ...], object], stored: dict[tuple[int, ...], object]) -> list[str]:
    keys = sorted(key for key in folded.keys() | stored.keys() if folded.get(key) != stored.get(key))
    listed = keys[:_MOST_LISTED]
    lines = [f"{what.format(*key)}: the log says {folded.get(key)}, the store has {stored.get(key)}" for key in listed]
    return lines + ([f"and {len(keys) - len(listed):,} more"] if len(keys) > len(listed) else [])


def _inconsistencies(connection: sqlite3.Connection) -> list[str]:
    """Find rows that contradict each other."""
    numbers: dict[str, int] = defaultdict(int)
    for what, query in (
        ("events without a display", "SELECT count(*) FROM events WHERE display NOT IN (SELECT number FROM displays)"),
        (
            "event ids without a display",
            "SELECT count(*) FROM event_ids WHERE display NOT IN (SELECT number FROM displays)",
        ),
        ("counts below zero", "SELECT count(*) FROM counts WHERE clicks < 0 OR skips < 0"),
        ("snapshots below zero", "SELECT count(*) FROM base WHERE clicks < 0 OR skips < 0"),
    ):
        (numbers[what],) = connection.execute(query).fetchone()
    return [f"{number:,} {what}" for what, number in numbers.items() if number]
