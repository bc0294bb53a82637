"""Changes of the counts of a page that wait to be added to its matrix, and their sums."""

from collections.abc import Sequence
from typing import NamedTuple

from slotwise.service.pages.fading import weight
from slotwise.service.store.records import Display, DisplayChange


class CommittedChanges(NamedTuple):
    """Changes of displays that the store has committed, and the epoch whose weights they have."""

    changes: Sequence[DisplayChange]
    epoch: int


class CellAmounts:
    """Amounts to be added to the matrix, as columns of a table."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.clicks: list[float] = []
        self.skips: list[float] = []
        self.displays = 0.0

    def add_skips(self, display: Display, number: int, n_segments: int) -> None:
        """Add the skips of this many equal displays."""
        entries, segment = display.entries, display.segment
        self.rows += [entry.item * n_segments + segment for entry in entries]
        self.columns += [entry.column + 1 for entry in entries]
        self.clicks += [0.0] * len(entries)
        self.skips += [float(number)] * len(entries)
        self.displays += number

    def add_changes(self, batch: CommittedChanges, n_segments: int) -> None:
        for display, changes, counted in batch.changes:
            faded = weight(batch.epoch - display.epoch)
            self.displays += faded * counted
            for index, clicks, skips in changes:
                entry = display.entries[index]
                self.rows.append(entry.item * n_segments + display.segment)
                self.columns.append(entry.column + 1)
                self.clicks.append(faded * clicks)
                self.skips.append(faded * skips)


class EqualDisplays:
    """Counts displays with the same entries, because many displays share one list of entries."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, int], Display] = {}  # holds the lists of entries, so their ids stay unique
        self._numbers: dict[tuple[int, int], int] = {}

    def add(self, display: Display) -> None:
        key = id(display.entries), display.segment
        self._first.setdefault(key, display)
        self._numbers[key] = self._numbers.get(key, 0) + 1

    def cells(self, n_segments: int) -> CellAmounts:
        cells = CellAmounts()
        for key, number in self._numbers.items():
            cells.add_skips(self._first[key], number, n_segments)
        return cells
