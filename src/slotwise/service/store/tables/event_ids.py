"""The ids of events. Each identifies one event as long as the display of the event is in the log."""

from collections import Counter
from collections.abc import Collection

from slotwise.service.store.records import Display
from slotwise.service.store.tables.bulk_insert import insert
from slotwise.service.store.tables.checksums import Checksums
from slotwise.service.store.tables.sql_connection import Rows, SqlConnection

EventKey = tuple[int, int, int]  # the display's number, the kind of the event, and its entry or -1


class EventIds:
    """The ids in one batch of events. One statement looks them up. `write` stores the new ids."""

    def __init__(
        self, connection: SqlConnection, checksums: Checksums, events: list[tuple[str | None, Display]]
    ) -> None:
        self._connection, self._checksums = connection, checksums
        known = [(id, display.number) for id, display in events if id is not None]
        self._displays = {display for _, display in known}
        self._ids_per_display: Counter[int] | None = None  # computed only when a limit has to be checked
        self._keys: dict[str, EventKey] = {}
        self._new: dict[str, EventKey] = {}
        if known:
            ids = {id for id, _ in known}
            for id, display, kind, entry in self._select("id, display, kind, entry", "id", ids):
                self._keys[id] = (display, kind, entry)

    def is_taken(self, id: str, key: EventKey) -> bool:
        """Whether an id already identifies another event."""
        return self._keys.get(id, key) != key

    def claim(self, id: str, key: EventKey, most: int | None) -> bool:
        """Register the id of an event. Returns False if the id is new but its display has `most` ids.

        The limit is needed because a client that repeats one event with ever new ids would fill the disk.
        """
        if id in self._keys:
            return True
        if most is not None and self._number_of_ids(key[0]) >= most:
            return False
        self._keys[id] = self._new[id] = key
        if self._ids_per_display is not None:
            self._ids_per_display[key[0]] += 1
        return True

    def write(self) -> None:
        rows = [(id, *key) for id, key in self._new.items()]
        insert(self._connection, "event_ids", rows)
        self._checksums.add("event_ids", rows)

    def _number_of_ids(self, display: int) -> int:
        if self._ids_per_display is None:
            rows = self._select("display", "display", self._displays)
            self._ids_per_display = Counter([number for (number,) in rows])
            self._ids_per_display.update(number for number, _, _ in self._new.values())
        return self._ids_per_display[display]

    def _select(self, columns: str, where: str, among: Collection[str | int]) -> Rows:
        marks = ", ".join("?" * len(among))
        return self._connection.execute(f"SELECT {columns} FROM event_ids WHERE {where} IN ({marks})", list(among))
