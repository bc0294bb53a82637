"""The function `read_log` counts log files for each query, and accounts for every line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slotwise.checks import BadInput, integer_at_least
from slotwise.counts import Counts
from slotwise.extras import require
from slotwise.logs.engines import Engine, Progress, Unreadable, start_engine
from slotwise.logs.file_content import check_content, is_parquet
from slotwise.logs.formats import EXPORTED_LOG, GENERIC_FORMATS, format_of
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.line_filters import Filter, parse
from slotwise.logs.line_status import LineStatus
from slotwise.logs.log_files import LogFiles, columns_of, find_files, has_parquet_suffix, open_log_files
from slotwise.logs.missing_columns import describe_missing, list_columns, propose_columns
from slotwise.logs.position_frequencies import MOST_POSITIONS, PositionFrequencies
from slotwise.logs.position_order import page_orders
from slotwise.logs.query import Query
from slotwise.logs.schema import Schema, natural_sort_key, with_changes

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_CELLS = 5_000_000  # more cells do not fit into memory as Python objects; `count_log` has no limit


class Log(NamedTuple):
    """A counted log: its queries and an account of its lines. The queries with the most displays come first."""

    queries: list[Query]
    account: LineAccount


class CountOptions(NamedTuple):
    """Which lines are counted, how many malformed lines are tolerated, and which engine counts."""

    where: Sequence[str | Filter] = ()
    max_bad: int | float = 0
    engine: str = "duckdb"
    memory: str | None = None
    master: str | None = None
    progress: Progress | None = None


DEFAULT_OPTIONS = CountOptions()


class CountedLog(NamedTuple):
    """A counted log. `cells` is a table in the engine, with columns query, item, position, shown and clicked."""

    engine: Engine
    cells: "ir.Table"
    schema: Schema
    account: LineAccount
    page_orders: Mapping[str, list[str]]  # the positions of each page in order, for a log of the service

    def batches(self) -> "Iterator[pa.RecordBatch]":
        """All cells, batch by batch."""
        return self.engine.batches(self.cells)


def read_log(
    files: str | Iterable[str],
    format: str | None = None,
    schema: Mapping[str, Any] | None = None,
    *,
    where: Sequence[str | Filter] = (),
    max_bad: int | float = 0,
    top: int | None = None,
    engine: str = "duckdb",
    memory: str | None = None,
    master: str | None = None,
    progress: Progress | None = None,
) -> Log:
    """Count a log and return its queries.

    `files` are paths or globs. `format` is a preset or a file format. If it is None, the suffix decides. `schema`
    replaces fields of the format's `Schema`: {"query": "search", "min_items": 3}. `where` holds comparisons of columns,
    such as "segment=mobile". Up to `max_bad` malformed lines are tolerated. A value below 1 is a share of all lines.
    `top` is the number of queries to keep: those with the most displays.

    >>> lines = ["query,item,position,clicked", "hats,felt,1,1", "hats,straw,2,0", "hats,straw,1,0", "hats,felt,2,1"]
    >>> _ = Path("clicks.csv").write_text("\\n".join(lines))
    >>> log = read_log("clicks.csv")
    >>> log.account.good, log.queries[0].name, log.queries[0].items
    (4, 'hats', ['felt', 'straw'])
    >>> log.queries[0].counts.clicks
    array([[1., 1.],
           [0., 0.]])
    """
    options = CountOptions(where, max_bad, engine, memory, master, progress)
    with count_log(files, format, schema, options) as counted:
        return Log(_queries(counted, top), counted.account)


@contextmanager
def count_log(
    files: str | Iterable[str],
    format: str | None = None,
    schema: Mapping[str, Any] | None = None,
    options: CountOptions = DEFAULT_OPTIONS,
) -> Iterator[CountedLog]:
    """Count a log and leave the cells in the engine. The engine stops when the context ends."""
    require("logs", "reading a log")
    from slotwise.logs import aggregate

    paths, format_name = find_files([str(files)] if isinstance(files, str | Path) else map(str, files), format)
    full_schema = _full_schema(format_name, dict(schema or {}), paths)
    parsed = [parse(filter) if isinstance(filter, str) else filter for filter in options.where]
    log_files = open_log_files(paths, full_schema, [filter.column for filter in parsed])
    filters = [filter._replace(internal_name=log_files.read[filter.column]) for filter in parsed]
    with start_engine(options.engine, options.memory, options.master) as engine:
        counted = _count_cells(engine, log_files, filters, options.progress)
        cells = aggregate.parse_cells(counted, full_schema)
        lines = _number_of_lines(engine.to_arrow(aggregate.lines_by_status(cells)))
        positions = {}
        if LineStatus.BAD_POSITION in lines:
            positions = _number_of_lines(engine.to_arrow(aggregate.lines_by_position(counted, MOST_POSITIONS)))
        account = account_for_lines(log_files, filters, lines, PositionFrequencies.of(positions), options.max_bad)
        orders = page_orders(log_files) if format_name == EXPORTED_LOG else {}
        yield CountedLog(engine, aggregate.select_cells(cells, full_schema), full_schema, account, orders)


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


def _count_cells(
    engine: Engine, log_files: LogFiles, filters: Sequence[Filter], progress: Progress | None
) -> "ir.Table":
    """Count the cells with the engine's first reading that succeeds. Names stay as they are written in the log."""
    from slotwise.logs import aggregate

    schema, failure = log_files.schema, BadInput("no way to read this log")
    for lines in engine.readings(log_files):
        try:
            counted = aggregate.count_cells(aggregate.parse_clicks(lines, schema, filters), schema)
            return engine.materialize(counted, progress)
        except Unreadable as error:
            failure = error
    raise failure


def _number_of_lines(table: "pa.Table") -> dict[Any, int]:
    """A table of two columns as a mapping from the first column to the number of lines."""
    return dict(zip(table.column(0).to_pylist(), table["lines"].to_pylist(), strict=True))


def _queries(log: CountedLog, top: int | None) -> list[Query]:
    cells = log.cells
    if top is not None:
        queries = cells.group_by("query").agg(shown=cells["shown"].sum())
        queries = queries.order_by([queries["shown"].desc(), queries["query"]]).limit(integer_at_least("top", top, 1))
        cells = cells.semi_join(queries, ["query"])
    size = log.engine.to_arrow(cells.agg(cells=cells.count()))["cells"][0].as_py()
    if size == 0:
        raise BadInput(_nothing_left(log))
    if size > MAX_CELLS:
        raise BadInput(
            f"{size:,} cells of queries, items and positions are more than fit into memory at once; "
            "select fewer with --top 10000, --min-shown or --min-items"
        )
    return _build_queries(log.engine.to_arrow(cells), log)


def _nothing_left(log: CountedLog) -> str:
    schema, account = log.schema, log.account
    if not account.good:
        n_bad = sum(account.bad.values())
        return f"no line is left of {account.lines:,}: {account.left_out:,} left out by filters, {n_bad:,} malformed"
    return (
        f"no query is left of {account.good:,} good lines: none has {schema.min_items} or more items shown "
        f"{schema.min_shown:,} times or more at every position; see --min-shown and --min-items"
    )


def _build_queries(cells: "pa.Table", log: CountedLog) -> list[Query]:
    """Build the matrices of each query from its cells."""
    rows = sorted(
        zip(*[cells[name].to_pylist() for name in ("query", "item", "position", "shown", "clicked")], strict=True)
    )
    queries = [_build_query(name, list(group), log) for name, group in groupby(rows, itemgetter(0))]
    return sorted(queries, key=lambda query: (-query.counts.displays, natural_sort_key(query.name)))


def _build_query(name: str, rows: list[tuple[str, str, str, int, int]], log: CountedLog) -> Query:
    items = sorted({row[1] for row in rows}, key=natural_sort_key)
    positions = log.schema.sort_positions({row[2] for row in rows}, log.page_orders.get(name, ()))
    row_of, column_of = {item: k for k, item in enumerate(items)}, {position: k for k, position in enumerate(positions)}
    shown, clicked = np.zeros((2, len(items), len(positions)))
    for _, item, position, displays, clicks in rows:
        shown[row_of[item], column_of[position]] = displays
        clicked[row_of[item], column_of[position]] = clicks
    return Query(name, items, positions, Counts(clicks=clicked, skips=shown - clicked))
