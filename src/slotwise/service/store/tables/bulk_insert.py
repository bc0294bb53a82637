"""Insert many rows with few SQL statements.

sqlite3 releases Python's lock for every statement, and needs milliseconds to get it back while the event loop is busy.
One statement for many rows waits only once, and runs in parallel with the loop.
"""

from collections.abc import Sequence
from typing import Any

from slotwise.service.store.tables.sql_connection import SqlConnection

_CHUNK_SIZES = tuple(2**k for k in reversed(range(11)))  # few statements to run, and few to compile, for any number


def add_on_conflict(table: str, keys: Sequence[str], sums: Sequence[str]) -> str:
    """The clause with which rows whose keys are in the table already are added to those."""
    added = ", ".join(f"{column} = {table}.{column} + excluded.{column}" for column in sums)
    return f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {added}"


def among(columns: str, rows: Sequence[Sequence[Any]]) -> str:
    """The condition that the columns have the values of one of these rows, whose values the statement takes in order.

    SQLite uses an index for it only if the rows are a SELECT. Without an index it would read all rows of a page.
    """
    marks = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
    return f"({columns}) IN (SELECT * FROM (VALUES {marks}) AS listed)"


def insert(connection: SqlConnection, table: str, rows: Sequence[Sequence[Any]], on_conflict: str = "") -> list[Any]:
    """Run `INSERT INTO table VALUES rows on_conflict`. Returns what a RETURNING clause in `on_conflict` returns."""
    done, returned = 0, []
    for size in _CHUNK_SIZES:
        while len(rows) - done >= size:
            chunk = rows[done : done + size]
            marks = "(" + ", ".join("?" * len(chunk[0])) + ")"
            values = [value for row in chunk for value in row]
            statement = f"INSERT INTO {table} VALUES {', '.join([marks] * size)} {on_conflict}"
            inserted = connection.execute(statement, values)
            if "RETURNING" in on_conflict:
                returned += inserted.fetchall()
            done += size
    return returned
