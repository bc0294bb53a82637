"""What the ledgers need of a connection. Statements mark values by `?`, and are valid in SQLite and PostgreSQL."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol


class Rows(Protocol):
    """The result of a statement."""

    def fetchone(self) -> Any:
        """The next row, or None."""

    def fetchmany(self, size: int = ..., /) -> list[Any]:
        """The next rows."""

    def fetchall(self) -> list[Any]:
        """All further rows."""

    def __iter__(self) -> Iterator[Any]: ...


class SqlConnection(Protocol):
    """Runs statements."""

    def execute(self, statement: str, values: Sequence[Any] = ..., /) -> Rows:
        """Run a statement."""

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> object:
        """Run a statement with each of these rows."""

    def close(self) -> None:
        """Close the connection."""
