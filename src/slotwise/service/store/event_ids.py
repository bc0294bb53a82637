"""The ids that events were given: each names one event for as long as its display is in the log."""

from collections import Counter
from collections.abc import Collection
from sqlite3 import Connection, Cursor

from slotwise.service.store.bulk_insert import insert
from slotwise.service.store.interface import Display

About = tuple[int, int, int]  # the display's number, kind and place of an event


class EventIds:
    """The ids in one batch of events, looked up with one statement; `write` keeps those that are new."""

    def __init__(self, connection: Connection, batch: list[tuple[str | None, Display | None]]) -> None:
        self._connection = connection
        named = [(id, display.number) for id, display in batch if id is not None and display is not None]
        self._displays = {display for _, display in named}
        self._number: Counter[int] | None = None  # of ids by display, counted when it matters
        self._known: dict[str, About] = {}
        self._fresh: dict[str, About] = {}
        if named:
            ids = {id for id, _ in named}
            for id, display, kind, place in self._find("SELECT id, display, kind, entry", "id", ids):
                self._known[id] = (display, kind, place)

    def names_another(self, id: str, about: About) -> bool:
        """Whether an id was used for another event."""
        return self._known.get(id, about) != about

    def claim(self, id: str, about: About, most: int | None) -> bool:
        """Let an id name this event from now on; False when it is new and its display has `most` of them already.

        Without that limit endless repetitions of one event, each with another id, would fill the disk.
        """
        if id in self._known:
            return True
        if most is not None and self._number_of(about[0]) >= most:
            return False
        self._known[id] = self._fresh[id] = about
        if self._number is not None:
            self._number[about[0]] += 1
        return True

    def _number_of(self, display: int) -> int:
        if self._number is None:
            rows = self._find("SELECT display", "display", self._displays)
            self._number = Counter([number for (number,) in rows])
            self._number.update(number for number, _, _ in self._fresh.values())
        return self._number[display]

    def _find(self, what: str, column: str, among: Collection[str | int]) -> Cursor:
        marks = ", ".join("?" * len(among))
        return self._connection.execute(f"{what} FROM event_ids WHERE {column} IN ({marks})", list(among))

    def write(self) -> None:
        """Keep what is new."""
        insert(self._connection, "event_ids", [(id, *about) for id, about in self._fresh.items()])
