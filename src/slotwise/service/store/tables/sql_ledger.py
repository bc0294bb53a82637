"""The operations of a ledger on counts: reading, fading, importing and pruning, written once for all stores."""

from collections import defaultdict

import numpy as np

from slotwise.service.pages.fading import weight, weights
from slotwise.service.pages.folded import Folded
from slotwise.service.preconditions import Precondition
from slotwise.service.registers import NOTHING, changes
from slotwise.service.store.records import (
    CellCounts,
    CountRows,
    DailyRate,
    Display,
    HourlyRate,
    NodeState,
    PageCounts,
    StoredPage,
)
from slotwise.service.store.tables.bulk_insert import among, insert
from slotwise.service.store.tables.checksums import QUERIES
from slotwise.service.store.tables.count_deltas import Deltas
from slotwise.service.store.tables.page_purge import PagePurge
from slotwise.service.store.tables.rate_deltas import HOUR, VALUES

HOURS_PER_DAY = 24
KEEP_RATES = 90 * HOURS_PER_DAY  # hours
CELLS_AT_ONCE = 250  # of the snapshot, in one statement
_REPLACE = (
    'ON CONFLICT (page, item, segment, "column") DO UPDATE '
    "SET clicks = excluded.clicks, skips = excluded.skips, epoch = excluded.epoch"
)
_CHUNK = 2_000  # rows that are read at a time
_CELL = 'item, segment, "column"'
_Cell = tuple[int, int, int]  # the values of these columns
_IS_AMOUNT = np.array([False, False, False, True, True])  # of the columns of `CountRows.cells`


class SqlLedger(PagePurge):
    """Reads and writes the tables. `Ledger` describes the operations. Call `forget` after a failed transaction.

    The names in SELECT statements may be views. Where rows are deleted, `_table` has the name of the table.
    """

    _LOCK_EXPIRED = ""  # how the displays are locked that leave the log

    def close(self) -> None:
        self._connection.close()

    def counts(self, page: int) -> PageCounts:
        rows, sums = self.count_rows(page), dict[tuple[int, int, int], list[float]]()
        for item, segment, column, clicks, skips in rows.cells.tolist():
            cell = sums.setdefault((int(item), int(segment), int(column)), [0.0, 0.0])
            cell[0] += clicks
            cell[1] += skips
        return PageCounts([CellCounts(*key, *value) for key, value in sums.items()], rows.displays, rows.revision)

    def count_rows(self, page: int) -> CountRows:
        self.flush()
        epoch_now, imported = self._run("SELECT epoch, imported_epoch FROM pages WHERE page = ?", (page,)).fetchone()
        cells = [np.empty((0, 5))]
        select = 'SELECT item, segment, "column", clicks, skips, {} FROM {} WHERE page = ?'
        for query in (
            select.format(f"CASE WHEN epoch > {imported} THEN epoch ELSE {imported} END", "base"),
            select.format("epoch", "counts"),
        ):
            cursor = self._run(query, (self._snapshot_of(page),))
            while rows := cursor.fetchmany(_CHUNK):
                chunk = np.array(rows, np.float64)
                cells.append(chunk[:, :5] * np.where(_IS_AMOUNT, weights(epoch_now - chunk[:, 5:]), 1.0))
        return CountRows(np.concatenate(cells), self._displays(page), self._revision(page), self.seen())

    def template_pages(self, template: str) -> list[tuple[StoredPage, float]]:
        self.flush()
        pages = [
            (page, self._displays(page.number))
            for page in self._pages(f"WHERE {self._TEMPLATE} = ? AND archived = 0", template)
        ]
        return sorted(pages, key=lambda pair: (-pair[1], pair[0].number))

    def _displays(self, page: int) -> float:
        """The displays of a page, weighted as of its current epoch."""
        epoch_now, base_epoch, displays = self._run(
            "SELECT epoch, base_epoch, base_displays FROM pages WHERE page = ?", (page,)
        ).fetchone()
        displays *= weight(epoch_now - base_epoch)
        for epoch, number in self._run("SELECT epoch, displays FROM epochs WHERE page = ?", (page,)):
            displays += weight(epoch_now - epoch) * number
        return float(displays)

    def logged(self, page: int) -> Folded:
        self.flush()
        query = "SELECT DISTINCT {} FROM counts WHERE page = ? AND (clicks > 0 OR skips > 0)"
        names = ("item", '"column"', "segment")
        number = (self._snapshot_of(page),)
        return Folded(*(frozenset(n for (n,) in self._run(query.format(name), number)) for name in names))

    def begin_epoch(self, page: int, epoch: int, began: float) -> None:
        with self._changing_page("page = ?", (page,)):
            self._run(
                "UPDATE pages SET epoch = ?, epoch_began = ?, revision = revision + 1 WHERE page = ? AND epoch < ?",
                (epoch, began, page, epoch),
            )

    def import_counts(self, page: int, snapshot: int, displays: float, expected: Precondition | None) -> int:
        self.flush()
        revision = self._revision(page)
        if expected is not None:
            expected.check(revision)
        self._replace_snapshot(page, snapshot)
        self._run(f"DELETE FROM {self._table('epochs')} WHERE page = ?", (page,))
        with self._changing_page("page = ?", (page,)):
            self._run(
                "UPDATE pages SET base_epoch = epoch, imported_epoch = epoch, base_displays = ?, counted_from = ?, "
                "revision = ? WHERE page = ?",
                (displays, self._next_counted(page), revision + 1, page),
            )
        self._cached.clear()  # the cached displays would still count
        return revision + 1

    def _revision(self, page: int) -> int:
        return int(self._run("SELECT revision FROM pages WHERE page = ?", (page,)).fetchone()[0])

    def seen(self) -> dict[int, int]:
        return {}

    def nodes(self) -> list[NodeState]:
        return []

    def fold_nodes(self, _now: float, _most: int) -> int:
        return 0

    def _next_counted(self, _page: int) -> int:
        """What `counted_from` of a page must be, so that only displays count that are issued from now on."""
        raise NotImplementedError

    def _drop_zeros(self, page: int, displays: list[Display]) -> None:
        """Delete the counts of the log that are zero, of the cells and epochs of these displays of a page."""
        cells = {
            (display.epoch, entry.item, display.segment, entry.column)
            for display in displays
            for entry in display.entries
        }
        epochs = {(display.epoch,) for display in displays}
        number = self._snapshot_of(page)
        self._delete_zeros("counts", f"epoch, {_CELL}", "clicks = 0 AND skips = 0", number, sorted(cells))
        self._delete_zeros("epochs", "epoch", "displays = 0", page, sorted(epochs))

    def _delete_zeros(self, table: str, key: str, are_zero: str, page: int, keys: list[tuple[int, ...]]) -> None:
        for first in range(0, len(keys), CELLS_AT_ONCE):
            chunk = keys[first : first + CELLS_AT_ONCE]
            self._run(
                f"DELETE FROM {table} WHERE page = ? AND {among(key, chunk)} AND {are_zero}",
                (page, *(part for values in chunk for part in values)),
            )

    def prune(self, now: float, most: int) -> int:
        self.flush()
        expired = self.load(f"WHERE drop_after < ? ORDER BY drop_after LIMIT ? {self._LOCK_EXPIRED}", (now, most))
        folded, by_page = Deltas(), defaultdict[int, list[Display]](list)
        for display in expired:
            by_page[display.page].append(display)
            totals = display.registers.totals()
            if totals is not NOTHING:
                folded.change(display, changes(NOTHING, totals), totals.displays)
                self._leaving.change(display, changes(totals, NOTHING), -totals.displays, rated=False)
            self._cached.pop(display.id, None)
        self._fold(folded)
        self.flush()
        self._delete_displays([display.number for display in expired])
        for page, displays in by_page.items():
            self._drop_zeros(page, [display for display in displays if display.counted])
            self._drop_rates(page, int(now // HOUR) - KEEP_RATES)
        return len(expired)

    def _drop_rates(self, page: int, before: int) -> None:
        """Delete the rates of the hours before this one, and of the days before the day of this hour."""
        (rates_from,) = self._run("SELECT rates_from FROM pages WHERE page = ?", (page,)).fetchone()
        for table, column, first in (("rates", "hour", before), ("daily_rates", "day", before // HOURS_PER_DAY)):
            where = f"page = ? AND {column} < ?"
            self._run(f"DELETE FROM {self._table(table)} WHERE {where}", (page, first))
            if before > rates_from:
                self._checksums.remove(f"base_{table}", where, (page, first))
                self._run(f"DELETE FROM base_{table} WHERE {where}", (page, first))
        if before > rates_from:
            with self._checksums.changing("pages", "page = ?", (page,)):
                self._run("UPDATE pages SET rates_from = ? WHERE page = ?", (before, page))

    def _fold(self, folded: Deltas) -> None:
        """Add counts to the snapshot. Their weights are those of the current epoch of each page."""
        by_page: dict[int, dict[_Cell, list[float]]] = defaultdict(dict)
        epochs = {
            page: self._run("SELECT epoch FROM pages WHERE page = ?", (page,)).fetchone()[0]
            for page in {page for page, _ in folded.epochs}
        }
        for (page, epoch, *key), change in folded.cells.items():
            cell = by_page[page].setdefault((key[0], key[1], key[2]), [0.0, 0.0])
            for k, number in enumerate(change):
                cell[k] += weight(epochs[page] - epoch) * number
        for page, cells in by_page.items():
            self._add_to_base(page, cells, epochs[page])
        for (page, epoch), number in folded.epochs.items():
            self._add_base_displays(page, weight(epochs[page] - epoch) * number)
        folded.rates.write_base(self._connection, self._checksums)

    def _add_base_displays(self, page: int, added: float) -> None:
        """Add displays to those of the snapshot, after bringing these to the weights of the current epoch."""
        epoch, base_epoch = self._run("SELECT epoch, base_epoch FROM pages WHERE page = ?", (page,)).fetchone()
        with self._checksums.changing("pages", "page = ?", (page,)):
            self._run(
                "UPDATE pages SET base_epoch = epoch, base_displays = base_displays * ? + ? WHERE page = ?",
                (weight(epoch - base_epoch), added, page),
            )

    def _add_to_base(self, page: int, cells: dict[_Cell, list[float]], epoch: int) -> None:
        """Add cells to the snapshot, in the weights of the current epoch. Only these cells are brought to it."""
        keys, number = list(cells), self._snapshot_of(page)
        (imported,) = self._run("SELECT imported_epoch FROM pages WHERE page = ?", (page,)).fetchone()
        for first in range(0, len(keys), CELLS_AT_ONCE):
            chunk = keys[first : first + CELLS_AT_ONCE]
            query = f"{QUERIES['base']} AND page = ? AND {among(_CELL, chunk)}"
            before = self._run(query, (number, *(part for key in chunk for part in key))).fetchall()
            rows = {key: (number, *key, *cells[key], epoch) for key in chunk}
            for _, *old, clicks, skips, since in before:
                key, faded = (old[0], old[1], old[2]), weight(epoch - max(since, imported))
                added = cells[key]
                rows[key] = (number, *key, clicks * faded + added[0], skips * faded + added[1], epoch)
            insert(self._connection, "base", list(rows.values()), _REPLACE)
            self._checksums.replace("base", before, rows.values())

    def rates(self, page: int) -> list[HourlyRate]:
        self.flush()
        rows = self._run(
            "SELECT hour, variant, displays, shown, clicks FROM rates WHERE page = ? ORDER BY 1, 2", (page,)
        )
        return [HourlyRate(*row) for row in rows]

    def daily_rates(self, page: int, allocation: int) -> list[DailyRate]:
        self.flush()
        rows = self._run(
            "SELECT day, variant, bucket, displays, clicks, value FROM daily_rates "
            "WHERE page = ? AND allocation = ? AND displays <> 0 ORDER BY 1, 2, 3",
            (page, allocation),
        )
        return [DailyRate(*row)._replace(value=row[-1] / VALUES) for row in rows]
