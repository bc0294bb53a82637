"""Find the order of a page's positions in the log that the service exports.

Positions in this log may have any names, but the lines of a display are in the order of the page.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter

import msgspec

from slotwise.logs.log_files import LogFiles, open_text, readable

_MOST_LINES, _LEAST_LINES = 10_000, 500  # lines to read of all files together, and at least of each file
_COLUMNS = ("page", "display", "position")
Line = tuple[str, str, str]  # page, display, position


def page_orders(log_files: LogFiles) -> dict[str, list[str]]:
    """The positions of each page in order, as far as they occur in the first lines of the files."""
    orders: dict[str, list[str]] = {}
    size = max(_MOST_LINES // len(log_files.files), _LEAST_LINES)
    for file in log_files.files:
        if "://" in file:
            continue
        with readable(file):
            lines = _parquet_lines(file) if log_files.schema.kind == "parquet" else _json_lines(file)
            for (page, _), display in groupby(islice(lines, size), itemgetter(0, 1)):
                merge_order(orders.setdefault(page, []), [position for _, _, position in display])
    return orders


def merge_order(order: list[str], display: Sequence[str]) -> None:
    """Insert the positions that the order lacks. A position goes next to its neighbours in the display."""
    known = [order.index(position) for position in display if position in order]
    place = known[0] if known else len(order)
    for position in display:
        if position in order:
            place = order.index(position) + 1
        else:
            order.insert(place, position)
            place += 1


def in_page_order(positions: Iterable[str], order: Sequence[str]) -> list[str]:
    """The positions in the order of the page. Positions that the order lacks come last, as they are given."""
    rank = {position: k for k, position in enumerate(order)}
    return sorted(positions, key=lambda position: rank.get(position, len(rank)))


class _LogLine(msgspec.Struct):
    page: str
    display: str
    position: str


def _json_lines(file: str) -> Iterator[Line]:
    decode = msgspec.json.Decoder(_LogLine).decode
    with open_text(file) as text:
        for line in text:
            try:
                yield msgspec.structs.astuple(decode(line))
            except (msgspec.DecodeError, RecursionError):
                continue  # the account of lines reports this line


def _parquet_lines(file: str) -> Iterator[Line]:
    import pyarrow.parquet as parquet

    table = parquet.ParquetFile(file)
    if set(_COLUMNS) <= set(table.schema_arrow.names):
        for batch in table.iter_batches(_MOST_LINES, columns=list(_COLUMNS)):
            yield from zip(*(batch[name].to_pylist() for name in _COLUMNS), strict=True)
