"""The first malformed lines of a log: which file, which line, what is wrong, and what it says."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import ibis
import msgspec
import pyarrow as pa

from slotwise.logs.aggregate import judged, marked
from slotwise.logs.filters import Filter
from slotwise.logs.line_status import Bad
from slotwise.logs.log_files import Source, open_text, split

_AT_ONCE = 50_000
_SHOWN = 100


class BadLine(NamedTuple):
    """One malformed line; the first line of a file is 1."""

    file: str
    line: int
    bad: Bad
    text: str


class _Chunk(NamedTuple):
    numbers: list[int]
    texts: list[str]
    table: pa.Table


def first_bad(source: Source, filters: Sequence[Filter], count: int) -> list[BadLine]:
    """The first `count` malformed lines, found by the same expressions that counted them, read slowly and in order."""
    found: list[BadLine] = []
    connection = ibis.duckdb.connect()
    for file in source.files:
        for chunk in _chunks(file, source):
            lines = marked(ibis.memtable(chunk.table), source.schema, filters, also=["row"])
            table = judged(lines, source.schema)
            table = table.filter(~table["bad"].isin([int(Bad.NOTHING), int(Bad.LEFT_OUT)])).select("row", "bad")
            for each in connection.to_pyarrow(table.order_by("row").limit(count - len(found))).to_pylist():
                row = each["row"]
                found.append(BadLine(file, chunk.numbers[row], Bad(each["bad"]), chunk.texts[row][:_SHOWN]))
            if len(found) == count:
                return found
    return found


def _chunks(file: str, source: Source) -> Iterator[_Chunk]:
    if source.schema.kind == "parquet":
        yield from _parquet_chunks(file, source)
        return
    read = _csv_row if source.schema.kind == "csv" else _json_row
    header = source.schema.kind == "csv" and source.schema.names is None
    with open_text(file) as text:
        numbered = ((k, line.rstrip("\r\n")) for k, line in enumerate(text, 1))
        lines = ((k, line) for k, line in numbered if line and not (header and k == 1))
        while chunk := list(islice(lines, _AT_ONCE)):
            rows = [read(line, source) for _, line in chunk]
            yield _Chunk([k for k, _ in chunk], [line for _, line in chunk], _table(rows, source))


def _table(rows: list[list[str | None] | None], source: Source) -> pa.Table:
    """Rows as the engines give them: text by our names, all of it null in a torn line."""
    columns = {
        name: pa.array([None if row is None else row[k] for row in rows], pa.string())
        for k, name in enumerate(source.read.values())
    }
    return pa.table({**columns, "torn": [row is None for row in rows], "row": range(len(rows))})


def _csv_row(line: str, source: Source) -> list[str | None] | None:
    fields = split(line, source.schema)
    if len(fields) != len(source.columns):
        return None
    return [fields[source.columns.index(column)] for column in source.read]


def _json_row(line: str, source: Source) -> list[str | None] | None:
    try:
        values = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(values, dict) or all(values.get(column) is None for column in source.read):
        return None
    return [_plain(values.get(column)) for column in source.read]


def _plain(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _parquet_chunks(file: str, source: Source) -> Iterator[_Chunk]:
    import pyarrow.parquet as parquet

    first = 1
    for batch in parquet.ParquetFile(file).iter_batches(_AT_ONCE, columns=list(source.read)):
        rows = batch.num_rows
        table = pa.Table.from_batches([batch]).rename_columns([source.read[name] for name in batch.schema.names])
        table = table.append_column("row", pa.array(range(rows)))
        texts = [msgspec.json.encode(row, enc_hook=str).decode() for row in batch.to_pylist()]
        yield _Chunk(list(range(first, first + rows)), texts, table)
        first += rows
