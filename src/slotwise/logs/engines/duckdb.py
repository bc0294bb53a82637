"""DuckDB: on this machine, on all cores, in bounded memory: what does not fit is spilled to disk."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb as bare
import ibis
import ibis.expr.types as ir
import pyarrow as pa

from slotwise.checks import BadInput
from slotwise.logs.engines import Progress, Unreadable, watched
from slotwise.logs.log_files import Source, check_quotes, check_whole, may_have_fractions, open_text, readable

MEMORY = "1GB"  # of DuckDB; the process takes some 200 MB more
_ABSENT = "\x01"  # stands for a null in csv, so that an empty field and a missing one can be told apart
_AT_ONCE = 100_000


@contextmanager
def duckdb(memory: str | None) -> Iterator["DuckDB"]:
    """A database in memory that spills into a folder of its own, removed in the end."""
    folder = Path(tempfile.mkdtemp(prefix="slotwise-"))
    try:
        engine = DuckDB(memory or MEMORY, folder)
        try:
            yield engine
        finally:
            engine.disconnect()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class DuckDB:
    """An embedded database as an engine."""

    def __init__(self, memory: str, folder: Path) -> None:
        self._memory = memory
        self._folder = folder
        self._connection = self._connect()

    def _connect(self) -> Any:
        connection = ibis.duckdb.connect(temp_directory=str(self._folder), preserve_insertion_order=False)
        connection.raw_sql("SET enable_progress_bar = false")
        try:
            connection.raw_sql(f"SET memory_limit = {_text(self._memory)}")
        except bare.Error:
            raise BadInput(f"memory = {self._memory!r} is not an amount such as 500MB or 4GB") from None
        return connection

    def disconnect(self) -> None:
        """Forget everything."""
        self._connection.disconnect()

    def readings(self, source: Source) -> Iterator[ir.Table]:
        """Files as a view: nothing is read before the counting asks for it.

        Csv is read as numbers first, which is fast and stops at the first malformed line; then as text, which does
        not. Bytes that are not UTF-8 stop that too: then a copy is read, in which they are marked. DuckDB rounds 1.5
        when it is asked for a whole number: so it is asked for floats, unless no file has the signs of a fraction.
        """
        for file in source.files:
            if file.endswith((".gz", ".zst")):
                check_whole(file)  # DuckDB takes a truncated one for whole
        # DuckDB has no reader for these: it gets a plain copy
        files = [self._plain(file) if file.endswith((".bz2", ".xz")) else file for file in source.files]
        if source.schema.kind == "parquet":
            yield self._view(_parquet(files, source))
            return
        if source.schema.kind == "csv":
            fractions = any(may_have_fractions(file) for file in source.files)
            yield self._view(_strict_csv(files, source, "DOUBLE" if fractions else "BIGINT"))
            for file in source.files:
                check_quotes(file, source.schema)  # or DuckDB takes all that follows an open one for one field
        read = _csv if source.schema.kind == "csv" else _ndjson
        yield self._view(read(files, source))
        yield self._view(read([self._plain(file) for file in source.files], source))

    def keep(self, expression: ir.Table, progress: Progress | None) -> ir.Table:
        """A temporary table, spilled to disk where memory is short."""
        make = f"CREATE OR REPLACE TEMP TABLE kept AS {self._connection.compile(expression)}"
        with self._explained(), watched(self._share, progress):
            self._connection.raw_sql(make)
        return self._connection.table("kept")

    def rows(self, expression: ir.Table) -> pa.Table:
        """The rows of a small table."""
        return expression.to_pyarrow()

    def batches(self, expression: ir.Table) -> Iterator[pa.RecordBatch]:
        """The rows of a table of any size, piece by piece."""
        # DuckDB's own call: the one that Ibis 12 makes is deprecated
        yield from self._connection.con.sql(self._connection.compile(expression)).to_arrow_reader(_AT_ONCE)

    def _view(self, select: str) -> ir.Table:
        self.disconnect()
        self._connection = self._connect()  # a malformed line may have broken the one before, to DuckDB's own surprise
        with self._explained():
            self._connection.raw_sql(f"CREATE OR REPLACE TEMP VIEW lines AS {select}")
            return self._connection.table("lines")

    def _plain(self, file: str) -> str:
        """A decompressed copy in which bytes that are not UTF-8 are marked as such."""
        copy = self._folder / f"{len(list(self._folder.iterdir()))}-{Path(file).name}.txt"
        with readable(file), open_text(file) as text, copy.open("w", encoding="utf-8", newline="") as out:
            shutil.copyfileobj(text, out, 1 << 20)
        return str(copy)

    @staticmethod
    @contextmanager
    def _explained() -> Iterator[None]:
        """DuckDB's complaint in one line."""
        try:
            yield
        except bare.OutOfMemoryException as error:
            raise BadInput(f"{_first_line(error)}; --memory allows more") from None
        except bare.IOException as error:
            raise BadInput(f"cannot count: {_first_line(error)}") from None
        except bare.Error as error:
            raise Unreadable(f"cannot count: {_first_lines(error)}") from None

    def _share(self) -> float:
        return max(float(self._connection.con.query_progress()), 0.0) / 100.0


def _strict_csv(files: list[str], source: Source, number: str) -> str:
    """Numbers read as numbers."""
    kinds = {name: number if name in source.schema.numbers else "VARCHAR" for name in source.read.values()}
    read = ", ".join(_name(name) for name in kinds)
    return f"SELECT {read} FROM {_csv_reader(files, source, kinds)})"


def _csv(files: list[str], source: Source) -> str:
    """All as text. One column more than there should be, and null where one is missing, tell torn lines."""
    read, last = ", ".join(map(_name, source.read.values())), _name(_csv_names(source)[-1])
    reader = _csv_reader(files, source, {"surplus": "VARCHAR"})
    return (
        f"SELECT {read}, surplus IS NOT NULL OR {last} IS NULL AS torn FROM {reader}, "
        f"nullstr = {_text(_ABSENT)}, null_padding = true, strict_mode = false)"
    )


def _csv_names(source: Source) -> list[str]:
    return [source.read.get(column, f"column{k}") for k, column in enumerate(source.columns)]


def _csv_reader(files: list[str], source: Source, kinds: dict[str, str]) -> str:
    """The call that both readings share, open for more options."""
    schema = source.schema
    names = {name: kinds.get(name, "VARCHAR") for name in _csv_names(source)} | kinds
    columns = ", ".join(f"{_text(name)}: '{kind}'" for name, kind in names.items())
    return (
        f"read_csv({_list(files)}, columns = {{{columns}}}, delim = {_text(schema.delimiter)}, "
        f"quote = {_text(schema.quote)}, escape = {_text(schema.quote)}, header = {schema.names is None}, "
        "auto_detect = false"
    )


def _ndjson(files: list[str], source: Source) -> str:
    """Values as text; a line that is no JSON object is all null."""
    columns = ", ".join(f"{_text(column)}: 'VARCHAR'" for column in source.read)
    read = ", ".join(f"{_name(column)} AS {_name(name)}" for column, name in source.read.items())
    torn = " AND ".join(f"{_name(column)} IS NULL" for column in source.read)
    return (
        f"SELECT {read}, {torn} AS torn FROM read_json({_list(files)}, columns = {{{columns}}}, "
        "format = 'newline_delimited', ignore_errors = true)"
    )


def _parquet(files: list[str], source: Source) -> str:
    read = ", ".join(f"{_name(column)} AS {_name(name)}" for column, name in source.read.items())
    return f"SELECT {read} FROM read_parquet({_list(files)}, union_by_name = true)"


def _list(files: list[str]) -> str:
    """Files by name: what looks like a glob in a name is not one."""
    return "[" + ", ".join(_text(re.sub(r"([*?\[\]])", r"[\1]", file)) for file in files) + "]"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _first_lines(error: Exception) -> str:
    """Where and what: DuckDB tells it in two lines, and goes on for a page."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("Original Line")]
    return ": ".join(lines[:2])
