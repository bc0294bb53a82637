"""The function `read_sessions` reads the sessions of each query from log files, and accounts for every line."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput, Ints, integer_at_least
from slotwise.logs.engines import Progress
from slotwise.logs.formats import EXPORTED_LOG, GENERIC_FORMATS
from slotwise.logs.line_account import LineAccount, account_for_lines
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import LineStatus
from slotwise.logs.log_files import find_format
from slotwise.logs.opened_log import CountOptions, OpenedLog, number_of_lines, open_log
from slotwise.logs.position_frequencies import MOST_POSITIONS, PositionFrequencies
from slotwise.logs.position_order import page_orders
from slotwise.logs.schema import natural_sort_key
from slotwise.logs.sessions import QuerySessions

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from slotwise.logs.count_sessions import Packing

MAX_ROWS = 20_000_000  # more different sessions do not fit into memory
MAX_POSITIONS = 60  # the clicks of a session are the binary digits of a 64-bit number
_NUMBERS = ("sessions", "lines", "counts")
_ITEMS = "items"  # the name of the table of items
_RARE = 3  # if an item is on fewer lines of the sample, then other items are probably not in the sample
DEFAULT_COLUMN = "display"  # of generic formats and of the log of the service


class SessionLog(NamedTuple):
    """The queries of a log with their sessions, and an account of the lines. The largest query comes first."""

    queries: list[QuerySessions]
    account: LineAccount
    left_out: int  # displays that have a position twice


def read_sessions(
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
) -> SessionLog:
    """Count the equal sessions of a log, for `fit_queries` with `clicks`.

    The arguments are those of `read_log`. The log needs a column that says which lines belong to the same display. It
    is called `display`, unless `schema` says otherwise: {"display": "session"}.

    >>> from pathlib import Path
    >>> lines = ["query,display,item,position,clicked", "hats,d1,felt,1,1", "hats,d1,straw,2,0", "hats,d2,straw,1,0"]
    >>> _ = Path("sessions.csv").write_text("\\n".join(lines))
    >>> (hats,) = read_sessions("sessions.csv").queries
    >>> hats.items, sorted(hats.displays.tolist()), hats.total
    (['felt', 'straw'], [[0, 1], [1, -1]], 2.0)
    """
    paths = [str(files)] if isinstance(files, str) else list(map(str, files))
    changes = _with_display(paths, format, dict(schema or {}))
    options = CountOptions(where, max_bad, engine, memory, master, progress)
    with open_log(paths, format, changes, options) as log:
        if log.schema.min_shown > 0:
            raise BadInput("--min-shown would remove items from displays, which click models need whole; leave it out")
        counted = _count(log, sample=True) or _count(log, sample=False)
        assert counted is not None  # the whole log has every item and position
        account = _account(log, counted.rows, max_bad)
        orders = page_orders(log.files) if log.format == EXPORTED_LOG else {}
        left_out = _check_displays(counted.rows, account, max_bad)
        queries = _queries(counted, log, orders)
    if not queries:
        raise BadInput(f"no display is left of {account.lines:,} lines: there is nothing to fit")
    kept = queries if top is None else queries[: integer_at_least("top", top, 1)]
    return SessionLog([query.sorted().split() for query in kept], account, left_out)


class _CountedSessions(NamedTuple):
    """The equal sessions of a log, and the names of the items and positions that they have."""

    rows: "pa.Table"
    items: list[str]  # the item with the number 1 first
    positions: list[Any]
    packing: "Packing"


def _with_display(files: list[str], format: str | None, changes: dict[str, Any]) -> dict[str, Any]:
    """The changes of the schema, with a column of displays."""
    if changes.get("display") is not None:
        return changes
    name = format or (find_format(files[0]) if files else GENERIC_FORMATS[0])
    if name not in (*GENERIC_FORMATS, EXPORTED_LOG):
        raise BadInput(
            f"a {name} log does not say which lines belong to the same display; click models other than the "
            "position-based model need such a column: --columns display=COLUMN"
        )
    return {**changes, "display": DEFAULT_COLUMN}


def _count(log: OpenedLog, sample: bool) -> _CountedSessions | None:
    """Count the sessions with the items and positions of a sample, or of the whole log.

    Returns None if the sample is not enough.
    """
    from slotwise.logs import count_sessions as expressions

    def parsed(lines: "ir.Table") -> "ir.Table":
        return expressions.parse_session_lines(lines, log.schema, log.filters)

    found = log.materialize(lambda lines: expressions.list_names(parsed(lines), "position", sample))
    names: list[Any] = log.engine.to_arrow(found)["position"].to_pylist()
    if len(names) > MAX_POSITIONS:
        raise BadInput(
            f"the log has {len(names)} positions, and click models take at most {MAX_POSITIONS}; "
            "select one query with --where"
        )
    positions = sorted(names) or [1 if log.schema.allowed_positions is not None else "1"]
    items, packing = [""], expressions.Packing.of(1, len(positions))

    def counted(lines: "ir.Table") -> "ir.Table":
        nonlocal items, packing
        listed = log.engine.materialize(expressions.list_names(parsed(lines), "item", sample), None, _ITEMS)
        table = log.engine.to_arrow(listed.order_by("code"))
        if sample and len(table) and np.min(table["lines"].to_numpy()) < _RARE:  # then the log has more items
            listed = log.engine.materialize(expressions.list_names(parsed(lines), "item", False), None, _ITEMS)
            table = log.engine.to_arrow(listed.order_by("code"))
        items = table["item"].cast("string").to_pylist()
        packing = expressions.Packing.of(len(items), len(positions))
        return expressions.count_sessions(parsed(lines), listed, positions, packing, log.schema)

    result = log.materialize(counted)
    rows = log.engine.to_arrow(result.agg(rows=result.count()))["rows"][0].as_py()
    if rows > MAX_ROWS:
        raise BadInput(
            f"{rows:,} different sessions are more than fit into memory at once; select fewer lines with --where"
        )
    table = log.engine.to_arrow(result)
    unlisted = str(expressions.UNLISTED) in table["status"].to_pylist()
    return None if unlisted and sample else _CountedSessions(_with_integers(table), items, positions, packing)


def _with_integers(table: "pa.Table") -> "pa.Table":
    """The table with 64-bit numbers, because the sums of some engines have 128 bits."""
    for k, name in enumerate(table.column_names):
        if name in _NUMBERS:
            table = table.set_column(k, name, table[name].cast("int64"))
    return table


def _total(table: "pa.Table", column: str) -> int:
    return int(np.sum(table[column].to_numpy()))


def _account(log: OpenedLog, table: "pa.Table", max_bad: int | float) -> LineAccount:
    from slotwise.logs import aggregate

    lines: dict[int, int] = defaultdict(int)
    for row in table.group_by("status").aggregate([("lines", "sum")]).to_pylist():
        lines[int(row["status"] or LineStatus.COUNTED)] += row["lines_sum"]
    positions = {}
    if LineStatus.BAD_POSITION in lines:
        cells = log.materialize(
            lambda raw: aggregate.count_cells(aggregate.parse_clicks(raw, log.schema, log.filters), log.schema)
        )
        positions = number_of_lines(log.engine.to_arrow(aggregate.lines_by_position(cells, MOST_POSITIONS)))
    return account_for_lines(log.files, log.filters, lines, PositionFrequencies.of(positions), max_bad)


def _check_displays(table: "pa.Table", account: LineAccount, max_bad: int | float) -> int:
    """The number of displays that are left out, because they have a position twice."""
    if counts := _total(table, "counts"):
        raise BadInput(
            f"{counts:,} lines are the sum of several displays; click models need one line for each item of a display"
        )
    repeated = table["repeated"].to_numpy(zero_copy_only=False).astype(bool)
    displays = int(table["sessions"].to_numpy()[repeated].sum())
    lines = int(table["lines"].to_numpy()[repeated].sum())
    if lines > (max_bad * account.lines if 0 < max_bad < 1 else max_bad):
        example = min(name for name in table["example"].to_pylist() if name is not None)
        raise BadInput(
            f"{displays:,} displays have a position twice, {lines:,} lines in all, for example display {example!r}; "
            "either lines are in the log twice, or another column has the displays: --columns display=COLUMN"
        )
    return displays


def _queries(counted: _CountedSessions, log: OpenedLog, orders: Mapping[str, list[str]]) -> list[QuerySessions]:
    """The sessions of each query, the query with the most sessions first."""
    import pyarrow.compute as compute

    rows = counted.rows
    good = rows.filter(compute.and_(compute.is_null(rows["status"]), compute.invert(rows["repeated"])))
    allowed = log.schema.allowed_positions
    numbered = log.schema.numbered_positions
    names = [str(place) if numbered or allowed is None else allowed[place - 1] for place in counted.positions]
    query_names, query_of = _codes(good["query"])
    fields = counted.packing.unpack([good[f"word{k}"].to_numpy() for k in range(len(counted.packing.words))])
    items, rank = _sorted_names(counted.items)
    displays, clicked = np.append(EMPTY, rank)[fields >> 1], (fields & 1).astype(bool)
    number = good["sessions"].to_numpy().astype(float)
    order = np.argsort(query_of, kind="stable")
    edges = np.searchsorted(query_of[order], np.arange(len(query_names) + 1))
    found = []
    for k, name in enumerate(query_names):
        own = order[edges[k] : edges[k + 1]]
        own = own[(displays[own] != EMPTY).any(axis=1)]  # a display that does not count has no item
        if not own.size:
            continue
        used = np.flatnonzero((displays[own] != EMPTY).any(axis=0))
        ranked = log.schema.sort_positions({names[p] for p in used}, orders.get(name, ()))
        cells = np.ix_(own, np.array([names.index(place) for place in ranked]))
        own_items, own_displays = _own_items(items, displays[cells])
        if len(own_items) >= log.schema.min_items:
            half = np.zeros(own.size, np.int64)
            found.append(QuerySessions(name, own_items, ranked, own_displays, clicked[cells], half, number[own]))
    return sorted(found, key=lambda query: (-query.total, natural_sort_key(query.name)))


def _codes(column: "pa.ChunkedArray") -> tuple[list[str], Ints]:
    """The sorted names of a column, and the number of the name in every row."""
    encoded = column.combine_chunks().dictionary_encode()
    if not len(encoded):
        return [], np.empty(0, np.int64)
    names, rank = _sorted_names(encoded.dictionary.to_pylist())
    return names, rank[encoded.indices.to_numpy(zero_copy_only=False)]


def _sorted_names(names: list[str]) -> tuple[list[str], Ints]:
    """The names in natural order, and the place of each name in this order."""
    order = sorted(range(len(names)), key=lambda k: natural_sort_key(names[k]))
    rank = np.empty(len(names), np.int64)
    rank[order] = np.arange(len(names))
    return [names[k] for k in order], rank


def _own_items(items: list[str], displays: Ints) -> tuple[list[str], Ints]:
    """The items of one query, with numbers from 0."""
    used = np.zeros(len(items) + 1, np.bool_)
    used[displays] = True  # the last element is that of empty positions
    own = np.append(np.cumsum(used[:-1]) - 1, EMPTY)
    return [items[k] for k in np.flatnonzero(used[:-1]).tolist()], own[displays]
