"""The operations of a ledger on counts: reading, fading, importing and pruning, written once for all stores."""

from collections import defaultdict

import numpy as np

from slotwise.service.pages.fading import weight, weights
from slotwise.service.pages.folded import Folded
from slotwise.service.preconditions import Precondition
from slotwise.service.registers import NOTHING, changes
from slotwise.service.store.bulk_insert import add_on_conflict, insert
from slotwise.service.store.count_deltas import COUNT_SUMS, Deltas
from slotwise.service.store.interface import CellCounts, CountRows, DailyRate, HourlyRate, PageCounts, StoredPage
from slotwise.service.store.page_purge import PagePurge
from slotwise.service.store.rate_deltas import HOUR, VALUES

HOURS_PER_DAY = 24
KEEP_RATES = 90 * HOURS_PER_DAY  # hours
CELLS_AT_ONCE = 250  # of the snapshot, in one statement
ADD_TO_BASE = add_on_conflict("base", ("page", "item", "segment", '"column"'), COUNT_SUMS)
_CHUNK = 2_000  # rows that are read at a time
_IS_AMOUNT = np.array([False, False, False, True, True])  # of the columns of `CountRows.cells`


class SqlLedger(PagePurge):
    """Reads and writes the tables. `Ledger` describes the operations. Call `forget` after a failed transaction.

    The names in SELECT statements may be views. Where rows are deleted, `_tables` has the names of the tables.
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
        epoch_now, base_epoch = self._run("SELECT epoch, base_epoch FROM pages WHERE page = ?", (page,)).fetchone()
        cells = [np.empty((0, 5))]
        select = 'SELECT item, segment, "column", clicks, skips, {} FROM {} WHERE page = ?'
        for number, query in (
            (self._snapshot_of(page), select.format(int(base_epoch), "base")),
            (page, select.format("epoch", "counts")),
        ):
            cursor = self._run(query, (number,))
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

    def fold_nodes(self, _now: float, _most: int) -> int:
        return 0

    def logged(self, page: int) -> Folded:
        self.flush()
        query = "SELECT DISTINCT {} FROM counts WHERE page = ? AND (clicks > 0 OR skips > 0)"
        names = ("item", '"column"', "segment")
        return Folded(*(frozenset(n for (n,) in self._run(query.format(name), (page,))) for name in names))

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
        self._drop_counts(page)
        self._replace_snapshot(page, snapshot)
        for table in ("rates", "daily_rates"):  # earlier displays no longer change them
            with self._checksums.changing(f"base_{table}", "page = ?", (page,)):
                self._run(f"DELETE FROM base_{table} WHERE page = ?", (page,))
                self._run(f"INSERT INTO base_{table} SELECT * FROM {table} WHERE page = ?", (page,))
        with self._changing_page("page = ?", (page,)):
            self._run(
                "UPDATE pages SET base_epoch = epoch, base_displays = ?, counted_from = ?, revision = ? WHERE page = ?",
                (displays, self._next_counted(page), revision + 1, page),
            )
        self._cached.clear()  # the cached displays would still count
        return revision + 1

    def _revision(self, page: int) -> int:
        return int(self._run("SELECT revision FROM pages WHERE page = ?", (page,)).fetchone()[0])

    def seen(self) -> dict[int, int]:
        return {}

    def _next_counted(self, _page: int) -> int:
        """What `counted_from` of a page must be, so that only displays count that are issued from now on."""
        raise NotImplementedError

    def _drop_counts(self, page: int) -> None:
        """Delete the counts of the log of a page."""
        for table in ("counts", "epochs"):
            self._run(f"DELETE FROM {self._table(table)} WHERE page = ?", (page,))

    def _drop_zeros(self, page: int) -> None:
        """Delete the counts of the log of a page that are zero."""
        self._run("DELETE FROM counts WHERE page = ? AND clicks = 0 AND skips = 0", (page,))
        self._run("DELETE FROM epochs WHERE page = ? AND displays = 0", (page,))

    def prune(self, now: float, most: int) -> int:
        self.flush()
        expired = self.load(f"WHERE drop_after < ? ORDER BY drop_after LIMIT ? {self._LOCK_EXPIRED}", (now, most))
        folded = Deltas()
        for display in expired:
            totals = display.registers.totals()
            if totals is not NOTHING:
                folded.change(display, changes(NOTHING, totals), totals.displays)
                self._leaving.change(display, changes(totals, NOTHING), -totals.displays, rated=False)
            self._cached.pop(display.id, None)
        self._fold(folded)
        self.flush()
        self._delete_displays([display.number for display in expired])
        for page in {display.page for display in expired}:
            self._drop_zeros(page)
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
        by_page: dict[int, dict[tuple[int, int, int], list[float]]] = defaultdict(dict)
        epochs = {page: self._fade_base(page) for page in {page for page, _ in folded.epochs}}
        for (page, epoch, *key), change in folded.cells.items():
            cell = by_page[page].setdefault((key[0], key[1], key[2]), [0.0, 0.0])
            for k, number in enumerate(change):
                cell[k] += weight(epochs[page] - epoch) * number
        for page, cells in by_page.items():
            self._add_to_base(page, cells)
        for (page, epoch), number in folded.epochs.items():
            with self._checksums.changing("pages", "page = ?", (page,)):
                added = weight(epochs[page] - epoch) * number
                self._run("UPDATE pages SET base_displays = base_displays + ? WHERE page = ?", (added, page))
        folded.rates.write_base(self._connection, self._checksums)

    def _fade_base(self, page: int) -> int:
        """Bring the weights of the snapshot to those of the current epoch, and return this epoch."""
        epoch, base_epoch = self._run("SELECT epoch, base_epoch FROM pages WHERE page = ?", (page,)).fetchone()
        faded = weight(epoch - base_epoch)
        if faded != 1.0:
            number = self._snapshot_of(page)
            with self._checksums.changing("base", "page = ?", (number,)):
                update = "UPDATE base SET clicks = clicks * ?, skips = skips * ? WHERE page = ?"
                self._run(update, (faded, faded, number))
            with self._checksums.changing("pages", "page = ?", (page,)):
                self._run(
                    "UPDATE pages SET base_epoch = epoch, base_displays = base_displays * ? WHERE page = ?",
                    (faded, page),
                )
        return int(epoch)

    def _add_to_base(self, page: int, cells: dict[tuple[int, int, int], list[float]]) -> None:
        keys, number = list(cells), self._snapshot_of(page)
        for first in range(0, len(keys), CELLS_AT_ONCE):
            chunk = keys[first : first + CELLS_AT_ONCE]
            where = f'page = ? AND (item, segment, "column") IN (VALUES {", ".join(["(?, ?, ?)"] * len(chunk))})'
            with self._checksums.changing("base", where, (number, *(part for key in chunk for part in key))):
                insert(
                    self._connection,
                    "base",
                    [(number, *key, *cells[key]) for key in chunk],
                    ADD_TO_BASE,
                )

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
