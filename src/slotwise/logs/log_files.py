"""LogFiles: the files of a log. They are found and inspected before anything is counted."""

import csv
import glob
import io
import lzma
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import msgspec

from slotwise.checks import BadInput, format_value
from slotwise.logs.formats import SUFFIXES
from slotwise.logs.missing_columns import columns_advice, describe_missing, list_columns
from slotwise.logs.schema import Schema

COMPRESSED = (".gz", ".zst", ".bz2", ".xz")
_MAX_QUOTED = 100  # characters
DELIMITERS = (",", "\t", ";", "|")  # an error message may suggest one of these


class LogFiles(NamedTuple):
    """Files with the same schema. The columns that are read get internal names, so that log columns cannot clash."""

    files: list[str]
    schema: Schema
    columns: list[str]  # csv: all columns of the log, in order; other kinds: the columns that are read
    read: dict[str, str]  # column of the log -> internal name: the schema field, or filter0, filter1, ...
    empty: list[str]  # files without a line

    @property
    def remote(self) -> bool:
        """Whether the files are not on this machine, so that only a cluster can read them."""
        return any("://" in file for file in self.files)


def find_files(paths: Iterable[str], format: str | None = None) -> tuple[list[str], str]:
    """The files that match paths and globs, and the name of their format.

    Without `format`, the suffix of the first file decides.
    """
    files: list[str] = []
    for path in paths:
        files += [path] if "://" in path else _expand_glob(path)
    if not files:
        raise BadInput("no files given; name the log files, or a glob such as 'logs/*.csv.gz'")
    repeated = [file for file in files if files.count(file) > 1]
    if repeated:
        raise BadInput(f"{format_value(repeated[0])} is named twice: its lines would be counted twice")
    return files, format or find_format(files[0])


def _expand_glob(path: str) -> list[str]:
    if Path(path).is_dir():
        raise BadInput(f"{path!r} is a folder; name its files, such as {path.rstrip('/') + '/*'!r}")
    matches = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - str, not Path
    files = [file for file in matches if not Path(file).is_dir()]
    if not files:
        raise BadInput(f"no file matches {path!r}")
    return files


def find_format(file: str) -> str:
    """The format that a file's suffix stands for."""
    suffix = _suffix(file)
    if suffix not in SUFFIXES:
        raise BadInput(
            f"the suffix of {file!r} is not one of a known format; use --format csv, tsv, ndjson, parquet or kdd2012"
        )
    return SUFFIXES[suffix]


def has_parquet_suffix(file: str) -> bool:
    """Whether a file's suffix says that it is Parquet."""
    return SUFFIXES.get(_suffix(file)) == "parquet"


def _suffix(file: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(file).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def open_log_files(files: list[str], schema: Schema, filtered: Iterable[str] = ()) -> LogFiles:
    """Check that every file exists, can be read, and has the columns of the schema and of the filters."""
    read = {column: field for field, column in schema.used.items()}
    for number, column in enumerate(dict.fromkeys(filtered)):
        read.setdefault(column, f"filter{number}")
    inspect = {"csv": _csv_columns, "ndjson": _ndjson_columns, "parquet": _parquet_columns}[schema.kind]
    columns: list[str] | None = None
    empty = []
    for file in files:
        if "://" in file:
            continue
        with readable(file):
            own_columns = inspect(file, schema, list(read))
        if own_columns is None:
            empty.append(file)
        elif columns is None:
            columns = own_columns
        elif own_columns != columns:
            raise BadInput(
                f"{file!r} has the columns {format_value(own_columns)}, other files have {format_value(columns)}"
            )
    if len(empty) == len(files):
        raise BadInput(f"{files[0]!r} is empty: a log needs at least one line" + _and_others(len(files) - 1))
    if columns is None:
        columns = list(schema.names or read)
    return LogFiles([file for file in files if file not in empty], schema, columns, read, empty)


def columns_of(file: str, schema: Schema) -> list[str]:
    """All columns of a file: from its header, its first JSON object, or its Parquet schema."""
    with readable(file):
        if schema.kind == "parquet":
            import pyarrow.parquet as parquet

            return list(parquet.ParquetFile(file).schema_arrow.names)
        with open_text(file) as text:
            line = text.readline(1 << 20).rstrip("\r\n")
        if schema.kind == "csv":
            return split_csv_line(line, schema) if schema.names is None else list(schema.names)
        try:
            return list(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            return []


def may_have_fractions(file: str) -> bool:
    """Whether a file contains a character such as '.' or 'e', which numbers may have but whole numbers do not."""
    if file.endswith(COMPRESSED):
        return True
    size, threads = Path(file).stat().st_size, os.cpu_count() or 1
    edges = [size * k // threads for k in range(threads + 1)]
    with readable(file), ThreadPoolExecutor(threads) as pool:  # threads suffice: most of the time is reading
        return any(pool.map(_fractions_between, repeat(file), edges[:-1], edges[1:]))


def _fractions_between(file: str, begin: int, end: int) -> bool:
    with Path(file).open("rb", buffering=0) as content:
        content.seek(begin)
        while begin < end:
            chunk = content.read(min(1 << 18, end - begin))  # fits into the CPU cache
            if not chunk or any(character in chunk for character in (b".", b"e", b"E", b"x", b"_")):
                return bool(chunk)
            begin += len(chunk)
    return False


def check_complete(file: str) -> None:
    """Read a compressed file to its end, to find out whether it is truncated."""
    with readable(file), open_bytes(file) as content:
        while content.read(1 << 20):
            pass


def check_quotes(file: str, schema: Schema) -> None:
    """Raise BadInput if a quoted field spans several lines.

    In a log with malformed lines, it is not clear where such a field ends.
    """
    if not schema.quote:
        return
    with readable(file), open_text(file) as text:
        for number, line in enumerate(text, 1):
            if schema.quote in line and line.count(schema.quote) % 2:
                raise BadInput(
                    f"{file}, line {number:,}: a quote is not closed on its line, and there are malformed lines; "
                    "close it, or use --quote none if quotes have no meaning in this log"
                )


@contextmanager
def readable(file: str) -> Iterator[None]:
    """Turn an error that occurs while a file is read into a BadInput that names the file."""
    import pyarrow as pa

    try:
        yield
    except (OSError, EOFError, lzma.LZMAError, pa.ArrowException) as error:
        raise BadInput(f"cannot read {file!r}: {_error_text(error)}") from None


def open_bytes(file: str) -> BinaryIO:
    """Open a file for reading, and decompress it."""
    import pyarrow as pa

    if file.endswith(".xz"):
        return cast(BinaryIO, lzma.open(file))
    return cast(BinaryIO, pa.input_stream(file, compression="detect", buffer_size=1 << 20))


def open_text(file: str) -> io.TextIOWrapper:
    """Open a file as text, and decompress it. Invalid UTF-8 becomes U+FFFD, which later marks the line as malformed."""
    return io.TextIOWrapper(open_bytes(file), "utf-8-sig", errors="replace", newline="\n")


def _csv_columns(file: str, schema: Schema, required: list[str]) -> list[str] | None:
    with open_text(file) as text:
        line = text.readline(1 << 20)
    if line == "":
        return None
    if schema.names is not None:
        return list(schema.names)
    first_line = line.rstrip("\r\n")
    header = split_csv_line(first_line, schema)
    missing = [column for column in required if column not in header]
    if missing:
        hint = _header_hint(first_line, header, schema, required)
        raise BadInput(f"{describe_missing(file, missing)}; its first line is {hint}")
    for column in required:
        if header.count(column) > 1:
            raise BadInput(f"{file!r} has more than one column {column!r}; its first line is {quote_text(first_line)}")
    return header


def _header_hint(line: str, header: list[str], schema: Schema, required: list[str]) -> str:
    """The first line of a csv file that lacks a column, and what is probably wrong with the line."""
    delimiter = find_delimiter(line, schema, lambda fields: set(required) <= set(fields))
    if delimiter is not None:
        return f"{quote_text(line)}; use --delimiter {'tab' if delimiter == chr(9) else repr(delimiter)}"
    if len(header) == 1:
        return f"{quote_text(line)}; is the delimiter right? --delimiter sets it"
    if any(field.isdecimal() for field in header):
        names = ",".join([*required, *(f"other{k}" for k in range(1, len(header) - len(required) + 1))])
        return f"{quote_text(line)}; if that is no header, name the columns in their order: --names {names}"
    return f"{quote_text(line)}{columns_advice(header, schema)}"


def split_csv_line(line: str, schema: Schema) -> list[str]:
    """The fields of one line of a csv file."""
    if schema.quote:
        with suppress(csv.Error):  # such as a carriage return in the line, or a field of more than 131,072 characters
            return next(csv.reader([line], delimiter=schema.delimiter, quotechar=schema.quote), [])
    return line.split(schema.delimiter)


def quote_text(text: str) -> str:
    """The start of a text with control characters escaped. Binary data is not quoted."""
    start = text[:_MAX_QUOTED]
    unreadable = sum(character == "\ufffd" or not character.isprintable() for character in start.replace("\t", ""))
    return "binary data" if unreadable > len(start) / 4 else repr(start)


def find_delimiter(line: str, schema: Schema, fits: Callable[[list[str]], bool]) -> str | None:
    """Another common delimiter with which the fields of the line satisfy `fits`, or None."""
    for delimiter in DELIMITERS:
        if delimiter not in (schema.delimiter, schema.quote):
            fields = split_csv_line(line, msgspec.structs.replace(schema, delimiter=delimiter))
            if fits(fields):
                return delimiter
    return None


def _ndjson_columns(file: str, schema: Schema, required: list[str]) -> list[str] | None:
    with open_bytes(file) as content:
        return required if content.read(1) else None


def _parquet_columns(file: str, schema: Schema, required: list[str]) -> list[str] | None:
    import pyarrow.parquet as parquet

    table = parquet.ParquetFile(file)
    columns = table.schema_arrow.names
    missing = [column for column in required if column not in columns]
    if missing:
        raise BadInput(
            f"{describe_missing(file, missing)}; its columns are {list_columns(columns)}"
            f"{columns_advice(columns, schema)}"
        )
    return required if table.metadata.num_rows else None


def _error_text(error: Exception) -> Any:
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error).splitlines()[0]


def _and_others(count: int) -> str:
    return f" ({count:,} other files are empty too)" if count else ""
