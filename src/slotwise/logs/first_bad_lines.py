"""The first malformed lines of a log: file, line number, problem and text."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import ibis
import msgspec
import pyarrow as pa

from slotwise.logs.aggregate import parse_clicks, parse_names
from slotwise.logs.bad_line import BadLine
from slotwise.logs.line_filters import Filter
from slotwise.logs.line_status import WELL_FORMED, LineStatus
from slotwise.logs.log_files import LogFiles, open_text, readable, split_csv_line

_CHUNK_LINES = 50_000
_MAX_TEXT = 10_000  # characters of a line that are kept


class _Chunk(NamedTuple):
    numbers: list[int]
    texts: list[str]
    table: pa.Table


def find_bad_lines(log_files: LogFiles, filters: Sequence[Filter], count: int) -> list[BadLine]:
    """The first `count` malformed lines, in order.

    The same expressions that count the log find these lines, in one chunk of lines after another. This is slow.
    """
    bad_lines: list[BadLine] = []
    connection = ibis.duckdb.connect()
    schema = log_files.schema
    for file in log_files.files:
        for chunk in _chunks(file, log_files):
            lines = parse_names(parse_clicks(ibis.memtable(chunk.table), schema, filters, extra=["row"]), schema)
            bad = lines.filter(~lines["status"].isin([int(status) for status in WELL_FORMED])).select("row", "status")
            for found in connection.to_pyarrow(bad.order_by("row").limit(count - len(bad_lines))).to_pylist():
                row, status = found["row"], LineStatus(found["status"])
                (values,) = chunk.table.slice(row, 1).to_pylist()
                bad_lines.append(BadLine(file, chunk.numbers[row], status, chunk.texts[row][:_MAX_TEXT], values))
            if len(bad_lines) == count:
                return bad_lines
    return bad_lines


def _chunks(file: str, log_files: LogFiles) -> Iterator[_Chunk]:
    schema = log_files.schema
    if schema.kind == "parquet":
        yield from _parquet_chunks(file, log_files)
        return
    parse = _csv_row if schema.kind == "csv" else _json_row
    header = schema.kind == "csv" and schema.names is None
    with open_text(file) as text:
        numbered = ((k, line.rstrip("\r\n")) for k, line in enumerate(text, 1))
        lines = ((k, line) for k, line in numbered if line and not (header and k == 1))
        while chunk := list(islice(lines, _CHUNK_LINES)):
            rows = [parse(line, log_files) for _, line in chunk]
            yield _Chunk([k for k, _ in chunk], [line for _, line in chunk], _table(rows, log_files))


def _table(rows: list[list[str | None] | None], log_files: LogFiles) -> pa.Table:
    """The rows as the engines return them. All columns are text. A row with the wrong number of columns is all null."""
    columns = {
        name: pa.array([None if row is None else row[k] for row in rows], pa.string())
        for k, name in enumerate(log_files.read.values())
    }
    return pa.table({**columns, "wrong_columns": [row is None for row in rows], "row": range(len(rows))})


def _csv_row(line: str, log_files: LogFiles) -> list[str | None] | None:
    fields = split_csv_line(line, log_files.schema)
    if len(fields) != len(log_files.columns):
        return None
    return [fields[log_files.columns.index(column)] for column in log_files.read]


def _json_row(line: str, log_files: LogFiles) -> list[str | None] | None:
    try:
        values = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    if not isinstance(values, dict) or all(values.get(column) is None for column in log_files.read):
        return None
    return [_json_text(values.get(column)) for column in log_files.read]


def _json_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _parquet_chunks(file: str, log_files: LogFiles) -> Iterator[_Chunk]:
    import pyarrow.parquet as parquet

    first = 1
    with readable(file):  # the engine may have read a damaged file that this library cannot read
        for batch in parquet.ParquetFile(file).iter_batches(_CHUNK_LINES, columns=list(log_files.read)):
            rows = batch.num_rows
            table = pa.Table.from_batches([batch]).rename_columns([log_files.read[name] for name in batch.schema.names])
            table = table.append_column("row", pa.array(range(rows)))
            texts = [msgspec.json.encode(row, enc_hook=str).decode() for row in batch.to_pylist()]
            yield _Chunk(list(range(first, first + rows)), texts, table)
            first += rows
