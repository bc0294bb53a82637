"""Spark: the same counting on a cluster, or on this machine with local[2]."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from slotwise.checks import BadInput
from slotwise.logs.engines import Progress, watched
from slotwise.logs.log_files import Source

_TORN = "_torn"
_AT_ONCE = 100_000


@contextmanager
def spark(master: str | None) -> Iterator["Spark"]:
    """A session for as long as it is needed; one that the program has started already is used and left running."""
    running = _builder().getActiveSession()
    fresh = None if running else session(master)
    try:
        yield Spark(running or fresh)
    finally:
        if fresh is not None:
            fresh.stop()


def session(master: str | None = None) -> Any:
    """A Spark session with few words, on this machine unless `master` says where."""
    builder = _builder().builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "FATAL",  # what goes wrong is told in one line, not in pages of Java
    }
    if master is None or master.startswith("local"):
        settings |= {"spark.sql.shuffle.partitions": str(2 * (os.cpu_count() or 1))}
    if master is None or master.startswith(("local", "spark://127.0.0.1")):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.master(master or "local[*]").appName("slotwise").getOrCreate()
    except Exception as error:
        why = str(error).splitlines()[0]
        raise BadInput(f"Spark does not start: {why}; it needs Java 17 or newer, and a master that answers") from None


def _builder() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadInput("Spark is not installed: pip install 'slotwise[spark]', and Java 17 or newer") from None
    return SparkSession


class Spark:
    """A Spark session as an engine."""

    def __init__(self, session: Any) -> None:
        self._session = session
        # a line with too few or too many fields is told by counting them all, not only those that are read
        session.conf.set("spark.sql.csv.parser.columnPruning.enabled", "false")
        self._connection = ibis.pyspark.connect(session)

    def readings(self, source: Source) -> Iterator[ir.Table]:
        """The files as a view of text."""
        foreign = [file for file in source.files if file.endswith((".zst", ".xz"))]
        if foreign:
            raise BadInput(f"Spark cannot read {foreign[0]!r}; of compressed files it takes .gz and .bz2")
        read = {"csv": _csv, "ndjson": _ndjson, "parquet": _parquet}[source.schema.kind]
        with _explained():
            read(self._session.read, [_address(file) for file in source.files], source).createOrReplaceTempView("lines")
            yield self._connection.table("lines")

    def keep(self, expression: ir.Table, progress: Progress | None) -> ir.Table:
        """A table that the cluster keeps: in memory, and on disk where memory is short."""
        with _explained(), watched(self._share, progress):
            kept = self._frame(expression).persist()
            kept.count()  # Spark puts everything off until something is asked for
            kept.createOrReplaceTempView("kept")
            return self._connection.table("kept")

    def rows(self, expression: ir.Table) -> pa.Table:
        """The rows of a small table."""
        with _explained():
            return self._frame(expression).toArrow()

    def batches(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """The rows of a table of any size, one partition after the other."""
        with _explained():
            rows = self._frame(expression).toLocalIterator(prefetchPartitions=True)
            while chunk := [row.asDict() for row in islice(rows, _AT_ONCE)]:
                yield pa.RecordBatch.from_pylist(chunk)

    def _frame(self, expression: ir.Table) -> Any:
        """The expression as Spark's own: Ibis would fetch its rows by way of pandas."""
        return self._session.sql(self._connection.compile(expression))

    def _share(self) -> float | None:
        """The share of tasks that are done, of the stages that Spark has begun."""
        tracker = self._session.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage]
        return sum(ended for ended, _ in tasks) / max(sum(begun for _, begun in tasks), 1) if tasks else None


def _address(file: str) -> str:
    """A local file as Spark wants it: what looks like a glob in a name is not one."""
    if "://" in file:
        return file
    return "file://" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(Path(file).resolve()))


def _csv(reader: Any, files: list[str], source: Source) -> Any:
    schema = source.schema
    names = [source.read.get(column, f"column{k}") for k, column in enumerate(source.columns)]
    frame = reader.csv(
        files,
        schema=", ".join(f"`{name}` STRING" for name in [*names, _TORN]),
        sep=schema.delimiter,
        header=schema.names is None,
        enforceSchema=True,
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_TORN,
        quote=schema.quote or "\0",  # none, in Spark's words
        escape=schema.quote or "\0",
        nullValue="\x01",
        emptyValue="",
        ignoreLeadingWhiteSpace=False,
        ignoreTrailingWhiteSpace=False,
        maxCharsPerColumn=-1,
    )
    return frame.select(*[frame[name] for name in source.read.values()], frame[_TORN].isNotNull().alias("torn"))


def _ndjson(reader: Any, files: list[str], source: Source) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(column, StringType()) for column in source.read])
    frame = reader.json(files, schema=schema, mode="PERMISSIVE")
    columns = [frame[f"`{column}`"] for column in source.read]
    torn = columns[0].isNull()
    for column in columns[1:]:
        torn = torn & column.isNull()
    return frame.select(*_renamed(frame, source), torn.alias("torn"))


def _parquet(reader: Any, files: list[str], source: Source) -> Any:
    frame = reader.parquet(*files)
    return frame.select(*_renamed(frame, source))


def _renamed(frame: Any, source: Source) -> list[Any]:
    return [frame["`" + column.replace("`", "``") + "`"].alias(name) for column, name in source.read.items()]


@contextmanager
def _explained() -> Iterator[None]:
    """Spark's complaint in one line: the last cause is the one that tells."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        causes = re.findall(r"Caused by: (.*)", str(error)) or str(error).splitlines() or [type(error).__name__]
        raise BadInput(f"Spark cannot count: {causes[-1]}") from None
