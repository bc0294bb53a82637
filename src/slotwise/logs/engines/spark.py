"""The Spark engine: the same counting on a cluster, or on this machine with local[2]."""

import os
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.types as ir
import pyarrow as pa

from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.logs.engines import MATERIALIZED, Progress, report_progress
from slotwise.logs.log_files import LogFiles

_CORRUPT_RECORD = "_corrupt_record"
_BATCH_ROWS = 100_000


@contextmanager
def spark_engine(master: str | None) -> Iterator["SparkEngine"]:
    """An engine on the active Spark session, or on a new one. The context stops only a session that it started."""
    active = _session_class().getActiveSession()
    with nullcontext(active) if active else new_session(master) as session:
        yield SparkEngine(session)


@contextmanager
def new_session(master: str | None = None) -> Iterator[Any]:
    """A session as `start_session` starts it. It stops when the context ends."""
    before = signal.getsignal(signal.SIGINT)
    session = start_session(master)
    try:
        yield session
    finally:
        session.stop()
        if before is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)  # Spark's handler of Ctrl-C fails once its session has stopped


def start_session(master: str | None = None) -> Any:
    """Start a Spark session that logs almost nothing. It runs on this machine unless `master` is an address."""
    builder = _session_class().builder
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.log.level": "FATAL",  # errors are reported in one line, without Java stack traces
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
        reason = str(error).splitlines()[0]
        raise BadInput(f"Spark does not start: {reason}; it needs Java 17 or newer and a reachable master") from None


def _session_class() -> Any:
    require("spark", "--engine spark")
    from pyspark.sql import SparkSession

    return SparkSession


class SparkEngine:
    """Counts in a Spark session."""

    def __init__(self, session: Any) -> None:
        self._session = session
        # Spark must parse all columns, not only those that are read, to notice lines with the wrong number of columns
        session.conf.set("spark.sql.csv.parser.columnPruning.enabled", "false")
        self._connection = ibis.pyspark.connect(session)

    def readings(self, log_files: LogFiles) -> Iterator[ir.Table]:
        """There is one reading, which takes everything as text."""
        unsupported = [file for file in log_files.files if file.endswith((".zst", ".xz"))]
        if unsupported:
            raise BadInput(f"Spark cannot read {unsupported[0]!r}; compressed files must be .gz or .bz2")
        read = {"csv": _csv, "ndjson": _ndjson, "parquet": _parquet}[log_files.schema.kind]
        with _errors_as_bad_input():
            read(self._session.read, [_file_url(file) for file in log_files.files], log_files).createOrReplaceTempView(
                "lines"
            )
            yield self._connection.table("lines")

    def materialize(self, expression: ir.Table, progress: Progress | None, name: str = MATERIALIZED) -> ir.Table:
        with _errors_as_bad_input(), report_progress(self._fraction_done, progress):
            frame = self._frame(expression).persist()  # in memory, and on disk where memory is short
            frame.count()  # this computes the table, because Spark is lazy
            frame.createOrReplaceTempView(name)
            return self._connection.table(name)

    def to_arrow(self, expression: ir.Table) -> pa.Table:
        with _errors_as_bad_input():
            return self._frame(expression).toArrow()

    def batches(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        with _errors_as_bad_input():
            rows = self._frame(expression).toLocalIterator(prefetchPartitions=True)
            while chunk := [row.asDict() for row in islice(rows, _BATCH_ROWS)]:
                yield pa.RecordBatch.from_pylist(chunk)

    def _frame(self, expression: ir.Table) -> Any:
        """The expression as a Spark data frame, because Ibis would fetch its rows through pandas."""
        return self._session.sql(self._connection.compile(expression))

    def _fraction_done(self) -> float | None:
        """The fraction of completed tasks in the stages that are active."""
        tracker = self._session.sparkContext.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
        tasks = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage]
        return sum(done for done, _ in tasks) / max(sum(total for _, total in tasks), 1) if tasks else None


def _file_url(file: str) -> str:
    """A file as a URL for Spark, with glob characters escaped."""
    if "://" in file:
        return file
    return "file://" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(Path(file).resolve()))


def _csv(reader: Any, files: list[str], log_files: LogFiles) -> Any:
    schema = log_files.schema
    names = [log_files.read.get(column, f"column{k}") for k, column in enumerate(log_files.columns)]
    frame = reader.csv(
        files,
        schema=", ".join(f"`{name}` STRING" for name in [*names, _CORRUPT_RECORD]),
        sep=schema.delimiter,
        header=schema.names is None,
        enforceSchema=True,
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=_CORRUPT_RECORD,
        quote=schema.quote or "\0",  # \0 disables quoting
        escape=schema.quote or "\0",
        nullValue="\x01",
        emptyValue="",
        ignoreLeadingWhiteSpace=False,
        ignoreTrailingWhiteSpace=False,
        maxCharsPerColumn=-1,
    )
    return frame.select(
        *[frame[name] for name in log_files.read.values()], frame[_CORRUPT_RECORD].isNotNull().alias("wrong_columns")
    )


def _ndjson(reader: Any, files: list[str], log_files: LogFiles) -> Any:
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([StructField(column, StringType()) for column in log_files.read])
    frame = reader.json(files, schema=schema, mode="PERMISSIVE")
    columns = [frame[f"`{column}`"] for column in log_files.read]
    all_null = columns[0].isNull()
    for column in columns[1:]:
        all_null = all_null & column.isNull()
    return frame.select(*_renamed(frame, log_files), all_null.alias("wrong_columns"))


def _parquet(reader: Any, files: list[str], log_files: LogFiles) -> Any:
    frame = reader.parquet(*files)
    return frame.select(*_renamed(frame, log_files))


def _renamed(frame: Any, log_files: LogFiles) -> list[Any]:
    return [frame["`" + column.replace("`", "``") + "`"].alias(name) for column, name in log_files.read.items()]


@contextmanager
def _errors_as_bad_input() -> Iterator[None]:
    """Turn Spark's errors into errors of one line, which is the innermost cause."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        causes = re.findall(r"Caused by: (.*)", str(error)) or str(error).splitlines() or [type(error).__name__]
        raise BadInput(f"Spark cannot count: {causes[-1]}") from None
