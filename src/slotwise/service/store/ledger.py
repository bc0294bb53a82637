"""The operations of the SQLite store: what runs inside a group's transaction, on the thread that owns it."""

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from slotwise.service.errors import StaleVersion
from slotwise.service.fading import weight
from slotwise.service.registers import NOTHING, Counting, Kind, Registers, Status, changes
from slotwise.service.store.bulk_insert import insert
from slotwise.service.store.definitions import Definitions, body_of
from slotwise.service.store.deltas import HOUR, Deltas
from slotwise.service.store.event_ids import EventIds
from slotwise.service.store.interface import (
    Cell,
    Display,
    Event,
    LogRow,
    Move,
    PageCounts,
    Place,
    Rate,
    Received,
)

MOST_CACHED = 20_000  # displays with their registers, beside the tables
KEEP_RATES = 90 * 24  # hours
IDS_FOR_EACH = 4  # of a display's clicks, view and discard: so many ids of events are kept
_DISPLAY = "number, id, nonce, page, layout, segment, issued, until, drop_after, variant, epoch, counting, entries"
_places = msgspec.json.Decoder(list[Place])
_encode = msgspec.json.Encoder().encode


class SqliteLedger(Definitions):
    """Reads and writes the tables. After a failed transaction `forget` must be called."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self._many = connection.executemany
        self._cached: OrderedDict[str, Display] = OrderedDict()
        self._deltas = Deltas()
        self.forget()

    def forget(self) -> None:
        """Remember nothing but what the tables say."""
        self._cached.clear()
        self._deltas.clear()
        self._dropped: list[Display] = []
        self._last: int | None = None

    def _last_number(self) -> int:
        """The highest number that a display was ever given."""
        if self._last is None:
            row = self._run("SELECT seq FROM sqlite_sequence WHERE name = 'displays'").fetchone()
            self._last = row[0] if row else 0
        return self._last

    def flush(self) -> None:
        """Write the changes of counts that were summed so far."""
        self._deltas.write(self._connection)

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def beat(self) -> None:
        """Write something, to see whether the store can."""
        self._run("UPDATE meta SET value = value + 1 WHERE key = 'heartbeat'")

    # displays and events

    def add(self, displays: list[Display]) -> None:
        """Put displays into the log and count those that count from their issue.

        An id that is in the log already stays with the display that had it first: memory may have forgotten that one.
        The other one is dropped.
        """
        first = self._last_number() + 1
        for number, display in enumerate(displays, first):
            display.number = number
            if display.registers.moved:  # by a group that was rolled back and is now tried again
                display.registers = Registers(display.registers.size, display.registers.counting)
        self._last = first + len(displays) - 1
        before = self._connection.total_changes
        insert(
            self._connection,
            f"displays ({_DISPLAY})",
            [_row(display) for display in displays],
            "ON CONFLICT (id) DO NOTHING",
        )
        if self._connection.total_changes - before < len(displays):
            there = {number for (number,) in self._run("SELECT number FROM displays WHERE number >= ?", (first,))}
            self._dropped += [display for display in displays if display.number not in there]
            displays = [display for display in displays if display.number in there]
        for display in displays:
            self._cache(display)
            if display.registers.total() is not NOTHING:
                self._deltas.issue(display)

    def take_dropped(self) -> list[Display]:
        """The displays that were dropped since this was last asked."""
        dropped, self._dropped = self._dropped, []
        return dropped

    def display(self, id: str) -> Display | None:
        """A display that is still in the log, with its registers."""
        found = self._cached.get(id)
        if found is not None:
            self._cached.move_to_end(id)
            return found
        rows = self.load("WHERE id = ?", (id,))
        if not rows:
            return None
        self._cache(rows[0])
        return rows[0]

    def receive(self, events: list[Event], now: float) -> Received:
        """Decide what becomes of each event, move the registers, change the counts."""
        read = [self._read(event) for event in events]
        ids = EventIds(self._connection, [(event.id, one[2]) for event, one in zip(events, read, strict=True)])
        answer = Received([], [])
        moves: list[tuple[int, int, int, bool, float]] = []
        for event, (status, why, display, place) in zip(events, read, strict=True):
            if display is not None:
                about = (display.number, int(event.kind), place)
                if event.id is not None and ids.names_another(event.id, about):
                    status, why = "conflict", "this event id was used for another event"
                else:
                    status = self._move(display, event.kind, place, now, answer.moves)
                    most = None if status == "accepted" else IDS_FOR_EACH * (display.registers.size + 2)
                    if event.id is not None and not ids.claim(event.id, about, most):
                        status, why = "rejected", "too many event ids for this display: try again with the id it had"
                    elif status != "duplicate":
                        moves.append((*about, status == "accepted", now))
            answer.statuses.append((status, why, None if display is None else display.page))
        insert(  # a late one that comes again in time, the clock having been set back, counts after all
            self._connection,
            "events",
            moves,
            "ON CONFLICT DO UPDATE SET accepted = max(accepted, excluded.accepted), received = excluded.received",
        )
        ids.write()
        return answer

    def _read(self, event: Event) -> tuple[Status, str, Display | None, int]:
        """The display and the place that an event is about, or why there is none."""
        display = self.display(event.display)
        if display is None or event.nonce not in (None, display.nonce):
            return "unknown", "no such display", None, -1
        if event.page not in (None, display.page):
            return "rejected", "the token is of another page", None, -1
        place = -1 if event.position is None else display.place_of(event.position)
        needed = event.kind is Kind.CLICK or (event.kind is Kind.VIEW and event.position is not None)
        if needed and place < 0:
            return "rejected", "the display shows nothing at this position", None, -1
        return "accepted", "", display, place if event.kind is Kind.CLICK else -1

    def _move(self, display: Display, kind: Kind, place: int, now: float, moves: list[Move]) -> Status:
        registers = display.registers
        before = registers.total()
        status = registers.receive(kind, place, now <= display.until)
        if status == "accepted":
            after = registers.total()
            if after != before:
                move = Move(display, changes(before, after), after.displays - before.displays)
                self._deltas.change(*move)
                moves.append(move)
        return status

    def _cache(self, display: Display) -> None:
        self._cached[display.id] = display
        if len(self._cached) > MOST_CACHED:
            self._cached.popitem(last=False)

    def load(self, which: str, arguments: tuple[object, ...]) -> list[Display]:
        """Displays from the tables, their registers as the log has them."""
        found = {row[0]: _display(row) for row in self._run(f"SELECT {_DISPLAY} FROM displays {which}", arguments)}
        first = dict(self._run("SELECT page, counted_from FROM pages WHERE counted_from > 0")) if found else {}
        for display in found.values():
            if display.number < first.get(display.page, 0):
                display.registers.counting = Counting.NEVER
        marks = ", ".join("?" * len(found))
        events = f"SELECT display, kind, entry FROM events WHERE accepted AND display IN ({marks})"
        for number, kind, place in self._run(events, list(found)):
            found[number].registers.receive(Kind(kind), place, True)
        return list(found.values())

    # counts

    def counts(self, page: int) -> PageCounts:
        """All that was learnt on a page, in the weights of its present epoch."""
        self.flush()
        now, base_epoch, displays, revision = self._run(
            "SELECT epoch, base_epoch, base_displays, revision FROM pages WHERE page = ?", (page,)
        ).fetchone()
        sums: dict[tuple[int, int, int], list[float]] = {}
        old = weight(now - base_epoch)
        for item, segment, column, clicks, skips in self._run(
            'SELECT item, segment, "column", clicks, skips FROM base WHERE page = ?', (page,)
        ):
            sums[item, segment, column] = [old * clicks, old * skips]
        for epoch, item, segment, column, clicks, skips in self._run(
            'SELECT epoch, item, segment, "column", clicks, skips FROM counts WHERE page = ?', (page,)
        ):
            sums_of = sums.setdefault((item, segment, column), [0.0, 0.0])
            sums_of[0] += weight(now - epoch) * clicks
            sums_of[1] += weight(now - epoch) * skips
        displays *= old
        for epoch, number in self._run("SELECT epoch, displays FROM epochs WHERE page = ?", (page,)):
            displays += weight(now - epoch) * number
        return PageCounts([Cell(*key, *value) for key, value in sums.items()], displays, revision)

    def begin_epoch(self, page: int, epoch: int, began: float) -> None:
        """From now on displays count in this epoch; the earlier ones weigh less."""
        self._run(
            "UPDATE pages SET epoch = ?2, epoch_began = ?3, revision = revision + 1 WHERE page = ?1 AND epoch < ?2",
            (page, epoch, began),
        )

    def import_counts(self, page: int, cells: list[Cell], displays: float, expected: int | None) -> int:
        """Take these for all that was learnt: a snapshot. Displays issued before count no more. The new revision."""
        self.flush()
        (revision,) = self._run("SELECT revision FROM pages WHERE page = ?", (page,)).fetchone()
        if expected not in (None, revision):
            raise StaleVersion
        for table in ("base", "counts", "epochs"):
            self._run(f"DELETE FROM {table} WHERE page = ?", (page,))
        self._many("INSERT INTO base VALUES (?, ?, ?, ?, ?, ?)", [(page, *cell) for cell in cells])
        self._run(
            "UPDATE pages SET base_epoch = epoch, base_displays = ?, counted_from = ?, revision = revision + 1 "
            "WHERE page = ?",
            (displays, self._last_number() + 1, page),
        )
        self._cached.clear()  # the displays in there counted
        return int(revision) + 1

    def prune(self, now: float, most: int) -> int:
        """Fold up to `most` displays whose time is over into the snapshot, and drop them; how many there were."""
        self.flush()
        old = self.load("WHERE drop_after < ? ORDER BY drop_after LIMIT ?", (now, most))
        folded = Deltas()
        for display in old:
            total = display.registers.total()
            if total is not NOTHING:
                folded.change(display, changes(NOTHING, total), total.displays, rated=False)
                self._deltas.change(display, changes(total, NOTHING), -total.displays, rated=False)
            self._cached.pop(display.id, None)
        self._fold(folded)
        self.flush()
        numbers = [(display.number,) for display in old]
        for statement in (
            "DELETE FROM events WHERE display = ?",
            "DELETE FROM event_ids WHERE display = ?",
            "DELETE FROM displays WHERE number = ?",
        ):
            self._many(statement, numbers)
        for page in {display.page for display in old}:
            self._run("DELETE FROM counts WHERE page = ? AND clicks = 0 AND skips = 0", (page,))
            self._run("DELETE FROM epochs WHERE page = ? AND displays = 0", (page,))
            self._run("DELETE FROM rates WHERE page = ? AND hour < ?", (page, int(now // HOUR) - KEEP_RATES))
        return len(old)

    def _fold(self, folded: Deltas) -> None:
        """Add to the snapshot, in the weights of each page's present epoch."""
        epochs = {}
        for page in {page for page, _ in folded.epochs}:
            epoch, base = self._run("SELECT epoch, base_epoch FROM pages WHERE page = ?", (page,)).fetchone()
            epochs[page], old = epoch, weight(epoch - base)
            if old != 1.0:
                self._run("UPDATE base SET clicks = clicks * ?, skips = skips * ? WHERE page = ?", (old, old, page))
                self._run(
                    "UPDATE pages SET base_epoch = epoch, base_displays = base_displays * ? WHERE page = ?", (old, page)
                )
        cells = [
            (page, item, segment, column, *(weight(epochs[page] - epoch) * n for n in change))
            for (page, epoch, item, segment, column), change in folded.cells.items()
        ]
        self._many(
            "INSERT INTO base VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks, "
            "skips = skips + excluded.skips",
            cells,
        )
        shown = [(weight(epochs[page] - epoch) * n, page) for (page, epoch), n in folded.epochs.items()]
        self._many("UPDATE pages SET base_displays = base_displays + ? WHERE page = ?", shown)

    # what people look at

    def rates(self, page: int) -> list[Rate]:
        """Click rates by hour and variant."""
        self.flush()
        rows = self._run(
            "SELECT hour, variant, displays, shown, clicks FROM rates WHERE page = ? ORDER BY 1, 2", (page,)
        )
        return [Rate(*row) for row in rows]

    def log(self, page: int, after: int, most: int) -> list[LogRow]:
        """The registers of up to `most` displays that show something, their numbers above `after`, in order."""
        items = [name for (name,) in self._run("SELECT name FROM items WHERE page = ? ORDER BY number", (page,))]
        (body,) = self._run("SELECT body FROM pages WHERE page = ?", (page,)).fetchone()
        segments = body_of(body).segments
        shown = "entries != '[]'"  # else `most` displays without any rows would look like the end of the log
        found = self.load(f"WHERE page = ? AND number > ? AND {shown} ORDER BY number LIMIT ?", (page, after, most))
        return [row for display in found for row in _log_rows(display, items, segments)]


def _row(display: Display) -> tuple[object, ...]:
    return (
        display.number,
        display.id,
        display.nonce,
        display.page,
        display.layout,
        display.segment,
        display.issued,
        display.until,
        display.drop_after,
        display.variant,
        display.epoch,
        int(display.registers.counting),
        _encode(display.places).decode(),
    )


def _display(row: tuple[object, ...]) -> Display:
    number, *fields, counting, places = row
    shown = _places.decode(places)  # type: ignore[arg-type]
    return Display(*fields, Registers(len(shown), Counting(counting)), shown, number)  # type: ignore[arg-type, call-arg]


def _log_rows(display: Display, items: list[str], segments: list[str]) -> Iterable[LogRow]:
    total, registers = display.registers.total(), display.registers
    for index, place in enumerate(display.places):
        yield LogRow(
            display.number,
            display.id,
            display.issued,
            display.layout,
            segments[display.segment],
            display.variant,
            place.position,
            items[place.item],
            total.displays > 0,
            bool(registers.clicked >> index & 1),
            registers.discarded,
        )
