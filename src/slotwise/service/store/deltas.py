"""What the displays and events of one group change in the counts, summed before it is written."""

from collections import defaultdict
from sqlite3 import Connection

from slotwise.service.registers import Change
from slotwise.service.store.bulk_insert import insert
from slotwise.service.store.interface import Display

HOUR = 3600
CellKey = tuple[int, int, int, int, int]  # page, epoch, item, segment, column


class Deltas:
    """Sums of changes; `write` puts them into the tables."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Nothing has changed."""
        self.cells: dict[CellKey, list[int]] = defaultdict(lambda: [0, 0])
        self.epochs: dict[tuple[int, int], int] = defaultdict(int)
        self.rates: dict[tuple[int, int, str], list[int]] = defaultdict(lambda: [0, 0, 0])

    def issue(self, display: Display) -> None:
        """Count a skip at every place of a display that counts from its issue: what most changes are."""
        page, epoch, segment, cells = display.page, display.epoch, display.segment, self.cells
        for there in display.places:
            cells[page, epoch, there.item, segment, there.column][1] += 1
        self.epochs[page, epoch] += 1
        rate = self.rates[page, int(display.issued // HOUR), display.variant]
        rate[0] += 1
        rate[1] += len(display.places)

    def change(self, display: Display, changes: list[Change], displays: int, rated: bool = True) -> None:
        """Count the changes of one display; what is folded away stays in the rates."""
        page, epoch, segment, cells, places = display.page, display.epoch, display.segment, self.cells, display.places
        clicked = shown = 0
        for place, clicks, skips in changes:
            there = places[place]
            cell = cells[page, epoch, there.item, segment, there.column]
            cell[0] += clicks
            cell[1] += skips
            clicked += clicks
            shown += clicks + skips
        self.epochs[page, epoch] += displays
        if rated:
            rate = self.rates[page, int(display.issued // HOUR), display.variant]
            rate[0] += displays
            rate[1] += shown
            rate[2] += clicked

    def write(self, connection: Connection) -> None:
        """Add the sums to the tables, and count a revision of every page among them."""
        if not self.epochs:
            return
        insert(
            connection,
            "counts",
            [(*key, *change) for key, change in self.cells.items() if change != [0, 0]],
            "ON CONFLICT DO UPDATE SET clicks = clicks + excluded.clicks, skips = skips + excluded.skips",
        )
        insert(
            connection,
            "epochs",
            [(*key, change) for key, change in self.epochs.items()],
            "ON CONFLICT DO UPDATE SET displays = displays + excluded.displays",
        )
        insert(
            connection,
            "rates",
            [(*key, *change) for key, change in self.rates.items()],
            "ON CONFLICT DO UPDATE SET displays = displays + excluded.displays, shown = shown + excluded.shown, "
            "clicks = clicks + excluded.clicks",
        )
        pages = {page for page, _ in self.epochs}
        connection.executemany("UPDATE pages SET revision = revision + 1 WHERE page = ?", [(page,) for page in pages])
        self.clear()
