"""Source: the files of a log, found, looked at and named before anything is counted."""

import csv
import glob
import io
import lzma
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec
import pyarrow as pa

from slotwise.checks import BadInput, known, shown
from slotwise.logs.formats import SUFFIXES
from slotwise.logs.schema import Schema

COMPRESSED = (".gz", ".zst", ".bz2", ".xz")


class Source(NamedTuple):
    """Files of one schema. Columns that are read get names of ours: no name in a log can then get in the way."""

    files: list[str]
    schema: Schema
    columns: list[str]  # of csv, in order, as the log names them; of the others, those that are read
    read: dict[str, str]  # the log's column -> our name: the field that it fills, or one made for a filter
    empty: list[str]  # files without a line

    @property
    def remote(self) -> bool:
        """Whether the files can be read by a cluster only."""
        return any("://" in file for file in self.files)


def find(paths: Iterable[str], format: str | None = None) -> tuple[list[str], str]:
    """The files that paths and globs stand for, and the name of their format: given, or told by the first suffix."""
    files: list[str] = []
    for path in paths:
        files += [path] if "://" in path else _expanded(path)
    if not files:
        raise BadInput("no files given; name the log files, or a glob such as 'logs/*.csv.gz'")
    twice = [file for file in files if files.count(file) > 1]
    if twice:
        raise BadInput(f"{shown(twice[0])} is named twice: its lines would be counted twice")
    return files, format or find_format(files[0])


def _expanded(path: str) -> list[str]:
    if Path(path).is_dir():
        raise BadInput(f"{path!r} is a folder; name its files, such as {path.rstrip('/') + '/*'!r}")
    found = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - text in and out
    files = [file for file in found if not Path(file).is_dir()]
    if not files:
        raise BadInput(f"there is no file {path!r}")
    return files


def find_format(file: str) -> str:
    """The format that a file's name tells."""
    suffix = _suffix(file)
    if suffix not in SUFFIXES:
        raise BadInput(
            f"what {file!r} holds cannot be told by its name; say --format csv, tsv, ndjson, parquet, kdd2012"
        )
    return SUFFIXES[suffix]


def _suffix(file: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_source(files: list[str], schema: Schema, filtered: Iterable[str] = ()) -> Source:
    """Look at every file: it must be there, readable, and have the columns that are read."""
    wanted = {column: field for field, column in schema.used.items()}
    for number, column in enumerate(dict.fromkeys(filtered)):
        wanted.setdefault(column, f"filter{number}")
    look = {"csv": _csv_columns, "ndjson": _ndjson_columns, "parquet": _parquet_columns}[schema.kind]
    columns: list[str] | None = None
    empty = []
    for file in files:
        if "://" in file:
            continue
        with readable(file):
            found = look(file, schema, list(wanted))
        if found is None:
            empty.append(file)
        elif columns is None:
            columns = found
        elif found != columns:
            raise BadInput(f"{file!r} has the columns {shown(found)}, other files have {shown(columns)}")
    if len(empty) == len(files):
        raise BadInput(f"{files[0]!r} is empty: a log needs at least one line" + _and_others(len(files) - 1))
    if columns is None:
        columns = list(schema.names or wanted)
    return Source([file for file in files if file not in empty], schema, columns, wanted, empty)


def columns_of(file: str, schema: Schema) -> list[str]:
    """All the columns that a file of its own account has: in its header, its first line, or its schema."""
    with readable(file):
        if schema.kind == "parquet":
            import pyarrow.parquet as parquet

            return list(parquet.ParquetFile(file).schema_arrow.names)
        with open_text(file) as text:
            line = text.readline(1 << 20).rstrip("\r\n")
        if schema.kind == "csv":
            return split(line, schema) if schema.names is None else list(schema.names)
        try:
            return list(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            return []


def may_have_fractions(file: str) -> bool:
    """Whether a file has a sign with which a number can be written that is not plain digits."""
    if file.endswith(COMPRESSED):
        return True
    size, parts = Path(file).stat().st_size, os.cpu_count() or 1
    edges = [size * k // parts for k in range(parts + 1)]
    with readable(file), ThreadPoolExecutor(parts) as pool:  # threads, since reading takes longer than looking
        return any(pool.map(_fractions_between, repeat(file), edges[:-1], edges[1:]))


def _fractions_between(file: str, begin: int, end: int) -> bool:
    with Path(file).open("rb", buffering=0) as content:
        content.seek(begin)
        while begin < end:
            chunk = content.read(min(1 << 18, end - begin))  # small enough for the processor's cache
            if not chunk or any(sign in chunk for sign in (b".", b"e", b"E", b"x", b"_")):
                return bool(chunk)
            begin += len(chunk)
    return False


def check_whole(file: str) -> None:
    """Read a compressed file to its end, to see that it has one."""
    with readable(file), open_bytes(file) as content:
        while content.read(1 << 20):
            pass


def check_quotes(file: str, schema: Schema) -> None:
    """Next to malformed lines a record must end with its line: nobody could tell what an open quote was to hold."""
    if not schema.quote:
        return
    with readable(file), open_text(file) as text:
        for number, line in enumerate(text, 1):
            if schema.quote in line and line.count(schema.quote) % 2:
                raise BadInput(
                    f"{file}, line {number:,}: a quote is not closed on its line, and there are malformed lines; "
                    "mend it, or say --quote none if quotes mean nothing here"
                )


@contextmanager
def readable(file: str) -> Iterator[None]:
    """What goes wrong in reading a file, in one line that names it."""
    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
        raise BadInput(f"cannot read {file!r}: {_why(error)}") from None


def open_bytes(file: str) -> BinaryIO:
    """The file's content, decompressed as it is read."""
    if file.endswith(".xz"):
        return cast(BinaryIO, lzma.open(file))
    return cast(BinaryIO, pa.input_stream(file, compression="detect", buffer_size=1 << 20))


def open_text(file: str) -> io.TextIOWrapper:
    """The same as text; bytes that are not UTF-8 become U+FFFD, which no honest name holds."""
    return io.TextIOWrapper(open_bytes(file), "utf-8-sig", errors="replace", newline="\n")


def _csv_columns(file: str, schema: Schema, wanted: list[str]) -> list[str] | None:
    with open_text(file) as text:
        line = text.readline(1 << 20)
    if line == "":
        return None
    if schema.names is not None:
        return list(schema.names)
    header = split(line.rstrip("\r\n"), schema)
    for column in wanted:
        if header.count(column) != 1:
            hint = "; is the delimiter right?" if len(header) == 1 else ""
            raise BadInput(
                f"{file!r} has {'no' if column not in header else 'more than one'} column {column!r}; "
                f"its first line says {shown(header)}{hint}"
            )
    return header


def split(line: str, schema: Schema) -> list[str]:
    """One line of a csv file as its fields."""
    if not schema.quote:
        return line.split(schema.delimiter)
    return next(csv.reader([line], delimiter=schema.delimiter, quotechar=schema.quote), [])


def _ndjson_columns(file: str, schema: Schema, wanted: list[str]) -> list[str] | None:
    with open_bytes(file) as content:
        return wanted if content.read(1) else None


def _parquet_columns(file: str, schema: Schema, wanted: list[str]) -> list[str] | None:
    import pyarrow.parquet as parquet

    there = parquet.ParquetFile(file)
    for column in wanted:
        known(f"column of {file!r}", column, there.schema_arrow.names)
    return wanted if there.metadata.num_rows else None


def _why(error: Exception) -> Any:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]


def _and_others(count: int) -> str:
    return f" (so are {count:,} others)" if count else ""
