"""A connection to PostgreSQL on which the statements of the ledgers run."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from psycopg import Connection

PREFIXES = ("postgresql://", "postgres://")


class PostgresConnection:
    """Runs statements that mark values by `?`."""

    def __init__(self, connection: Connection[Any]) -> None:
        self.raw = connection

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        return self.raw.execute(_translated(statement), values)

    def executemany(self, statement: str, rows: Sequence[Sequence[Any]], /) -> None:
        if rows:
            with self.raw.cursor() as cursor:
                cursor.executemany(_translated(statement), rows)

    def close(self) -> None:
        self.raw.close()


def array_literal(values: Iterable[str | int | float]) -> str:
    """An array in the notation of PostgreSQL. psycopg takes many times longer for long lists."""
    return "{" + ",".join([_quoted(value) if isinstance(value, str) else str(value) for value in values]) + "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(maxsize=1024)
def _translated(statement: str) -> str:
    """The statement as psycopg expects it. PostgreSQL does not allow empty lists."""
    return statement.replace("IN ()", "IN (NULL)").replace("%", "%%").replace("?", "%s")
