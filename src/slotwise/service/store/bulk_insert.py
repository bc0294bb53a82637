"""Insert many rows with few SQL statements.

sqlite3 releases Python's lock for every statement, and needs milliseconds to get it back while the event loop is busy.
One statement for many rows waits only once, and runs in parallel with the loop.
"""

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

_CHUNK_SIZES = tuple(2**k for k in reversed(range(11)))  # few statements to run, and few to compile, for any number


def insert(connection: Connection, table: str, rows: Sequence[Sequence[Any]], on_conflict: str = "") -> list[Any]:
    """Run `INSERT INTO table VALUES rows on_conflict`. Returns what a RETURNING clause in `on_conflict` returns."""
    done, returned = 0, []
    for size in _CHUNK_SIZES:
        while len(rows) - done >= size:
            chunk = rows[done : done + size]
            marks = "(" + ", ".join("?" * len(chunk[0])) + ")"
            values = [value for row in chunk for value in row]
            statement = f"INSERT INTO {table} VALUES {', '.join([marks] * size)} {on_conflict}"
            returned += connection.execute(statement, values).fetchall()
            done += size
    return returned
