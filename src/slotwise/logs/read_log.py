"""read_log: from log files to the counts of each query, with an account of every line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import ibis.expr.types as ir
import numpy as np
import pyarrow as pa

from slotwise.checks import BadInput, whole
from slotwise.counts import Counts
from slotwise.logs import aggregate
from slotwise.logs.engines import Engine, Progress, Unreadable, start
from slotwise.logs.filters import Filter, parse
from slotwise.logs.formats import PLAIN, format_of
from slotwise.logs.line_account import Account, judge
from slotwise.logs.log_files import Source, columns_of, find, open_source
from slotwise.logs.query import Query
from slotwise.logs.schema import Schema, changed, natural

MOST_CELLS = 5_000_000  # that fit into memory as Python objects; `counted` has no limit


class Log(NamedTuple):
    """What a log says: its queries, those with the most displays first, and an account of its lines."""

    queries: list[Query]
    account: Account


class Counted(NamedTuple):
    """The cells of a log where they were counted: page, item, position, shown, clicked."""

    engine: Engine
    cells: ir.Table
    schema: Schema
    account: Account

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All the cells, however many, piece by piece."""
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
    """Count a log and hand over its queries.

    `files` are paths or globs; `format` is a preset or a kind of file, told by the suffix when it is None; `schema`
    sets fields of its `Schema` anew: {"page": "query", "min_items": 3}. `where` has comparisons of columns, such as
    "segment=mobile". `max_bad` malformed lines are tolerated, a number, or a share of all lines when below 1. `top`
    keeps the queries with the most displays only.
    """
    with counted(
        files, format, schema, where=where, max_bad=max_bad, engine=engine, memory=memory, master=master,
        progress=progress,
    ) as found:  # fmt: skip
        return Log(_queries(found, top), found.account)


@contextmanager
def counted(
    files: str | Iterable[str],
    format: str | None = None,
    schema: Mapping[str, Any] | None = None,
    *,
    where: Sequence[str | Filter] = (),
    max_bad: int | float = 0,
    engine: str = "duckdb",
    memory: str | None = None,
    master: str | None = None,
    progress: Progress | None = None,
) -> Iterator[Counted]:
    """The cells of a log, still in the engine, for as long as the context lasts."""
    paths, name = find([str(files)] if isinstance(files, str | Path) else map(str, files), format)
    plan = _plan(name, dict(schema or {}), paths)
    wanted = [parse(each) if isinstance(each, str) else each for each in where]
    source = open_source(paths, plan, [each.column for each in wanted])
    filters = [each._replace(ours=source.read[each.column]) for each in wanted]
    with start(engine, memory, master) as running:
        cells = _cells(running, source, filters, progress)
        found = running.rows(aggregate.reasons(cells)).to_pylist()
        account = judge(source, filters, {row["bad"]: row["lines"] for row in found}, max_bad)
        yield Counted(running, aggregate.chosen(cells, plan), plan, account)


def _plan(format: str, changes: dict[str, Any], paths: list[str]) -> Schema:
    """The schema asked for. Lines with a column `shown` are counted already, where no preset and nobody says not."""
    schema = changed(format_of(format), changes)
    local = [path for path in paths if "://" not in path]
    if format not in PLAIN or "shown" in changes or not local or "shown" not in columns_of(local[0], schema):
        return schema
    return changed(schema, {"shown": "shown"})


def _cells(engine: Engine, source: Source, filters: Sequence[Filter], progress: Progress | None) -> ir.Table:
    """The cells, by the first reading that can."""
    schema, failure = source.schema, BadInput("no way to read this log")
    for lines in engine.readings(source):
        try:
            cells = engine.keep(aggregate.cells(aggregate.marked(lines, schema, filters), schema), progress)
        except Unreadable as error:
            failure = error
            continue
        judged = aggregate.judged(cells, schema)
        return aggregate.merged(judged) if aggregate.as_text(cells, schema) else judged
    raise failure


def _queries(found: Counted, top: int | None) -> list[Query]:
    cells = found.cells
    if top is not None:
        pages = cells.group_by("page").agg(shown=cells["shown"].sum())
        pages = pages.order_by([pages["shown"].desc(), pages["page"]]).limit(whole("top", top, 1))
        cells = cells.semi_join(pages, ["page"])
    size = found.engine.rows(cells.agg(cells=cells.count()))["cells"][0].as_py()
    if size == 0:
        raise BadInput(_nothing(found))
    if size > MOST_CELLS:
        raise BadInput(
            f"{size:,} cells of queries, items and positions are more than fit into memory at once; "
            "ask for fewer: --top 10000, --min-shown or --min-items"
        )
    return _assembled(found.engine.rows(cells), found.schema)


def _nothing(found: Counted) -> str:
    schema, account = found.schema, found.account
    if not account.good:
        wrong = sum(account.bad.values())
        return f"no line is left of {account.lines:,}: {account.left_out:,} left out by filters, {wrong:,} malformed"
    return (
        f"no query is left of {account.good:,} good lines: none has {schema.min_items} or more items shown "
        f"{schema.min_shown:,} times or more at every position; see --min-shown and --min-items"
    )


def _assembled(cells: pa.Table, schema: Schema) -> list[Query]:
    """The matrices of each query from its cells."""
    rows = sorted(
        zip(*[cells[name].to_pylist() for name in ("page", "item", "position", "shown", "clicked")], strict=True)
    )
    queries = [_query(page, list(group), schema) for page, group in groupby(rows, itemgetter(0))]
    return sorted(queries, key=lambda query: (-query.counts.displays, natural(query.name)))


def _query(page: str, rows: list[tuple[str, str, str, int, int]], schema: Schema) -> Query:
    items = sorted({row[1] for row in rows}, key=natural)
    positions = schema.ordered({row[2] for row in rows})
    row_of, column_of = {name: k for k, name in enumerate(items)}, {name: k for k, name in enumerate(positions)}
    shown, clicked = np.zeros((2, len(items), len(positions)))
    for _, item, position, seen, clicks in rows:
        shown[row_of[item], column_of[position]] = seen
        clicked[row_of[item], column_of[position]] = clicks
    return Query(page, items, positions, Counts(clicks=clicked, skips=shown - clicked))
