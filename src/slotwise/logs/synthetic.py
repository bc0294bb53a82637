"""The function `synth` writes logs of any size in any format. The visitors are simulated with known parameters."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from slotwise.checks import one_of
from slotwise.files import beside
from slotwise.logs import kdd2012
from slotwise.logs.synthetic_traffic import Lines, Traffic

BATCH_LINES = 250_000
WriteProgress = Callable[[int], None]  # called with the number of lines written so far


def synth(
    path: str | os.PathLike[str], traffic: Traffic, format: str, seed: int = 0, progress: WriteProgress | None = None
) -> int:
    """Write a log and return the number of its lines.

    The suffix selects the compression (.gz, .zst, .bz2). The file appears only when it is complete.
    """
    table = _TABLES[one_of("format", format, _TABLES)]
    rng = np.random.default_rng([seed, 2])
    with beside(path) as draft, _writer(draft, Path(path), format) as write:
        written = 0
        for lines in traffic.lines(rng, BATCH_LINES):
            write(table(lines, rng, written))
            written += lines.query.size
            if progress is not None:
                progress(written)
    return written


@contextmanager
def _writer(draft: Path, target: Path, format: str) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends a table to the file, in the given format."""
    if format == "parquet":
        with _LazyWriter(lambda table: pa.parquet.ParquetWriter(draft, table.schema)) as writer:
            yield writer.write
        return
    compression = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}.get(target.suffix.lower())
    with pa.output_stream(str(draft), compression=compression) as out:
        if format == "ndjson":
            yield lambda table: out.write(b"".join(msgspec.json.encode(row) + b"\n" for row in table.to_pylist()))
            return
        delimiter = "\t" if format in ("kdd2012", "tsv") else ","
        options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter, quoting_style="none")

        def open_csv(table: pa.Table) -> Any:
            if format != "kdd2012":  # pyarrow would quote the names
                out.write((delimiter.join(table.column_names) + "\n").encode())
            return pa.csv.CSVWriter(out, table.schema, write_options=options)

        with _LazyWriter(open_csv) as writer:
            yield writer.write


class _LazyWriter:
    """A writer that is opened when it gets its first table, with the schema of that table."""

    def __init__(self, open_writer: Callable[[pa.Table], Any]) -> None:
        self._open_writer = open_writer
        self._writer: Any = None

    def __enter__(self) -> "_LazyWriter":
        return self

    def write(self, table: pa.Table) -> None:
        self._writer = self._writer or self._open_writer(table)
        self._writer.write_table(table)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def _generic_table(lines: Lines, rng: np.random.Generator, before: int) -> pa.Table:
    display = {} if lines.display is None else {"display": pa.array(lines.display).cast("string")}
    return pa.table(
        {
            "query": pa.array(lines.query).cast("string"),
            **display,
            "item": pa.array(lines.item).cast("string"),
            "position": lines.position,
            "clicked": lines.clicked,
        }
    )


def _open_bandit_table(lines: Lines, rng: np.random.Generator, before: int) -> pa.Table:
    """The columns of the Open Bandit Dataset. This format has no queries, so all queries are merged into one."""
    n = lines.query.size
    seconds = np.datetime64("2019-11-24T00:00:00") + (before + np.arange(n)).astype("timedelta64[s]")
    return pa.table(
        {
            "": before + np.arange(n),
            "timestamp": np.char.replace(seconds.astype(str), "T", " "),
            "item_id": lines.item,
            "position": lines.position,
            "click": lines.clicked,
            "propensity_score": np.full(n, 0.0125),
        }
    )


def _kdd2012_table(lines: Lines, rng: np.random.Generator, before: int) -> pa.Table:
    """The columns of the KDD Cup 2012 log. A session has at least as many impressions as clicks."""
    n = lines.query.size
    impressions = rng.geometric(0.9, n)
    clicks = lines.clicked * rng.integers(1, impressions + 1)
    depth = np.maximum(lines.position, rng.integers(1, 4, n))
    # columns that are not read hold numbers with as many digits as in the real log
    url = rng.integers(10**18, 2 * 10**18, n)
    advertiser, keyword, title, description = (
        rng.integers(0, high, n) for high in (40_000, 10**6, 4 * 10**6, 3 * 10**6)
    )
    user = rng.integers(0, 24 * 10**6, n)
    columns = [
        clicks, impressions, url, lines.item, advertiser, depth, lines.position, lines.query, keyword, title,
        description, user,
    ]  # fmt: skip
    return pa.table(dict(zip(kdd2012.NAMES, columns, strict=True)))


_TABLES: dict[str, Callable[[Lines, np.random.Generator, int], pa.Table]] = {
    "csv": _generic_table,
    "tsv": _generic_table,
    "ndjson": _generic_table,
    "parquet": _generic_table,
    "kdd2012": _kdd2012_table,
    "open-bandit": _open_bandit_table,
}
FORMATS = tuple(_TABLES)
