"""Files that are not what their names say, and binary data: the error is one clear line and quotes no content."""

import gzip
import random
import struct
import zlib
from pathlib import Path

import pytest

import slotwise as sw
from slotwise.logs.read_log import read_log
from tests.logs.plain_counting import Row, cells, count, csv_text, write

ROWS: list[Row] = [("p", f"i{k % 5}", 1 + k % 3, int(k % 7 == 0)) for k in range(300)]
RANDOM = random.Random(1)


def png() -> bytes:
    """A picture of one pixel."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header, pixel = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0), zlib.compress(b"\0\xff\0\0")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixel) + chunk(b"IEND", b"")


TEXT = csv_text(ROWS).encode()
CONTENTS: dict[str, tuple[bytes, str]] = {
    "picture": (png(), "PNG image"),
    "compressed": (gzip.compress(TEXT), "compressed.*rename it to .*gz'"),
    "random": (RANDOM.randbytes(4_000), "binary file"),
    "a few random bytes": (RANDOM.randbytes(40), "binary file"),
    "zeros": (bytes(1_000), "binary file"),
    "UTF-16": (TEXT.decode().encode("utf-16"), "UTF-16 text.*iconv -f utf-16 -t utf-8"),
    "UTF-16 without a mark": (TEXT.decode().encode("utf-16-be"), "UTF-16 text"),
    "workbook": (b"PK\x03\x04\x14\0\x06\0" + RANDOM.randbytes(500), "ZIP archive or an Excel workbook"),
    "terminal codes": (b"\x1b[2J\x1b[31m" * 100, "binary file"),
}


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
@pytest.mark.parametrize("content", CONTENTS)
def test_content_that_is_not_a_log_is_refused(tmp_path: Path, name: str, content: str, slotwise) -> None:
    (tmp_path / name).write_bytes(CONTENTS[content][0])
    result = slotwise("fit", str(tmp_path / name))
    result.assert_refused(str(tmp_path / name))
    assert result.stderr.rstrip("\n").isprintable()
    assert "\ufffd" not in result.stderr
    if name != "a.parquet":
        with pytest.raises(sw.BadInput, match=CONTENTS[content][1]):
            read_log(str(tmp_path / name))


def test_compressed_binary_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(png()))
    with pytest.raises(sw.BadInput, match="PNG image"):
        read_log(str(tmp_path / "a.csv.gz"))


def test_parquet_and_text_with_each_other_s_names(tmp_path: Path) -> None:
    content = write(tmp_path / "a.parquet", ROWS).read_bytes()
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(sw.BadInput, match=r"a\.csv' is a Parquet file; use --format parquet"):
        read_log(str(tmp_path / "a.csv"))
    assert cells(read_log(str(tmp_path / "a.csv"), "parquet")) == count(ROWS)
    (tmp_path / "b.parquet").write_bytes(TEXT)
    with pytest.raises(sw.BadInput, match=r"b\.parquet' is not a Parquet file; .*--format csv"):
        read_log(str(tmp_path / "b.parquet"))
    assert cells(read_log(str(tmp_path / "b.parquet"), "csv")) == count(ROWS)


OBJECT = '{"query": "p", "item": "i", "position": 1, "clicked": 0}'


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (f"[{OBJECT}, {OBJECT}]", "a JSON array"),
        (f"[\n  {OBJECT},\n  {OBJECT}\n]\n", "a JSON array"),
        (OBJECT.replace("{", "{\n").replace(",", ",\n"), "JSON over many lines"),
    ],
)
def test_json_without_an_object_on_each_line_is_refused(tmp_path: Path, content: str, named: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(sw.BadInput, match=rf"a\.json' is {named}.*jq -c"):
        read_log(str(tmp_path / "a.json"))


def test_binary_data_after_good_lines_is_not_quoted(tmp_path: Path, slotwise) -> None:
    path = tmp_path / "a.csv"
    rubbish = RANDOM.randbytes(300).translate(None, b'\n\r"')
    path.write_bytes(csv_text(ROWS * 30).encode() + rubbish + b"\n")
    result = slotwise("fit", str(path))
    result.assert_refused("line 9,002: binary data: ", details=True)
    assert all(line.isprintable() for line in result.stderr.splitlines())


def test_control_characters_of_names_are_not_printed(tmp_path: Path, slotwise) -> None:
    """Some in a large file do not make it binary; the terminal does not get them."""
    path = tmp_path / "a.csv"
    rows = [("p\x1b[31m", item, position, clicked) for _, item, position, clicked in ROWS]
    path.write_text(csv_text([*ROWS * 5, *rows]))
    result = slotwise("fit", str(path))
    assert result.exit_code == 0
    assert all(line.isprintable() for line in (result.stdout + result.stderr).splitlines())
    path.write_text(csv_text([*ROWS * 5, *rows, ("p\x1b[31m", "i", 99, 0)]))
    result = slotwise("fit", str(path))
    result.assert_refused(r"p\x1b[31m,i,99,0", details=True)
    assert all(line.isprintable() for line in result.stderr.splitlines())


def test_a_control_character_may_be_the_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text(ROWS, "\x02"))
    assert cells(read_log(str(tmp_path / "a.csv"), schema={"delimiter": "\x02"})) == count(ROWS)
