"""One end of a copy: the store that is read, or the one that is written."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import msgspec

from slotwise.checks import BadInput
from slotwise.service.maintenance.store_copy.copied_tables import CopiedTable

Row = tuple[Any, ...]


class CopyProgress(msgspec.Struct):
    """How far a copy is. It is committed with the rows that were copied."""

    source: str
    table: int = 0  # the tables before this one are complete
    after: list[Any] = []  # the keys of the last row of this table that is copied
    rows: int = 0  # of all tables
    sums: list[int] = []  # of the hashes of the rows of each table, this one included
    last_number: int = 0  # the highest number that a display has had


_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(CopyProgress).decode


class SourceStore(Protocol):
    """The store that is read. As long as it is open, no service can write to it."""

    def count(self, table: CopiedTable) -> int:
        """The number of rows."""

    def rows(self, table: CopiedTable, after: Sequence[Any] = ()) -> Iterator[list[Row]]:
        """The rows whose keys are above these, in the order of the keys, some thousand at a time."""

    def last_number(self) -> int:
        """The highest number that a display has had."""


class TargetStore(SourceStore, Protocol):
    """The store that is written. No service can use it before it is complete."""

    def progress(self) -> CopyProgress | None:
        """The progress that was committed last, or None if the store is empty."""

    def write(self, table: CopiedTable | None, rows: Sequence[Row], progress: CopyProgress) -> None:
        """Add rows to a table, and commit them with the progress."""

    def finish(self, progress: CopyProgress) -> None:
        """Set what follows from the rows: the numbers of the next display and page, and the checksums."""

    def differences(self) -> list[str]:
        """Recompute the counts from the log, and return the differences."""

    def publish(self) -> None:
        """Make the store one that services can use."""


Source = AbstractContextManager[SourceStore]
Target = AbstractContextManager[TargetStore]


def encoded(progress: CopyProgress) -> str:
    """The progress as the value of a row of `meta`."""
    return _encode(progress).hex()


def decoded(value: str, where: str) -> CopyProgress:
    """The progress that `encoded` wrote."""
    try:
        return _decode(bytes.fromhex(value))
    except (ValueError, msgspec.MsgspecError):
        raise BadInput(f"{where} has a copy that another version began; delete it, and copy again") from None


def selection(table: CopiedTable, expressions: dict[str, str], after: Sequence[Any], name: str | None = None) -> str:
    """A statement that reads the rows of a table whose keys are above these, in the order of the keys."""
    columns = ", ".join(expressions.get(column, column) for column in table.columns)
    keys = ", ".join(table.keys)
    above = f" AND ({keys}) > ({', '.join('?' * len(after))})" if after else ""
    return f"SELECT {columns} FROM {name or table.name} WHERE ({table.where}){above} ORDER BY {keys}"
