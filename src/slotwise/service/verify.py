"""Recompute all counts from the log, and compare them with those that were kept up to date."""

import sqlite3
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from slotwise.checks import BadInput
from slotwise.service.registers import NOTHING, changes
from slotwise.service.store.deltas import Deltas
from slotwise.service.store.ledger import SqliteLedger
from slotwise.service.store.migrations import check_current, check_ours
from slotwise.service.store.sqlite import connect_to_read

CHUNK = 5_000  # displays at a time: memory does not grow with the log
_SHOWN = 20


class Verdict(NamedTuple):
    """What was recomputed, and every difference that was found."""

    displays: int
    events: int
    cells: int
    differences: list[str]


def verify(path: Path) -> Verdict:
    """Fold the whole log of a store anew; a service may be running on it meanwhile."""
    if not path.is_file():
        raise BadInput(f"there is no store {str(path)!r}")
    connection = connect_to_read(path)
    try:
        check_ours(connection, str(path))
        check_current(connection, str(path))
        connection.execute("BEGIN")  # one view of the store, whatever is committed meanwhile
        return _verify(connection)
    except sqlite3.Error as error:
        raise BadInput(f"cannot read the store {str(path)!r}: {error}") from None
    finally:
        connection.close()


def _verify(connection: sqlite3.Connection) -> Verdict:
    folded, displays = _fold(connection)
    found = _differences(
        "counts of page {}, epoch {}, item {}, segment {}, column {}",
        {key: tuple(change) for key, change in folded.cells.items() if any(change)},
        {tuple(row[:5]): tuple(row[5:]) for row in connection.execute("SELECT * FROM counts") if any(row[5:])},
    )
    found += _differences(
        "displays of page {}, epoch {}",
        {key: number for key, number in folded.epochs.items() if number},
        {tuple(row[:2]): row[2] for row in connection.execute("SELECT * FROM epochs WHERE displays")},
    )
    found += _broken(connection)
    (events,) = connection.execute("SELECT count(*) FROM events").fetchone()
    return Verdict(displays, events, len(folded.cells), found)


def _fold(connection: sqlite3.Connection) -> tuple[Deltas, int]:
    ledger, folded, last, displays = SqliteLedger(connection), Deltas(), 0, 0
    while chunk := ledger.load("WHERE number > ? ORDER BY number LIMIT ?", (last, CHUNK)):
        for display in chunk:
            total = display.registers.total()
            if total is not NOTHING:
                folded.change(display, changes(NOTHING, total), total.displays)
        last, displays = chunk[-1].number, displays + len(chunk)
    return folded, displays


def _differences(what: str, folded: dict[tuple[int, ...], object], kept: dict[tuple[int, ...], object]) -> list[str]:
    keys = sorted(key for key in folded.keys() | kept.keys() if folded.get(key) != kept.get(key))
    lines = [f"{what.format(*key)}: the log says {folded.get(key)}, kept is {kept.get(key)}" for key in keys[:_SHOWN]]
    return lines + ([f"and {len(keys) - _SHOWN:,} more"] if len(keys) > _SHOWN else [])


def _broken(connection: sqlite3.Connection) -> list[str]:
    """What the tables say of each other that cannot be."""
    found: dict[str, int] = defaultdict(int)
    for what, query in (
        ("events of no display", "SELECT count(*) FROM events WHERE display NOT IN (SELECT number FROM displays)"),
        (
            "event ids of no display",
            "SELECT count(*) FROM event_ids WHERE display NOT IN (SELECT number FROM displays)",
        ),
        ("counts below zero", "SELECT count(*) FROM counts WHERE clicks < 0 OR skips < 0"),
        ("snapshots below zero", "SELECT count(*) FROM base WHERE clicks < 0 OR skips < 0"),
    ):
        (found[what],) = connection.execute(query).fetchone()
    return [f"{number:,} {what}" for what, number in found.items() if number]
