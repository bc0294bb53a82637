"""Many rows in one statement.

sqlite3 lets go of Python's lock for every statement, and takes milliseconds to get it back while the event loop is
busy: one statement for many rows waits once, and runs beside the loop.
"""

from collections.abc import Sequence
from sqlite3 import Connection
from typing import Any

_CHUNKS = tuple(2**k for k in reversed(range(11)))  # few statements for any number of rows, few to compile


def insert(connection: Connection, into: str, rows: Sequence[Sequence[Any]], then: str = "") -> None:
    """INSERT INTO `into` VALUES `rows` `then`."""
    done = 0
    for size in _CHUNKS:
        while len(rows) - done >= size:
            chunk = rows[done : done + size]
            marks = "(" + ", ".join("?" * len(chunk[0])) + ")"
            values = [value for row in chunk for value in row]
            connection.execute(f"INSERT INTO {into} VALUES {', '.join([marks] * size)} {then}", values)
            done += size
