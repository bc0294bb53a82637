"""The log of a store: displays, their events, and how both change the counts."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import msgspec

from slotwise.service.registers import Counting, EventKind, EventStatus, Registers
from slotwise.service.store.records import (
    Display,
    DisplayChange,
    DisplayEntry,
    Event,
    EventOutcome,
    LogRow,
    RecordedEvents,
)
from slotwise.service.store.tables.bulk_insert import insert
from slotwise.service.store.tables.checksums import DISPLAY
from slotwise.service.store.tables.count_deltas import Deltas
from slotwise.service.store.tables.definitions import decode_body
from slotwise.service.store.tables.event_ids import EventIds
from slotwise.service.store.tables.snapshot_table import SnapshotTable
from slotwise.service.store.tables.sql_connection import SqlConnection

MOST_CACHED = 20_000  # displays with their registers, kept in memory
IDS_PER_EVENT = 4  # ids kept for each possible event of a display, that is, a click on each entry, a view, a discard
_entries = msgspec.json.Decoder(list[DisplayEntry])
_encode = msgspec.json.Encoder().encode
EventRow = tuple[int, int, int, int, float]  # display, kind, entry, accepted, received
_REPEATED = (
    "ON CONFLICT (display, kind, entry) DO UPDATE SET received = excluded.received, "
    "accepted = CASE WHEN events.accepted > excluded.accepted THEN events.accepted ELSE excluded.accepted END"
)
_TOO_MANY_IDS = "too many event ids for this display; repeat the event with the id it had first"


class _Target(msgspec.Struct, frozen=True, gc=False):
    """The display that an event is about, and the index of its entry, or -1 if the event is about no entry."""

    display: Display
    entry: int


class DisplayLog(SnapshotTable):
    """The operations of a ledger on displays and events. `Ledger` describes them."""

    _SINCE = "number"  # the column of displays that is compared with `counted_from` of the page

    def __init__(self, connection: SqlConnection) -> None:
        super().__init__(connection)
        self._cached: OrderedDict[str, Display] = OrderedDict()
        self._deltas = Deltas()
        self._leaving = self._deltas  # of displays that leave the log for the snapshot
        self.forget()

    def forget(self) -> None:
        """Drop all caches, so that everything is read from the tables again."""
        self._cached.clear()
        self._snapshots.clear()
        self._deltas.clear()
        self._checksums.clear()
        self._dropped: list[Display] = []

    def flush(self) -> None:
        """Write the changes of counts and checksums that were summed so far."""
        self._deltas.write(self._connection, self._checksums, self._snapshot_of)
        self._checksums.write()

    def _insert_displays(self, displays: list[Display]) -> list[Display]:
        """Number displays and add them to the table. Returns those whose ids were not in the table."""
        raise NotImplementedError

    def add(self, displays: list[Display]) -> None:
        """Add displays to the log. Count those whose page counts displays when they are issued.

        If the log already has a display with the same id, the new display is dropped. This can happen if the caller's
        cache has evicted the older display.
        """
        for display in displays:
            if display.registers.any_accepted:  # from a group that was rolled back and is tried again
                display.registers = Registers(display.registers.size, display.registers.counting)
        added = self._insert_displays(displays)
        if len(added) < len(displays):
            kept = {id(display) for display in added}
            self._dropped += [display for display in displays if id(display) not in kept]
        for display in added:
            self._cache(display)
        self._deltas.issue([display for display in added if display.registers.count_at_once])

    def issue(self, display: Display) -> Display:
        self.add([display])
        if not self._dropped or self._dropped[-1] is not display:
            return display
        self._dropped.pop()
        winner = self.display(display.id)
        assert winner is not None
        return winner

    def take_dropped(self) -> list[Display]:
        """The displays that `add` has dropped since the last call of this method."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def display(self, id: str) -> Display | None:
        cached = self._cached.get(id)
        if cached is not None:
            self._cached.move_to_end(id)
            return cached
        rows = self.load("WHERE id = ?", (id,))
        if not rows:
            return None
        self._cache(rows[0])
        return rows[0]

    def record_events(self, events: list[Event], now: float) -> RecordedEvents:
        targets = [self._find_target(event) for event in events]
        pairs = list(zip(events, targets, strict=True))
        known = [(event.id, target.display) for event, target in pairs if isinstance(target, _Target)]
        ids = EventIds(self._connection, self._checksums, known)
        recorded = RecordedEvents([], [])
        rows: list[EventRow] = []
        for event, target in pairs:
            if isinstance(target, EventOutcome):
                recorded.outcomes.append(target)
                continue
            display, entry = target.display, target.entry
            key = (display.number, int(event.kind), entry)
            status: EventStatus
            detail = ""
            if event.id is not None and ids.is_taken(event.id, key):
                status, detail = "conflict", "this event id was used for another event"
            else:
                status = self._apply_event(display, event.kind, entry, now, recorded.changes)
                most = None if status == "accepted" else IDS_PER_EVENT * (display.registers.size + 2)
                if event.id is not None and not ids.claim(event.id, key, most):
                    status, detail = "rejected", _TOO_MANY_IDS
                elif status != "duplicate":
                    rows.append((*key, int(status == "accepted"), now))
            recorded.outcomes.append(EventOutcome(status, detail, display.page))
        if rows:
            self._add_events(rows)
        ids.write()
        return recorded

    def _add_events(self, rows: list[EventRow]) -> None:
        """Log events. A late event may be in the log already. It is accepted now if the clock was set back."""
        new = set(insert(self._connection, "events", rows, "ON CONFLICT DO NOTHING RETURNING display, kind, entry"))
        by_key = {row[:3]: row for row in reversed(rows)}  # the first row of a key is the one that was inserted
        self._checksums.add("events", [by_key[key] for key in new])
        for row in rows:
            if row is by_key[row[:3]] and row[:3] in new:
                continue
            with self._checksums.changing("events", "display = ? AND kind = ? AND entry = ?", row[:3]):
                insert(self._connection, "events", [row], _REPEATED)

    def _find_target(self, event: Event) -> _Target | EventOutcome:
        """The target of an event, or the outcome of the event if it has no target."""
        display = self.display(event.display)
        if display is None or event.nonce not in (None, display.nonce):
            return EventOutcome("unknown", "no such display", None)
        if event.page not in (None, display.page):
            return EventOutcome("rejected", "the token is for another page", None)
        entry = -1 if event.position is None else display.entry_index(event.position)
        needs_entry = event.kind is EventKind.CLICK or (event.kind is EventKind.VIEW and event.position is not None)
        if needs_entry and entry < 0:
            return EventOutcome("rejected", "the display shows no item at this position", None)
        return _Target(display, entry if event.kind is EventKind.CLICK else -1)

    def _apply_event(
        self, display: Display, kind: EventKind, entry: int, now: float, changed: list[DisplayChange]
    ) -> EventStatus:
        """Apply an event to the registers of its display.

        If this changes the counts, append the change to `changed`.
        """
        status, entry_changes, displays = display.registers.record(kind, entry, now <= display.until)
        if entry_changes or displays:
            self._deltas.change(display, entry_changes, displays)
            if display.counted:
                changed.append(DisplayChange(display, entry_changes, displays))
        return status

    def _cache(self, display: Display) -> None:
        display.arrangement = None  # its texts take more memory than the rest of a display, and are not needed again
        self._cached[display.id] = display
        if len(self._cached) > MOST_CACHED:
            self._cached.popitem(last=False)

    def load(self, where: str, arguments: tuple[object, ...]) -> list[Display]:
        """Load displays from the tables, and recompute their registers from the log."""
        rows = self._run(self._select_displays(where), arguments).fetchall()
        if not rows:
            return []
        marks = ", ".join("?" * len(rows))
        events = f"SELECT display, kind, entry FROM events WHERE accepted = 1 AND display IN ({marks})"
        return displays_of(rows, self._run(events, [row[0] for row in rows]))

    def _select_displays(self, where: str) -> str:
        counted = f"{self._SINCE} >= (SELECT counted_from FROM pages WHERE pages.page = displays.page)"
        return f"SELECT {DISPLAY}, {counted} FROM displays {where}"

    def log(self, page: int, after: int, most: int) -> list[LogRow]:
        items = [name for (name,) in self._run("SELECT name FROM items WHERE page = ? ORDER BY number", (page,))]
        (body,) = self._run("SELECT body FROM pages WHERE page = ?", (page,)).fetchone()
        segments = decode_body(body).segments
        # displays without entries are left out, because `most` of them would give no rows, as at the end of the log
        displays = self.load(
            "WHERE page = ? AND number > ? AND entries != '[]' ORDER BY number LIMIT ?", (page, after, most)
        )
        return [row for display in displays for row in _log_rows(display, items, segments)]

    def _delete_displays(self, numbers: list[int]) -> None:
        """Delete displays and their events from the log."""
        for table, column in (("events", "display"), ("event_ids", "display"), ("displays", "number")):
            self._checksums.remove_all(table, column, numbers)
            rows = [(number,) for number in numbers]
            self._connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", rows)


def display_row(display: Display) -> tuple[object, ...]:
    """The values of the columns `DISPLAY`."""
    return (
        display.number,
        display.id,
        display.nonce,
        display.page,
        display.layout,
        display.segment,
        float(display.issued),  # as SQLite returns it
        float(display.until),
        float(display.drop_after),
        display.variant,
        display.epoch,
        display.allocation,
        display.bucket,
        int(display.registers.counting),
        _logged_entries(display),
    )


def _logged_entries(display: Display) -> str:
    """The entries as JSON. Many displays share an arrangement, which keeps the text."""
    arrangement = display.arrangement
    if arrangement is None:
        return _encode(display.entries).decode()
    if arrangement.logged is None:
        arrangement.logged = _encode(display.entries).decode()
    return arrangement.logged


def displays_of(rows: Iterable[tuple[Any, ...]], events: Iterable[tuple[int, int, int]]) -> list[Display]:
    """Displays, with the registers that follow from their accepted events."""
    displays = {row[0]: _display(row) for row in rows}
    for number, kind, entry in events:
        displays[number].registers.apply(EventKind(kind), entry, True)
    return list(displays.values())


def _display(row: tuple[Any, ...]) -> Display:
    number, *fields, allocation, bucket, counting, text, counted = row
    entries = _entries.decode(text)
    display = Display(*fields, Registers(len(entries), Counting(counting)), entries, number)  # type: ignore[call-arg]
    display.allocation, display.bucket = allocation, bucket
    display.counted = counted != 0  # NULL if the page is missing, which `verify` reports
    return display


def _log_rows(display: Display, items: list[str], segments: list[str]) -> Iterable[LogRow]:
    totals, registers = display.registers.totals(), display.registers
    for index, entry in enumerate(display.entries):
        yield LogRow(
            display.number,
            display.id,
            display.issued,
            display.layout,
            segments[display.segment],
            display.variant,
            display.allocation,
            display.bucket,
            entry.value,
            entry.position,
            items[entry.item],
            entry.propensity,
            totals.displays > 0 and display.counted,
            bool(registers.clicked >> index & 1),
            registers.discarded,
        )
