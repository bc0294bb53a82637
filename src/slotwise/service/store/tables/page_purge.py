"""Delete a page for good, in a store: first its name, then its data, in many small transactions.

The number of the page is never used again, so a late event or an old token cannot reach another page. The row of the
page stays in the table for this purpose, without its name and its definition.
"""

from contextlib import AbstractContextManager, nullcontext

import msgspec

from slotwise.service.history import STORE, Author
from slotwise.service.pages.page_definition import NO_PAGE
from slotwise.service.registers import NOTHING, changes
from slotwise.service.store.records import Purge
from slotwise.service.store.tables.bulk_insert import among
from slotwise.service.store.tables.checksums import QUERIES
from slotwise.service.store.tables.display_log import DisplayLog
from slotwise.service.store.tables.key_table import SAVE_META

SCANNED = 4_000  # displays of all pages that one step reads
DELETED = 250  # displays of the page, or rows of another table, that one step deletes
ROWS = {  # the other tables with rows of a page: what identifies a row within the page, and how many a step deletes
    "counts": ('epoch, item, segment, "column"', DELETED),
    "epochs": ("epoch", DELETED),
    "base": ('item, segment, "column"', DELETED),
    "rates": ("hour, variant", DELETED),
    "base_rates": ("hour, variant", DELETED),
    "daily_rates": ("day, allocation, variant, bucket", DELETED),
    "base_daily_rates": ("day, allocation, variant, bucket", DELETED),
    "items": ("number", DELETED),
    "history": ("number", 50),  # a row may have many bytes
}
_NEVER = 1 << 40  # an hour: all rates are before it, so `verify` does not compare those that are not deleted yet
_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(list[Purge]).decode


class PagePurge(DisplayLog):
    """The operations of a ledger that delete a page for good. `Ledger` describes them."""

    def begin_purge(self, page: int, author: Author, now: float) -> None:
        (name,) = self._run("SELECT name FROM pages WHERE page = ?", (page,)).fetchone()
        self._save_purges([*self.purges(), Purge(page, name, author)])
        with self._changing_page("page = ?", (page,)):
            self._run(
                "UPDATE pages SET name = ?, archived = 1, version = version + 1, body = ?, rates_from = ?, "
                "unit_secret = ? WHERE page = ?",
                (_unused_name(page), _encode(NO_PAGE).decode(), _NEVER, b"", page),
            )
        self.record_change(STORE, author, now, "purge", name, (None, None))

    def purges(self) -> list[Purge]:
        row = self._run("SELECT value FROM meta WHERE key = 'purges'").fetchone()
        return _decode(row[0]) if row else []

    def purge(self, purge: Purge, after: int, now: float) -> int | None:
        with self._overwriting():
            last = self._purge_displays(purge.page, after)
            if last is not None:
                return last
            if any(self._purge_rows(purge.page, table) for table in ROWS):
                return after
            self._finish(purge, now)
            return None

    def _overwriting(self) -> AbstractContextManager[None]:
        """Overwrite what is deleted within the block, if the store can do this."""
        return nullcontext()

    def _purge_displays(self, page: int, after: int) -> int | None:
        """Delete the next displays of a page, with their counts. Returns the last number that was looked at, if any."""
        self.flush()
        scanned = self._run(
            "SELECT number, page FROM displays WHERE number > ? ORDER BY number LIMIT ?", (after, SCANNED)
        ).fetchall()
        numbers = [number for number, shown_on in scanned if shown_on == page][:DELETED]
        if not scanned:
            return None
        if not numbers:
            return int(scanned[-1][0])
        for display in self.load(f"WHERE number IN ({', '.join('?' * len(numbers))})", tuple(numbers)):
            totals = display.registers.totals()
            if totals is not NOTHING:
                self._deltas.change(display, changes(totals, NOTHING), -totals.displays)
            self._cached.pop(display.id, None)
        self.flush()
        self._delete_displays(numbers)
        return numbers[-1] if len(numbers) == DELETED else int(scanned[-1][0])

    def _purge_rows(self, page: int, table: str) -> bool:
        """Delete the next rows of a page from a table. Returns whether there were any."""
        columns, most = ROWS[table]
        if table in ("counts", "base"):
            page = self._snapshot_of(page)
        rows = self._run(f"SELECT {columns} FROM {table} WHERE page = ? LIMIT ?", (page, most)).fetchall()
        if not rows:
            return False
        where = f"page = ? AND {among(columns, rows)}"
        arguments = (page, *(value for row in rows for value in row))
        if table in QUERIES:
            self._checksums.remove(table, where, arguments)
        self._run(f"DELETE FROM {self._table(table)} WHERE {where}", arguments)
        return True

    def _finish(self, purge: Purge, now: float) -> None:
        self._forget_snapshot(purge.page)
        with self._changing_page("page = ?", (purge.page,)):
            self._run(
                "UPDATE pages SET epoch = 0, epoch_began = 0, counted_from = 0, base_epoch = 0, base_displays = 0, "
                "imported_epoch = 0, rates_from = 0, allocation = 1 WHERE page = ?",
                (purge.page,),
            )
        self._save_purges([other for other in self.purges() if other.page != purge.page])
        self.record_change(STORE, purge.author, now, "purged", purge.name, (None, None))

    def _save_purges(self, purges: list[Purge]) -> None:
        with self._checksums.changing("meta", "key = 'purges'"):
            self._run(SAVE_META, ("purges", _encode(purges).decode()))


def _unused_name(page: int) -> str:
    """A name that no page can be given, because it has a colon."""
    return f"purged:{page}"
