"""The history of the pages and of the store itself, in a store."""

from typing import Any

import msgspec

from slotwise.service.history import MOST_CHANGES, MOST_STORE_CHANGES, STORE, Action, Author, Change, bounded
from slotwise.service.store.tables.key_table import KeyTable

_decode = msgspec.json.Decoder().decode


class ChangeHistory(KeyTable):
    """The operations of a ledger on the history. `Ledger` describes them."""

    def record_change(
        self, page: int, author: Author, now: float, action: Action, subject: str, sides: tuple[Any, Any]
    ) -> None:
        before, after = map(bounded, sides)
        (last,) = self._run("SELECT coalesce(max(number), 0) FROM history WHERE page = ?", (page,)).fetchone()
        row = (page, last + 1, float(now), author.id, author.name, action, subject, before, after)
        self._run(f"INSERT INTO history VALUES ({', '.join('?' * len(row))})", row)
        self._checksums.add("history", [row])
        expired = (page, last + 1 - (MOST_STORE_CHANGES if page == STORE else MOST_CHANGES))
        self._checksums.remove("history", "page = ? AND number <= ?", expired)
        self._run("DELETE FROM history WHERE page = ? AND number <= ?", expired)
        self._checksums.write()

    def history(self, page: int, before: int, most: int) -> list[Change]:
        rows = self._run(
            "SELECT number, time, key, name, action, subject, before, after FROM history WHERE page = ? AND number < ? "
            "ORDER BY number DESC LIMIT ?",
            (page, before, most),
        )
        return [
            Change(number, time, key, name, action, subject, _decode(old), _decode(new))
            for number, time, key, name, action, subject, old, new in rows
        ]
