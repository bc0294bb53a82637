"""Engines that count logs. Each engine reads files into a table. The expressions on this table are always the same."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from slotwise.checks import BadInput, one_of
from slotwise.logs.log_files import LogFiles

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

Progress = Callable[[float], None]  # called with the fraction done
ENGINES = ("duckdb", "spark")
MATERIALIZED = "materialized"  # the name of a computed table
_INTERVAL = 0.2  # seconds between two progress reports


class Unreadable(BadInput):
    """This reading of a log failed. A slower, more tolerant reading may succeed."""


class Engine(Protocol):
    """Runs expressions on the lines of a log."""

    def readings(self, log_files: LogFiles) -> "Iterator[ir.Table]":
        """Ways to read the lines, the fastest first. Each is more tolerant of malformed lines than the one before.

        A table has the columns that are read, under their internal names. If lines can have the wrong number of
        columns, the table also has the boolean column `wrong_columns`.
        """

    def materialize(self, expression: "ir.Table", progress: Progress | None, name: str = MATERIALIZED) -> "ir.Table":
        """Compute a table once and keep it until another one gets its name, so that tables can be computed from it."""

    def to_arrow(self, expression: "ir.Table") -> "pa.Table":
        """Compute a table that fits into memory."""

    def batches(self, expression: "ir.Table") -> "Iterator[pa.RecordBatch]":
        """Compute a table of any size, batch by batch."""


@contextmanager
def report_progress(fraction_done: Callable[[], float | None], progress: Progress | None) -> Iterator[None]:
    """Call `progress` regularly while the engine works, whenever `fraction_done` is known."""
    if progress is None:
        yield
        return
    done = Event()

    def watch() -> None:
        while not done.wait(_INTERVAL):
            fraction = fraction_done()
            if fraction is not None:
                progress(fraction)

    thread = Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    progress(1.0)


def start_engine(name: str, memory: str | None, master: str | None) -> AbstractContextManager[Engine]:
    """Start the engine with this name. It stops when the context ends."""
    one_of("engine", name, ENGINES)
    if name == "spark":
        if memory is not None:
            raise BadInput("--memory is an option of DuckDB; for Spark, set spark.executor.memory where it starts")
        from slotwise.logs.engines.spark import spark_engine

        return spark_engine(master)
    if master is not None:
        raise BadInput("--master is the address of a Spark cluster; it needs --engine spark")
    from slotwise.logs.engines.duckdb import duckdb_engine

    return duckdb_engine(memory)
