"""The operations of the SQLite store. They run in a group's transaction, on the thread that owns the connection."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from slotwise.service.store.records import Display
from slotwise.service.store.tables.bulk_insert import insert
from slotwise.service.store.tables.checksums import DISPLAY
from slotwise.service.store.tables.display_log import EventRow, display_row
from slotwise.service.store.tables.sql_ledger import SqlLedger


class SqliteLedger(SqlLedger):
    """Reads and writes the tables of a SQLite store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._sqlite = connection
        super().__init__(connection)

    def forget(self) -> None:
        super().forget()
        self._last: int | None = None

    def check_writable(self) -> None:
        self._run("UPDATE meta SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) WHERE key = 'heartbeat'")

    def _last_number(self) -> int:
        """The highest number that was ever assigned to a display. Numbers follow the order of the commits."""
        if self._last is None:
            row = self._run("SELECT seq FROM sqlite_sequence WHERE name = 'displays'").fetchone()
            self._last = row[0] if row else 0
        return self._last

    def _insert_displays(self, displays: list[Display]) -> list[Display]:
        first = self._last_number() + 1
        for number, display in enumerate(displays, first):
            display.number = number
        rows = [display_row(display) for display in displays]
        added = rows
        before = self._sqlite.total_changes
        insert(self._connection, f"displays ({DISPLAY})", rows, "ON CONFLICT (id) DO NOTHING")
        if self._sqlite.total_changes - before < len(displays):
            numbers = {number for (number,) in self._run("SELECT number FROM displays WHERE number >= ?", (first,))}
            displays = [display for display in displays if display.number in numbers]
            added = [row for row in rows if row[0] in numbers]
        self._checksums.add("displays", added)
        self._last = None  # SQLite may have counted the numbers of dropped displays too
        self._checksums.replace("last_number", [(first - 1,)], [(self._last_number(),)])
        return displays

    def _add_events(self, rows: list[EventRow]) -> None:
        """Log events. Usually none of them is in the log. Then no statement has to return rows, which takes longer."""
        before = self._sqlite.total_changes
        self._run("SAVEPOINT events")
        insert(self._connection, "events", rows, "ON CONFLICT DO NOTHING")
        if self._sqlite.total_changes - before == len(rows):
            self._checksums.add("events", rows)
        else:
            self._run("ROLLBACK TO events")
            super()._add_events(rows)
        self._run("RELEASE events")

    def _next_counted(self, _page: int) -> int:
        return self._last_number() + 1

    @contextmanager
    def _overwriting(self) -> Iterator[None]:
        """Overwrite what is deleted within the block, so that it cannot be read from the file."""
        (overwrites,) = self._run("PRAGMA secure_delete").fetchone()
        self._run("PRAGMA secure_delete = ON")
        try:
            yield
        finally:
            if not overwrites:
                self._run("PRAGMA secure_delete = OFF")
