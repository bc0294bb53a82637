"""The snapshots in a store: where the snapshot of each page is, and how another one replaces it.

The rows of a snapshot have a number: that of the page, or a negative one. A large import writes its rows under a new
number, in many small transactions. Then one transaction makes this number the snapshot of the page. The rows of the
old one are deleted in small transactions, too. A crash leaves rows without a page, which are deleted later.
"""

import msgspec

from slotwise.checks import Floats
from slotwise.service.store.bulk_insert import insert
from slotwise.service.store.definitions import SAVE_META, Definitions

REMOVED = 1_000  # rows that one step deletes
_KEY = 'item, segment, "column"'


class _Numbers(msgspec.Struct):
    """The last number that was given to an import, those of imports in progress, and those to delete."""

    last: int = 0
    staged: list[int] = []
    unused: list[int] = []


_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(_Numbers).decode


class SnapshotTable(Definitions):
    """The operations of a ledger on snapshots. `Ledger` describes them."""

    def begin_import(self) -> int:
        numbers = self._numbers()
        numbers.last -= 1
        numbers.staged.append(numbers.last)
        self._save_numbers(numbers)
        return numbers.last

    def stage_counts(self, number: int, cells: Floats) -> None:
        rows = [
            (number, int(item), int(segment), int(column), clicks, skips)
            for item, segment, column, clicks, skips in cells.tolist()
        ]
        insert(self._connection, "base", rows)
        self._checksums.add("base", rows)

    def abandon_imports(self) -> None:
        numbers = self._numbers()
        if numbers.staged:
            numbers.unused += numbers.staged
            numbers.staged = []
            self._save_numbers(numbers)

    def unused_snapshots(self) -> list[int]:
        return self._numbers().unused

    def remove_snapshot(self, number: int) -> bool:
        rows = self._run(f"SELECT {_KEY} FROM base WHERE page = ? LIMIT ?", (number, REMOVED)).fetchall()
        if rows:
            where = f"page = ? AND ({_KEY}) <= (?, ?, ?)"  # the rows are read in the order of their key
            self._checksums.remove("base", where, (number, *rows[-1]))
            self._run(f"DELETE FROM base WHERE {where}", (number, *rows[-1]))
            return True
        numbers = self._numbers()
        numbers.unused.remove(number)
        self._save_numbers(numbers)
        return False

    def _snapshot_of(self, page: int) -> int:
        """The number that the rows of the snapshot of a page have."""
        row = self._run("SELECT value FROM meta WHERE key = ?", (_place(page),)).fetchone()
        return page if row is None else int(row[0])

    def _replace_snapshot(self, page: int, number: int) -> None:
        """Make the rows with this number the snapshot of a page. The rows of the old snapshot will be deleted."""
        numbers = self._numbers()
        numbers.unused.append(self._snapshot_of(page))
        if number in numbers.staged:
            numbers.staged.remove(number)
        self._save_numbers(numbers)
        with self._checksums.changing("meta", "key = ?", (_place(page),)):
            self._run(SAVE_META, (_place(page), str(number)))

    def _forget_snapshot(self, page: int) -> None:
        """Let the snapshot of a page be deleted."""
        if self._snapshot_of(page) != page:
            self._replace_snapshot(page, page)
            self._checksums.remove("meta", "key = ?", (_place(page),))
            self._run("DELETE FROM meta WHERE key = ?", (_place(page),))

    def _numbers(self) -> _Numbers:
        row = self._run("SELECT value FROM meta WHERE key = 'snapshots'").fetchone()
        return _decode(row[0]) if row else _Numbers()

    def _save_numbers(self, numbers: _Numbers) -> None:
        with self._checksums.changing("meta", "key = 'snapshots'"):
            self._run(SAVE_META, ("snapshots", _encode(numbers).decode()))


def _place(page: int) -> str:
    """The key in the table `meta` of the number of a page's snapshot. Most pages have none."""
    return f"snapshot:{page}"
