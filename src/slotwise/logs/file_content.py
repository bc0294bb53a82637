"""Check the content of a file by its first bytes. A name can be wrong, and binary data must not be parsed as text."""

import shlex
from pathlib import Path

from slotwise.checks import BadInput
from slotwise.logs.log_files import COMPRESSED, open_bytes, readable
from slotwise.logs.schema import Schema

PARQUET = b"PAR1"
_COMPRESSIONS = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst", b"\xfd7zXZ": ".xz"} | {
    b"BZh%d1AY&SY" % level: ".bz2" for level in range(1, 10)
}
_BINARY_FORMATS = {
    b"PK\x03\x04": "a ZIP archive or an Excel workbook",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "an SQLite database",
    b"Obj\x01": "an Avro file",
}
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_INSPECTED = 1 << 16  # bytes
_MOST_CONTROL = 0.03  # the largest share of control characters in a text file; users do type some into queries
_TEXT_CONTROL = b"\t\n\v\f\r"


def is_parquet(file: str) -> bool:
    """Whether the content of a local file is Parquet, whatever its name is."""
    with readable(file), Path(file).open("rb") as content:
        return content.read(4) == PARQUET


def check_content(file: str, schema: Schema) -> None:
    """Raise BadInput if the content of a local file cannot be what the schema says. The message does not quote it."""
    with readable(file), Path(file).open("rb") as content:
        head = content.read(64)
    if schema.kind == "parquet":
        if head and not head.startswith(PARQUET):
            raise BadInput(f"{file!r} is not a Parquet file; for a text file use --format csv, tsv or ndjson")
        return
    if head.startswith(PARQUET):
        raise BadInput(
            f"{file!r} is a Parquet file; use --format parquet, or --format slotwise for a log of the service"
        )
    compression = _named(head, _COMPRESSIONS)
    if compression and not file.endswith(COMPRESSED):
        raise BadInput(f"{file!r} is compressed, and its name does not say so; rename it to {file + compression!r}")
    with readable(file), open_bytes(file) as text:
        _check_text(file, text.read(_INSPECTED), schema)


def convert_command(file: str, encoding: str) -> str:
    """A command that converts a text file to UTF-8."""
    path = Path(file)
    return f"iconv -f {encoding} -t utf-8 {shlex.quote(file)} > {shlex.quote(f'{path.stem}-utf8{path.suffix}')}"


def _check_text(file: str, start: bytes, schema: Schema) -> None:
    kind = "JSON" if schema.kind == "ndjson" else "CSV"
    binary_format = _named(start, _BINARY_FORMATS)
    if binary_format:
        raise BadInput(f"{file!r} is {binary_format}; a {kind} file is needed")
    if start.startswith(_UTF16_MARKS) or _is_unmarked_utf16(start):
        raise BadInput(f"{file!r} is UTF-16 text, and UTF-8 is needed; convert it: {convert_command(file, 'utf-16')}")
    separators = (schema.delimiter + schema.quote).encode() if schema.kind == "csv" else b""
    control = bytes(code for code in (*range(32), 127) if code not in _TEXT_CONTROL + separators)
    if len(start) - len(start.translate(None, control)) > _MOST_CONTROL * len(start):
        raise BadInput(f"{file!r} is a binary file; a {kind} file is needed")
    if schema.kind == "ndjson":
        _check_one_object_per_line(file, start)


def _check_one_object_per_line(file: str, start: bytes) -> None:
    """Raise BadInput if the JSON is one array, or if its first object has several lines."""
    first_line = start.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].rstrip()
    if first_line.startswith(b"[") or first_line == b"{":
        shape, selected = ("a JSON array", "'.[]'") if first_line.startswith(b"[") else ("JSON over many lines", ".")
        raise BadInput(
            f"{file!r} is {shape}, and one object on each line is needed; convert it: "
            f"jq -c {selected} {shlex.quote(file)} > {shlex.quote(Path(file).stem + '.ndjson')}"
        )


def _is_unmarked_utf16(start: bytes) -> bool:
    """Whether every second byte is mostly zero, as in UTF-16 text of Latin letters."""
    half = max(len(start) // 2, 1)
    zeros = [start[first::2].count(0) / half for first in (0, 1)]
    return max(zeros) > 0.8 and min(zeros) < 0.2


def _named(start: bytes, signatures: dict[bytes, str]) -> str | None:
    return next((name for signature, name in signatures.items() if start.startswith(signature)), None)
