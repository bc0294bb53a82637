"""Sum the changes that the displays and events of one group make to the counts, before the sums are written."""

from collections import Counter, defaultdict
from collections.abc import Callable

from slotwise.service.registers import EntryChange
from slotwise.service.store.records import Display
from slotwise.service.store.tables.bulk_insert import add_on_conflict, insert
from slotwise.service.store.tables.checksums import Checksums
from slotwise.service.store.tables.rate_deltas import HOUR, VALUES, RateDeltas
from slotwise.service.store.tables.sql_connection import SqlConnection

COUNT_KEYS, COUNT_SUMS = ("page", "epoch", "item", "segment", '"column"'), ("clicks", "skips")
ADD_COUNTS = add_on_conflict("counts", COUNT_KEYS, COUNT_SUMS)
_ADD_DISPLAYS = add_on_conflict("epochs", ("page", "epoch"), ("displays",))
CellKey = tuple[int, int, int, int, int]  # page, epoch, item, segment, column


class Deltas:
    """Sums of changes. `write` adds the sums to the tables."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.cells: dict[CellKey, list[int]] = defaultdict(lambda: [0, 0])
        self.epochs: dict[tuple[int, int], int] = defaultdict(int)
        self.rates = RateDeltas()

    def issue(self, displays: list[Display]) -> None:
        """Add a skip for every entry of displays whose pages count displays when they are issued.

        Many displays share one list of entries, and such displays are added together.
        """
        equal = Counter(
            (shown.page, shown.epoch, shown.segment, int(shown.issued // HOUR), shown.variant, id(shown.entries))
            for shown in displays
        )
        entries_of = {id(display.entries): display.entries for display in displays}
        for (page, epoch, segment, hour, variant, entries_id), number in equal.items():
            entries = entries_of[entries_id]
            for entry in entries:
                self.cells[page, epoch, entry.item, segment, entry.column][1] += number
            self.epochs[page, epoch] += number
            self.rates.add_hour((page, hour, variant), number, number * len(entries), 0)
        self.rates.issue(displays)

    def change(self, display: Display, changes: list[EntryChange], displays: int, rated: bool = True) -> None:
        """Add the changes of one display. The counts do not change if an import has replaced those of the display.

        If `rated` is false, the rates do not change. Pruning uses this to keep them.
        """
        page, epoch, segment, cells, entries = display.page, display.epoch, display.segment, self.cells, display.entries
        clicked = shown = value = 0
        for index, clicks, skips in changes:
            entry = entries[index]
            if display.counted:
                cell = cells[page, epoch, entry.item, segment, entry.column]
                cell[0] += clicks
                cell[1] += skips
            clicked += clicks
            shown += clicks + skips
            if clicks:
                value += clicks * round(entry.value * VALUES)
        if display.counted:
            self.epochs[page, epoch] += displays
        if rated:
            self.rates.change(display, displays, shown, clicked, value)

    def write(self, connection: SqlConnection, checksums: Checksums, number_of: Callable[[int], int]) -> None:
        """Add the sums to the tables, and increase the revision of every page whose counts changed.

        `number_of` is the number that the counts of a page have.
        """
        self.rates.write(connection)
        if not self.epochs:
            self.clear()
            return
        insert(
            connection,
            "counts",
            [(number_of(page), *key, *change) for (page, *key), change in self.cells.items() if change != [0, 0]],
            ADD_COUNTS,
        )
        insert(
            connection,
            "epochs",
            [(*key, change) for key, change in self.epochs.items()],
            _ADD_DISPLAYS,
        )
        pages = {page for page, _ in self.epochs}
        marks = ", ".join("?" * len(pages))
        update = f"UPDATE pages SET revision = revision + 1 WHERE page IN ({marks}) RETURNING page, revision"
        revisions = connection.execute(update, list(pages)).fetchall()
        checksums.replace("revisions", [(page, revision - 1) for page, revision in revisions], revisions)
        self.clear()
