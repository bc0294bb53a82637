"""The snapshots in a store: where the snapshot of each page is, and how another one replaces it.

The rows of a snapshot have a number: that of the page, or a negative one. A large import writes its rows under a new
number, in many small transactions. Then one transaction makes this number the snapshot of the page. The rows of the
old one are deleted in small transactions, too. A crash leaves rows without a page, which are deleted later.

The counts of the log that are added to a snapshot have the same number, so an import replaces them too.
"""

import msgspec

from slotwise.checks import Floats
from slotwise.service.store.tables.bulk_insert import insert
from slotwise.service.store.tables.checksums import QUERIES
from slotwise.service.store.tables.definitions import Definitions
from slotwise.service.store.tables.key_table import SAVE_META
from slotwise.service.store.tables.sql_connection import SqlConnection

REMOVED = 1_000  # rows that one step deletes
_KEY = 'item, segment, "column"'
_KEYS = {"base": _KEY, "counts": f"epoch, {_KEY}"}


class _Numbers(msgspec.Struct):
    """The last number that was given to an import, those of imports in progress, and those to delete."""

    last: int = 0
    staged: list[int] = []
    unused: list[int] = []


_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(_Numbers).decode


class SnapshotTable(Definitions):
    """The operations of a ledger on snapshots. `Ledger` describes them."""

    def __init__(self, connection: SqlConnection) -> None:
        super().__init__(connection)
        self._snapshots: dict[int, int] = {}  # page -> the number of its snapshot

    def begin_import(self) -> int:
        numbers = self._numbers()
        numbers.last -= 1
        numbers.staged.append(numbers.last)
        self._save_numbers(numbers)
        return numbers.last

    def stage_counts(self, number: int, cells: Floats) -> None:
        rows = [
            (number, int(item), int(segment), int(column), clicks, skips, 0)
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
        for table, key in _KEYS.items():
            rows = self._run(f"SELECT {key} FROM {table} WHERE page = ? LIMIT ?", (number, REMOVED)).fetchall()
            if rows:
                last = (number, *rows[-1])
                where = f"page = ? AND ({key}) <= ({', '.join('?' * len(rows[-1]))})"  # rows are read in this order
                if table in QUERIES:
                    self._checksums.remove(table, where, last)
                self._run(f"DELETE FROM {self._table(table)} WHERE {where}", last)
                return True
        numbers = self._numbers()
        numbers.unused.remove(number)
        self._save_numbers(numbers)
        return False

    def _snapshot_of(self, page: int) -> int:
        """The number that the rows of the snapshot of a page have."""
        if page not in self._snapshots:
            row = self._run("SELECT value FROM meta WHERE key = ?", (_place(page),)).fetchone()
            self._snapshots[page] = page if row is None else int(row[0])
        return self._snapshots[page]

    def pages_of_snapshots(self) -> dict[int, int]:
        """The pages whose snapshot has another number than the page, by this number."""
        rows = self._run("SELECT key, value FROM meta WHERE key LIKE ?", (_place("%"),))
        return {int(number): int(key.rpartition(":")[2]) for key, number in rows}

    def _table(self, name: str) -> str:
        """The table behind a name, which may be a view."""
        return name

    def _replace_snapshot(self, page: int, number: int) -> None:
        """Make the rows with this number the snapshot of a page. The rows of the old snapshot will be deleted."""
        numbers = self._numbers()
        numbers.unused.append(self._snapshot_of(page))
        if number in numbers.staged:
            numbers.staged.remove(number)
        self._save_numbers(numbers)
        self._snapshots.pop(page)
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


def _place(page: int | str) -> str:
    """The key in the table `meta` of the number of a page's snapshot. Most pages have none."""
    return f"snapshot:{page}"
