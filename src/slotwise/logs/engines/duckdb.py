"""The DuckDB engine. It uses all cores of this machine, and spills to disk whatever exceeds its memory limit."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import duckdb
import ibis
import ibis.expr.types as ir
import pyarrow as pa

from slotwise.checks import BadInput
from slotwise.logs.engines import MATERIALIZED, Progress, Unreadable, report_progress
from slotwise.logs.log_files import LogFiles, check_complete, check_quotes, may_have_fractions, open_text, readable

MEMORY = "1GB"  # of DuckDB; the process needs about 200 MB more
_NULL = "\x01"  # stands for null in csv, so that an empty field differs from a missing field
_BATCH_ROWS = 100_000


@contextmanager
def duckdb_engine(memory: str | None) -> Iterator["DuckDBEngine"]:
    """An in-memory database that spills to a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix="slotwise-"))
    try:
        engine = DuckDBEngine(memory or MEMORY, folder)
        try:
            yield engine
        finally:
            engine.disconnect()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class DuckDBEngine:
    """Counts on this machine."""

    def __init__(self, memory: str, folder: Path) -> None:
        self._memory = memory
        self._folder = folder
        self._connection = self._connect()

    def _connect(self) -> Any:
        connection = ibis.duckdb.connect(temp_directory=str(self._folder), preserve_insertion_order=False)
        with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets has no bar
            connection.raw_sql("SET enable_progress_bar = false")
        try:
            connection.raw_sql(f"SET memory_limit = {_text(self._memory)}")
        except duckdb.Error:
            raise BadInput(f"memory = {self._memory!r} is not an amount such as 500MB or 4GB") from None
        return connection

    def disconnect(self) -> None:
        self._connection.disconnect()

    def readings(self, log_files: LogFiles) -> Iterator[ir.Table]:
        """Views of the files. The files are read only when the lines are counted.

        The first reading of CSV has typed numbers. It is fast but fails at the first malformed line. The second reading
        takes everything as text and fails only on invalid UTF-8. The third reads a copy in which invalid bytes are
        replaced. DuckDB rounds 1.5 when it reads an integer column. So number columns are read as floats if any file
        contains a character that only fractions have.
        """
        for file in log_files.files:
            if file.endswith((".gz", ".zst")):
                check_complete(file)  # DuckDB does not notice truncation
        # DuckDB cannot decompress these
        files = [self._clean_copy(file) if file.endswith((".bz2", ".xz")) else file for file in log_files.files]
        if log_files.schema.kind == "parquet":
            yield self._view(_parquet(files, log_files))
            return
        if log_files.schema.kind == "csv":
            fractions = any(may_have_fractions(file) for file in log_files.files)
            yield self._view(_strict_csv(files, log_files, "DOUBLE" if fractions else "BIGINT"))
            for file in log_files.files:
                check_quotes(file, log_files.schema)  # an open quote would swallow the following lines
        read = _csv if log_files.schema.kind == "csv" else _ndjson
        yield self._view(read(files, log_files))
        yield self._view(read([self._clean_copy(file) for file in log_files.files], log_files))

    def materialize(self, expression: ir.Table, progress: Progress | None, name: str = MATERIALIZED) -> ir.Table:
        create = f"CREATE OR REPLACE TEMP TABLE {name} AS {self._connection.compile(expression)}"
        with self._errors_as_bad_input(), report_progress(self._fraction_done, progress):
            self._connection.raw_sql(create)
        return self._connection.table(name)

    def to_arrow(self, expression: ir.Table) -> pa.Table:
        return expression.to_pyarrow()

    def batches(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        # DuckDB's own method, because the method that Ibis 12 calls is deprecated
        yield from self._connection.con.sql(self._connection.compile(expression)).to_arrow_reader(_BATCH_ROWS)

    def _view(self, select: str) -> ir.Table:
        self.disconnect()
        self._connection = self._connect()  # a malformed line can leave a connection unusable
        with self._errors_as_bad_input():
            self._connection.raw_sql(f"CREATE OR REPLACE TEMP VIEW lines AS {select}")
            return self._connection.table("lines")

    def _clean_copy(self, file: str) -> str:
        """A decompressed copy in which invalid UTF-8 is replaced by U+FFFD."""
        copy = self._folder / f"{len(list(self._folder.iterdir()))}-{Path(file).name}.txt"
        with readable(file), open_text(file) as text, copy.open("w", encoding="utf-8", newline="") as out:
            shutil.copyfileobj(text, out, 1 << 20)
        return str(copy)

    @staticmethod
    @contextmanager
    def _errors_as_bad_input() -> Iterator[None]:
        """Turn DuckDB's errors into errors of one line."""
        try:
            yield
        except duckdb.OutOfMemoryException as error:
            raise BadInput(f"{_first_line(error)}; --memory raises the limit") from None
        except duckdb.IOException as error:
            raise BadInput(f"cannot count: {_first_line(error)}") from None
        except duckdb.Error as error:
            raise Unreadable(f"cannot count: {_first_lines(error)}") from None

    def _fraction_done(self) -> float:
        return max(float(self._connection.con.query_progress()), 0.0) / 100.0


def _strict_csv(files: list[str], log_files: LogFiles, number: str) -> str:
    """Read numbers as the type `number`. Text in a number column is an error."""
    kinds = {name: number if name in log_files.schema.number_fields else "VARCHAR" for name in log_files.read.values()}
    read = ", ".join(_name(name) for name in kinds)
    return f"SELECT {read} FROM {_csv_reader(files, log_files, kinds)})"


def _csv(files: list[str], log_files: LogFiles) -> str:
    """Read all columns as text.

    The number of columns of a line is wrong if there is a surplus column, or if the last column is missing.
    """
    read, last = ", ".join(map(_name, log_files.read.values())), _name(_csv_names(log_files)[-1])
    reader = _csv_reader(files, log_files, {"surplus": "VARCHAR"})
    return (
        f"SELECT {read}, surplus IS NOT NULL OR {last} IS NULL AS wrong_columns FROM {reader}, "
        f"nullstr = {_text(_NULL)}, null_padding = true, strict_mode = false)"
    )


def _csv_names(log_files: LogFiles) -> list[str]:
    return [log_files.read.get(column, f"column{k}") for k, column in enumerate(log_files.columns)]


def _csv_reader(files: list[str], log_files: LogFiles, kinds: dict[str, str]) -> str:
    """The read_csv call of both readings, without its closing parenthesis, so that options can follow."""
    schema = log_files.schema
    names = {name: kinds.get(name, "VARCHAR") for name in _csv_names(log_files)} | kinds
    columns = ", ".join(f"{_text(name)}: '{kind}'" for name, kind in names.items())
    return (
        f"read_csv({_list(files)}, columns = {{{columns}}}, delim = {_text(schema.delimiter)}, "
        f"quote = {_text(schema.quote)}, escape = {_text(schema.quote)}, header = {schema.names is None}, "
        "auto_detect = false"
    )


def _ndjson(files: list[str], log_files: LogFiles) -> str:
    """Read values as text. If a line is not a JSON object, all its values are null."""
    columns = ", ".join(f"{_text(column)}: 'VARCHAR'" for column in log_files.read)
    read = ", ".join(f"{_name(column)} AS {_name(name)}" for column, name in log_files.read.items())
    all_null = " AND ".join(f"{_name(column)} IS NULL" for column in log_files.read)
    return (
        f"SELECT {read}, {all_null} AS wrong_columns FROM read_json({_list(files)}, columns = {{{columns}}}, "
        "format = 'newline_delimited', ignore_errors = true)"
    )


def _parquet(files: list[str], log_files: LogFiles) -> str:
    read = ", ".join(f"{_name(column)} AS {_name(name)}" for column, name in log_files.read.items())
    return f"SELECT {read} FROM read_parquet({_list(files)}, union_by_name = true)"


def _list(files: list[str]) -> str:
    """The list of file names for SQL, with glob characters escaped."""
    return "[" + ", ".join(_text(re.sub(r"([*?\[\]])", r"[\1]", file)) for file in files) + "]"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _first_lines(error: Exception) -> str:
    """The first two lines of DuckDB's message, which say what is wrong and where. Many lines of advice follow."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Original Line")]
    return ": ".join(lines[:2])
