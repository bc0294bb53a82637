"""synth: logs of any size in any format, from visitors whose parameters are known."""

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

from slotwise.checks import known
from slotwise.files import beside
from slotwise.logs import kdd2012
from slotwise.logs.traffic import Lines, Traffic

AT_ONCE = 250_000
Done = Callable[[int], None]  # the lines written so far


def synth(path: str | os.PathLike[str], traffic: Traffic, format: str, seed: int = 0, done: Done | None = None) -> int:
    """Write a log, whole or not at all, compressed as the name says (.gz, .zst, .bz2); the number of its lines."""
    table = _TABLES[known("format", format, _TABLES)]
    rng = np.random.default_rng([seed, 2])
    with beside(path) as draft, _writer(draft, Path(path), format) as write:
        written = 0
        for lines in traffic.lines(rng, AT_ONCE):
            write(table(lines, rng, written))
            written += lines.page.size
            if done is not None:
                done(written)
    return written


@contextmanager
def _writer(draft: Path, target: Path, format: str) -> Iterator[Callable[[pa.Table], None]]:
    """What appends a table to the file, in its format."""
    if format == "parquet":
        with _Late(lambda table: pa.parquet.ParquetWriter(draft, table.schema)) as writer:
            yield writer.write
        return
    compression = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}.get(target.suffix.lower())
    with pa.output_stream(str(draft), compression=compression) as out:
        if format == "ndjson":
            yield lambda table: out.write(b"".join(msgspec.json.encode(row) + b"\n" for row in table.to_pylist()))
            return
        between = "\t" if format in ("kdd2012", "tsv") else ","
        options = pa.csv.WriteOptions(include_header=False, delimiter=between, quoting_style="none")

        def make(table: pa.Table) -> Any:
            if format != "kdd2012":  # pyarrow would put the names in quotes
                out.write((between.join(table.column_names) + "\n").encode())
            return pa.csv.CSVWriter(out, table.schema, write_options=options)

        with _Late(make) as writer:
            yield writer.write


class _Late:
    """A writer that is made when its first table tells the schema."""

    def __init__(self, make: Callable[[pa.Table], Any]) -> None:
        self._make = make
        self._writer: Any = None

    def __enter__(self) -> "_Late":
        return self

    def write(self, table: pa.Table) -> None:
        self._writer = self._writer or self._make(table)
        self._writer.write_table(table)

    def __exit__(self, *_: object) -> None:
        if self._writer is not None:
            self._writer.close()


def _plain(lines: Lines, rng: np.random.Generator, before: int) -> pa.Table:
    return pa.table(
        {
            "page": pa.array(lines.page).cast("string"),
            "item": pa.array(lines.item).cast("string"),
            "position": lines.position,
            "clicked": lines.clicked,
        }
    )


def _open_bandit(lines: Lines, rng: np.random.Generator, before: int) -> pa.Table:
    """The dataset's own columns; it knows one page only, so all pages become one."""
    n = lines.page.size
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


def _kdd2012(lines: Lines, rng: np.random.Generator, before: int) -> pa.Table:
    """A session may have several impressions, and then several clicks; no more of these than of those."""
    n = lines.page.size
    impressions = rng.geometric(0.9, n)
    clicks = lines.clicked * rng.integers(1, impressions + 1)
    depth = np.maximum(lines.position, rng.integers(1, 4, n))
    # of what nobody reads, numbers as wide as the real ones
    url = rng.integers(10**18, 2 * 10**18, n)
    advertiser, keyword, title, description = (
        rng.integers(0, high, n) for high in (40_000, 10**6, 4 * 10**6, 3 * 10**6)
    )
    user = rng.integers(0, 24 * 10**6, n)
    columns = [
        clicks, impressions, url, lines.item, advertiser, depth, lines.position, lines.page, keyword, title,
        description, user,
    ]  # fmt: skip
    return pa.table(dict(zip(kdd2012.NAMES, columns, strict=True)))


_TABLES: dict[str, Callable[[Lines, np.random.Generator, int], pa.Table]] = {
    "csv": _plain,
    "tsv": _plain,
    "ndjson": _plain,
    "parquet": _plain,
    "kdd2012": _kdd2012,
    "open-bandit": _open_bandit,
}
FORMATS = tuple(_TABLES)
