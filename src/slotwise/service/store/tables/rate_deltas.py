"""Sum the changes of the rates: what each variant of a page showed and earned, by hour, and by day and bucket."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from slotwise.service.store.records import Display
from slotwise.service.store.tables.bulk_insert import add_on_conflict, insert
from slotwise.service.store.tables.checksums import Checksums
from slotwise.service.store.tables.sql_connection import SqlConnection

HOUR, DAY = 3600, 86400
VALUES = 1_000_000  # values are counted in millionths: sums of integers do not depend on their order
KEYS = {"rates": ("page", "hour", "variant"), "daily_rates": ("page", "day", "allocation", "variant", "bucket")}
SUMS = {"rates": ("displays", "shown", "clicks"), "daily_rates": ("displays", "clicks", "value")}
HourKey = tuple[int, int, str]  # page, hour, variant
DayKey = tuple[int, int, int, str, int]  # page, day, allocation, variant, bucket


class RateDeltas:
    """Sums of changes: displays, items shown and clicks of each hour; displays, clicks and value of each day."""

    def __init__(self) -> None:
        self.hours: dict[HourKey, list[int]] = defaultdict(lambda: [0, 0, 0])
        self.days: dict[DayKey, list[int]] = defaultdict(lambda: [0, 0, 0])

    def issue(self, displays: Iterable[Display]) -> None:
        """Add displays that count, to their buckets. Displays without an allocation have no bucket."""
        numbers = Counter(_day_key(display) for display in displays if display.allocation)
        for key, number in numbers.items():
            self.days[key][0] += number

    def add_hour(self, key: HourKey, displays: int, shown: int, clicks: int) -> None:
        """Add amounts to an hour."""
        hour = self.hours[key]
        hour[0] += displays
        hour[1] += shown
        hour[2] += clicks

    def change(self, display: Display, displays: int, shown: int, clicks: int, value: int) -> None:
        """Add the changes of one display. The value is in millionths."""
        hour = self.hours[display.page, int(display.issued // HOUR), display.variant]
        hour[0] += displays
        hour[1] += shown
        hour[2] += clicks
        if display.allocation:
            day = self.days[_day_key(display)]
            day[0] += displays
            day[1] += clicks
            day[2] += value

    def write(self, connection: SqlConnection) -> None:
        """Add the sums to the tables."""
        for table, rows in self._rows().items():
            insert(connection, table, rows, add_on_conflict(table, KEYS[table], SUMS[table]))

    def write_base(self, connection: SqlConnection, checksums: Checksums) -> None:
        """Add the sums of displays that leave the log to the rates of the snapshot."""
        for table, rows in self._rows().items():
            _add_to_base(connection, checksums, table, rows)

    def _rows(self) -> dict[str, list[tuple[Any, ...]]]:
        tables: dict[str, Mapping[Any, list[int]]] = {"rates": self.hours, "daily_rates": self.days}
        return {table: [(*key, *sums) for key, sums in rates.items() if any(sums)] for table, rates in tables.items()}


def _day_key(display: Display) -> DayKey:
    return display.page, int(display.issued // DAY), display.allocation, display.variant, display.bucket


def _add_to_base(connection: SqlConnection, checksums: Checksums, table: str, rows: list[tuple[Any, ...]]) -> None:
    *first, last = KEYS[table]
    same = " AND ".join(f"{column} = ?" for column in first)
    for key, group in groupby(sorted(rows), lambda row: row[: len(first)]):
        added = list(group)
        where = f"{same} AND {last} IN ({', '.join('?' * len(added))})"
        with checksums.changing(f"base_{table}", where, [*key, *(row[len(first)] for row in added)]):
            base = f"base_{table}"
            insert(connection, base, added, add_on_conflict(base, KEYS[table], SUMS[table]))
