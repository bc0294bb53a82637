"""Engines: where the counting runs. Each reads files into a table; the expressions on it are the same for all."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Event, Thread
from typing import Protocol

import ibis.expr.types as ir
import pyarrow as pa

from slotwise.checks import BadInput, known
from slotwise.logs.log_files import Source

Progress = Callable[[float], None]  # the share that is done
ENGINES = ("duckdb", "spark")
_TICK = 0.2  # seconds


class Unreadable(BadInput):
    """This reading of a log cannot go on; a more patient one may."""


class Engine(Protocol):
    """Runs expressions on the lines of a log."""

    def readings(self, source: Source) -> Iterator[ir.Table]:
        """Ways to read the lines, the fastest first, each with less trust in them than the one before.

        A table has a column for each that is read, and `torn`, if a line can have the wrong number of columns.
        """

    def keep(self, expression: ir.Table, progress: Progress | None) -> ir.Table:
        """Compute a table once, for others to be computed from."""

    def rows(self, expression: ir.Table) -> pa.Table:
        """The rows of a small table."""

    def batches(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """The rows of a table of any size, piece by piece."""


@contextmanager
def watched(share: Callable[[], float | None], progress: Progress | None) -> Iterator[None]:
    """Report `share`, if it is known, every now and then while the engine works."""
    if progress is None:
        yield
        return
    done = Event()

    def watch() -> None:
        while not done.wait(_TICK):
            reached = share()
            if reached is not None:
                progress(reached)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
    progress(1.0)


def start(name: str, memory: str | None, master: str | None) -> AbstractContextManager[Engine]:
    """An engine by name, for as long as the context lasts."""
    known("engine", name, ENGINES)
    if name == "spark":
        if memory is not None:
            raise BadInput("--memory is DuckDB's; Spark's is set where Spark is started: spark.executor.memory")
        from slotwise.logs.engines.spark import spark

        return spark(master)
    if master is not None:
        raise BadInput("--master is Spark's address; it goes with --engine spark")
    from slotwise.logs.engines.duckdb import duckdb

    return duckdb(memory)
