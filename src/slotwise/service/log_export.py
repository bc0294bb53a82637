"""Write the log of a store to a file: NDJSON, CSV or Parquet."""

import csv
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from slotwise.checks import BadInput, one_of
from slotwise.extras import require
from slotwise.files import beside
from slotwise.service.log_lines import LogLine, log_line, parquet_schema
from slotwise.service.store.ledger import Ledger
from slotwise.service.store.open_store import read_committed

CHUNK = 1_000  # displays read at a time, so that memory does not grow with the log
FORMATS = (".ndjson", ".csv", ".parquet")
Write = Callable[[list[LogLine]], None]
_encode = msgspec.json.Encoder().encode


class LogFilter(NamedTuple):
    """Which lines to export. None and infinite times allow all."""

    page: str | None = None
    since: float = -math.inf
    until: float = math.inf
    variant: str | None = None

    def allows(self, line: LogLine) -> bool:
        return self.since <= line.issued < self.until and self.variant in (None, line.variant)


def export_log(store: Path | str, output: Path, lines: LogFilter) -> int:
    """Write the lines to a file, whose ending selects the format. Returns their number. Services may use the store.

    `store` is the path of a SQLite file, or an address.
    """
    one_of("format", output.suffix, FORMATS)
    with beside(output, private=True) as draft, _writer(draft, output.suffix) as write:
        return read_committed(store, lambda ledger: _export(ledger, lines, write))


def _export(ledger: Ledger, lines: LogFilter, write: Write) -> int:
    names = ledger.page_names() if lines.page is None else [lines.page]
    written = 0
    for name in names:
        page = ledger.page(name)
        if page is None:
            raise BadInput(f"the store has no page {name!r}; it has {', '.join(ledger.page_names()) or 'none'}")
        last = 0
        while rows := ledger.log(page.number, last, CHUNK):
            last = rows[-1].number
            chunk = [line for row in rows if lines.allows(line := log_line(name, row))]
            write(chunk)
            written += len(chunk)
    return written


@contextmanager
def _writer(path: Path, suffix: str) -> Iterator[Write]:
    if suffix == ".parquet":
        require("logs", "a .parquet file", "pyarrow")
        import pyarrow
        from pyarrow import parquet

        schema = parquet_schema()
        with parquet.ParquetWriter(path, schema) as table:
            yield lambda lines: table.write_table(pyarrow.Table.from_pylist(msgspec.to_builtins(lines), schema=schema))
    elif suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as text:
            rows = csv.writer(text)
            rows.writerow(LogLine.__struct_fields__)
            yield lambda lines: rows.writerows(msgspec.structs.astuple(line) for line in lines)
    else:
        with path.open("wb") as file:
            yield lambda lines: file.writelines(_encode(line) + b"\n" for line in lines)
