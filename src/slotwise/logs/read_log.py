"""The function `read_log` counts log files for each query, and accounts for every line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slotwise.checks import BadInput, integer_at_least
from slotwise.counts import Counts
from slotwise.logs.engines import Engine, Progress
from slotwise.logs.formats import EXPORTED_LOG
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import LineStatus
from slotwise.logs.opened_log import DEFAULT_OPTIONS, CountOptions, number_of_lines, open_log
from slotwise.logs.position_frequencies import MOST_POSITIONS, PositionFrequencies
from slotwise.logs.position_order import page_orders
from slotwise.logs.query import Query
from slotwise.logs.schema import Schema, natural_sort_key

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

MAX_CELLS = 5_000_000  # more cells do not fit into memory as Python objects; `count_log` has no limit


class Log(NamedTuple):
    """A counted log: its queries and an account of its lines. The queries with the most displays come first."""

    queries: list[Query]
    account: LineAccount


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

    >>> from pathlib import Path
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
    with open_log(files, format, schema, options) as log:
        from slotwise.logs import aggregate

        counted = log.materialize(
            lambda lines: aggregate.count_cells(aggregate.parse_clicks(lines, log.schema, log.filters), log.schema)
        )
        cells = aggregate.parse_cells(counted, log.schema)
        lines = number_of_lines(log.engine.to_arrow(aggregate.lines_by_status(cells)))
        positions = {}
        if LineStatus.BAD_POSITION in lines:
            positions = number_of_lines(log.engine.to_arrow(aggregate.lines_by_position(counted, MOST_POSITIONS)))
        account = account_for_lines(log.files, log.filters, lines, PositionFrequencies.of(positions), options.max_bad)
        orders = page_orders(log.files) if log.format == EXPORTED_LOG else {}
        yield CountedLog(log.engine, aggregate.select_cells(cells, log.schema), log.schema, account, orders)


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
