"""Checksums for stores that have none."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from slotwise.service.store.tables.checksums import Checksums


class NoChecksums(Checksums):
    """Keeps nothing.

    PostgreSQL has checksums of its own. Sums over whole tables would make every node wait for every other.
    """

    def add(self, name: str, rows: Iterable[Sequence[Any]]) -> None:
        pass

    def replace(self, name: str, before: Iterable[Sequence[Any]], after: Iterable[Sequence[Any]]) -> None:
        pass

    def remove(self, name: str, where: str = "1 = 1", arguments: Sequence[Any] = ()) -> None:
        pass

    def remove_all(self, name: str, column: str, values: Sequence[Any]) -> None:
        pass

    @contextmanager
    def changing(self, _name: str, _where: str, _arguments: Sequence[Any] = ()) -> Iterator[None]:
        yield

    def write(self) -> None:
        pass
