"""Logs as lists of rows, written in each format, and counted line by line in plain Python."""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet

from slotwise.logs.read_log import Log

Row = tuple[str, str, int, int]  # query, item, position, clicked
Cells = dict[tuple[str, str, str], tuple[int, int]]  # query, item, position: shown, clicked
NAMES = ("query", "item", "position", "clicked")


def csv_text(rows: Iterable[Sequence[object]], delimiter: str = ",", header: Sequence[str] = NAMES) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def write(path: Path, rows: Sequence[Row], names: Sequence[str] = NAMES) -> Path:
    """Write a log in the format of its suffix."""
    if path.suffix == ".parquet":
        columns = zip(*rows, strict=True)
        parquet.write_table(pa.table(dict(zip(names, map(list, columns), strict=True))), path)
    elif ".ndjson" in path.name:
        _write(path, "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    else:
        _write(path, csv_text(rows, "\t" if ".tsv" in path.name else ",", names))
    return path


def _write(path: Path, text: str) -> None:
    content = text.encode()
    if path.suffix == ".gz":
        content = gzip.compress(content)
    elif path.suffix in (".zst", ".bz2"):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, {".zst": "zstd", ".bz2": "bz2"}[path.suffix]) as out:
            out.write(content)
        content = sink.getvalue().to_pybytes()
    path.write_bytes(content)


def count(rows: Iterable[Row]) -> Cells:
    """The counts of the rows."""
    displays: Counter[tuple[str, str, str]] = Counter()
    clicked: Counter[tuple[str, str, str]] = Counter()
    for query, item, position, click in rows:
        displays[query, item, str(position)] += 1
        clicked[query, item, str(position)] += click
    return {cell: (number, clicked[cell]) for cell, number in displays.items()}


def cells(log: Log) -> Cells:
    """The counts of a log, cell by cell."""
    by_cell = {}
    for query, items, positions, counts in log.queries:
        for i, item in enumerate(items):
            for k, position in enumerate(positions):
                displays = int(counts.clicks[i, k] + counts.skips[i, k])
                if displays:
                    by_cell[query, item, position] = (displays, int(counts.clicks[i, k]))
    return by_cell
