"""OpenedLog: a log whose files were found and inspected, and an engine that is ready to count its lines."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slotwise.checks import BadInput
from slotwise.extras import require
from slotwise.logs.engines import Engine, Progress, Unreadable, start_engine
from slotwise.logs.file_content import check_content, is_parquet
from slotwise.logs.formats import EXPORTED_LOG, GENERIC_FORMATS, format_of
from slotwise.logs.line_filters import Filter, parse
from slotwise.logs.log_files import LogFiles, columns_of, find_files, has_parquet_suffix, open_log_files
from slotwise.logs.missing_columns import describe_missing, list_columns, propose_columns
from slotwise.logs.schema import Schema, with_changes

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa


class CountOptions(NamedTuple):
    """Which lines are counted, how many malformed lines are tolerated, and which engine counts."""

    where: Sequence[str | Filter] = ()
    max_bad: int | float = 0
    engine: str = "duckdb"
    memory: str | None = None
    master: str | None = None
    progress: Progress | None = None


DEFAULT_OPTIONS = CountOptions()


class OpenedLog(NamedTuple):
    """The files of a log, the filters of its lines, and the engine."""

    engine: Engine
    files: LogFiles
    filters: Sequence[Filter]
    format: str
    progress: Progress | None

    @property
    def schema(self) -> Schema:
        return self.files.schema

    def materialize(self, count: "Callable[[ir.Table], ir.Table]") -> "ir.Table":
        """Count the lines with the engine's first reading that succeeds. The lines are as they are written."""
        failure = BadInput("no way to read this log")
        for lines in self.engine.readings(self.files):
            try:
                return self.engine.materialize(count(lines), self.progress)
            except Unreadable as error:
                failure = error
        raise failure


@contextmanager
def open_log(
    files: str | Iterable[str],
    format: str | None = None,
    schema: Mapping[str, Any] | None = None,
    options: CountOptions = DEFAULT_OPTIONS,
    extra: Sequence[str] = (),
) -> Iterator[OpenedLog]:
    """Open a log. `extra` are columns to read beside those of the schema. The engine stops when the context ends."""
    paths, format_name = _find(files, format)
    full_schema = _full_schema(format_name, dict(schema or {}), paths)
    parsed = [parse(filter) if isinstance(filter, str) else filter for filter in options.where]
    log_files = open_log_files(paths, full_schema, [*(filter.column for filter in parsed), *extra])
    filters = [filter._replace(internal_name=log_files.read[filter.column]) for filter in parsed]
    with start_engine(options.engine, options.memory, options.master) as engine:
        yield OpenedLog(engine, log_files, filters, format_name, options.progress)


def columns_in(files: str | Iterable[str], format: str) -> list[str]:
    """All columns of a log, as its first file has them."""
    paths, _ = _find(files, format)
    return columns_of(paths[0], _full_schema(format, {}, paths))


def _find(files: str | Iterable[str], format: str | None) -> tuple[list[str], str]:
    require("logs", "reading a log")
    return find_files([str(files)] if isinstance(files, str | Path) else map(str, files), format)


def _full_schema(format: str, changes: dict[str, Any], paths: list[str]) -> Schema:
    """The format's schema with the caller's changes.

    In a generic format, a column named `shown` means that the lines are counts, unless `changes` says otherwise. The
    service exports its log as NDJSON or as Parquet. The content of the first file decides between the two.
    """
    local = [path for path in paths if "://" not in path]
    if format == EXPORTED_LOG and (is_parquet(local[0]) if local else has_parquet_suffix(paths[0])):
        changes = {"kind": "parquet"} | changes
    schema = with_changes(format_of(format), changes)
    for path in local:
        check_content(path, schema)
    if format not in GENERIC_FORMATS or not local:
        return schema
    columns = columns_of(local[0], schema)
    if "query" not in changes:
        _check_query_column(local[0], columns, schema)
    return with_changes(schema, {"shown": "shown"}) if "shown" in columns and "shown" not in changes else schema


def _check_query_column(file: str, columns: list[str], schema: Schema) -> None:
    """Raise BadInput if the column `query` is missing and the queries are probably in the column `page`.

    Websites and the service use the name `page`. A file with neither column is reported when all columns are checked.
    """
    if "query" in columns or "page" not in columns:
        return
    missing = [column for column in schema.used.values() if column not in columns]
    raise BadInput(
        f"{describe_missing(file, missing)}; its columns are {list_columns(columns)}. If the queries are in 'page', "
        f"use {propose_columns(columns, schema)}; for a log exported by the service, use --format {EXPORTED_LOG}"
    )


def number_of_lines(table: "pa.Table") -> dict[Any, int]:
    """A table of two columns as a mapping from the first column to the number of lines."""
    return dict(zip(table.column(0).to_pylist(), table["lines"].to_pylist(), strict=True))
