"""Malformed lines: each is counted and reported with its line number; none is dropped silently."""

import gzip
import lzma
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import slotwise as sw
from slotwise.logs import kdd2012
from slotwise.logs.engines.duckdb import DuckDBEngine
from slotwise.logs.line_status import LineStatus, describe_status
from slotwise.logs.read_log import read_log
from tests.logs.plain_counting import NAMES, cells, csv_text

GOOD = ["0", "1", "143", "7", "8", "2", "1", "99", "1", "1", "1", "1"]
SIZE = 2_000
EVERYTHING = {"min_shown": 0, "min_items": 1}


def session(**fields: str) -> bytes:
    """A line of the competition's file, with some fields changed."""
    return "\t".join(fields.get(name, value) for name, value in zip(kdd2012.NAMES, GOOD, strict=True)).encode()


def log(path: Path, **lines: bytes) -> str:
    """A log of good lines, except those given by number: line_7=..."""
    content = [session()] * SIZE
    for name, line in lines.items():
        content[int(name.removeprefix("line_")) - 1] = line
    path.write_bytes(b"\n".join(content) + b"\n")
    return str(path)


CASES = {
    "too few columns": (b"\t".join(session().split(b"\t")[:11]), LineStatus.BAD_COLUMNS),
    "too many columns": (session() + b"\t5", LineStatus.BAD_COLUMNS),
    "far too many columns": (session() + b"\t" + session(), LineStatus.BAD_COLUMNS),
    "one word": (b"oops", LineStatus.BAD_COLUMNS),
    "text for a query": (session(QueryID="abc"), LineStatus.BAD_NUMBER),
    "text for an ad": (session(AdID="7a"), LineStatus.BAD_NUMBER),
    "half a query": (session(QueryID="98.5"), LineStatus.BAD_NUMBER),  # which DuckDB would round
    "half a click": (session(Click="0.5"), LineStatus.BAD_NUMBER),
    "no clicks": (session(Click=""), LineStatus.BAD_NUMBER),
    "infinitely many": (session(Impression="inf"), LineStatus.BAD_NUMBER),
    "not a number": (session(Impression="nan"), LineStatus.BAD_NUMBER),
    "clicks below zero": (session(Click="-1"), LineStatus.BAD_CLICKS),
    "clicks above impressions": (session(Click="3", Impression="2"), LineStatus.BAD_CLICKS),
    "position 0": (session(Position="0"), LineStatus.BAD_POSITION),
    "position 99": (session(Position="99"), LineStatus.BAD_POSITION),
    "position 1.5": (session(Position="1.5"), LineStatus.BAD_POSITION),
    "no position": (session(Position=""), LineStatus.BAD_POSITION),
    "not UTF-8": (session(QueryID="9").replace(b"\t9\t", b"\t\xff\xfe\t"), LineStatus.BAD_NUMBER),
}


@pytest.mark.parametrize("case", CASES)
def test_a_malformed_line_is_counted_and_reported(tmp_path: Path, case: str) -> None:
    line, status = CASES[case]
    path = log(tmp_path / "a.txt", line_1234=line)
    with pytest.raises(sw.BadInput, match=r"1 of 2,000 lines.*--max-bad 1\)") as refused:
        read_log(path, "kdd2012", EVERYTHING)
    assert f"{path}, line 1,234: " in str(refused.value)
    result = read_log(path, "kdd2012", EVERYTHING, max_bad=1)
    assert result.account.bad == {status: 1}
    assert [(each.line, each.status) for each in result.account.first] == [(1234, status)]
    assert cells(result) == {("99", "7", "1"): (SIZE - 1, 0)}


def test_a_column_that_is_not_read_may_hold_anything(tmp_path: Path) -> None:
    path = log(tmp_path / "a.txt", line_3=session(KeywordID="?").replace(b"?", b"\xff"), line_5=session(UserID=""))
    assert cells(read_log(path, "kdd2012", EVERYTHING)) == {("99", "7", "1"): (SIZE, 0)}


def test_problems_are_counted_separately_and_the_first_lines_quoted(tmp_path: Path) -> None:
    lines = {f"line_{10 * k}": CASES["position 99"][0] for k in range(1, 8)} | {
        "line_15": b"oops",
        "line_2000": b"oops",
    }
    path = log(tmp_path / "a.txt", **lines)
    with pytest.raises(sw.BadInput, match=r"9 of 2,000 lines.*--max-bad allows 8\b") as refused:
        read_log(path, "kdd2012", EVERYTHING, max_bad=8)
    for status, count in ((LineStatus.BAD_COLUMNS, 2), (LineStatus.BAD_POSITION, 7)):
        assert f"{count} lines: {describe_status(status, 'csv')}\n" in str(refused.value)
    account = read_log(path, "kdd2012", EVERYTHING, max_bad=9).account
    assert account.bad == {LineStatus.BAD_COLUMNS: 2, LineStatus.BAD_POSITION: 7}
    assert [each.line for each in account.first] == [10, 15, 20, 30, 40]
    assert account.good + 9 == SIZE
    assert read_log(path, "kdd2012", EVERYTHING, max_bad=0.0045).account.bad == account.bad  # a share of the lines
    with pytest.raises(sw.BadInput, match=r"0\.44%"):
        read_log(path, "kdd2012", EVERYTHING, max_bad=0.0044)


def test_blank_lines_are_not_counted(tmp_path: Path) -> None:
    assert read_log(log(tmp_path / "a.txt", line_7=b""), "kdd2012", EVERYTHING).account.lines == SIZE - 1


def test_wrong_delimiter(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\n".join([session().replace(b"\t", b",")] * 50))
    with pytest.raises(sw.BadInput, match=r"12 columns .*'\\t'.*delimiter"):
        read_log(str(tmp_path / "a.txt"), "kdd2012")
    (tmp_path / "a.csv").write_text(csv_text([("p", "a", 1, 0)], ";"))
    with pytest.raises(sw.BadInput, match=r"no columns 'query', .*'clicked'; .*query;item.*delimiter"):
        read_log(str(tmp_path / "a.csv"))


def test_a_file_that_is_empty_or_has_a_header_only(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(sw.BadInput, match=r"a\.csv' is empty"):
        read_log(str(tmp_path / "a.csv"))
    with gzip.open(tmp_path / "a.csv.gz", "w"):
        pass
    with pytest.raises(sw.BadInput, match="is empty"):
        read_log(str(tmp_path / "a.csv.gz"))
    (tmp_path / "b.csv").write_text("query,item,position,clicked\n")
    with pytest.raises(sw.BadInput, match=r"b\.csv' has only a header"):
        read_log(str(tmp_path / "b.csv"))
    (tmp_path / "c.csv").write_text(csv_text([("p", "a", 1, 0)]))
    result = read_log([str(tmp_path / "a.csv"), str(tmp_path / "c.csv")])  # an empty file among others is only noted
    assert result.account.notes() == [f"{str(tmp_path / 'a.csv')!r} is empty"]
    assert cells(result) == {("p", "a", "1"): (1, 0)}


@pytest.mark.parametrize("suffix", [".gz", ".zst", ".bz2", ".xz"])
def test_truncated_and_damaged_files_stop_the_run(tmp_path: Path, suffix: str) -> None:
    content = b"".join(session(UserID=str(k * k * 7919)) + b"\n" for k in range(20_000))
    if suffix in (".gz", ".xz"):
        packed = gzip.compress(content) if suffix == ".gz" else lzma.compress(content)
    else:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, {".zst": "zstd", ".bz2": "bz2"}[suffix]) as out:
            out.write(content)
        packed = sink.getvalue().to_pybytes()
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(packed)
    assert read_log(str(path), "kdd2012", EVERYTHING).account.good == 20_000
    for damaged in (packed[: len(packed) // 2], packed[:-9], b"this is not compressed"):
        path.write_bytes(damaged)
        with pytest.raises(sw.BadInput, match=rf"cannot read '.*a\.txt\{suffix}'"):
            read_log(str(path), "kdd2012", EVERYTHING, max_bad=10**9)  # it is unknown how many lines are missing


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    rows = [("café", "a", 1, 0), ("thé", "a", 1, 1), ("tea", "a", 1, 1)]
    (tmp_path / "a.csv").write_bytes(csv_text(rows).encode("latin-1"))
    with pytest.raises(sw.BadInput, match=r"2 of 3 lines.*\n.*2 lines: .*UTF-8\n.*line 2: "):
        read_log(str(tmp_path / "a.csv"))
    result = read_log(str(tmp_path / "a.csv"), max_bad=2)
    assert (result.account.bad, cells(result)) == ({LineStatus.BAD_ENCODING: 2}, {("tea", "a", "1"): (1, 1)})
    (tmp_path / "b.csv").write_bytes(csv_text(rows).encode("utf-16"))
    with pytest.raises(sw.BadInput, match=r"b\.csv' is UTF-16 text.*iconv -f utf-16"):
        read_log(str(tmp_path / "b.csv"))


def test_an_unclosed_quote_hides_no_lines(tmp_path: Path) -> None:
    text = csv_text([("p", "a", 1, 0)] * 100).splitlines()
    text[50] = 'p,"a,1,0'
    (tmp_path / "a.csv").write_text("\n".join(text) + "\n")
    with pytest.raises(sw.BadInput, match=r"line 51: a quote is not closed.*--quote"):
        read_log(str(tmp_path / "a.csv"), max_bad=10**9)
    result = read_log(str(tmp_path / "a.csv"), schema={"quote": ""}, max_bad=0)
    assert cells(result) == {("p", "a", "1"): (99, 0), ("p", '"a', "1"): (1, 0)}


def test_missing_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(csv_text([("", "a", 1, 0), ("p", "", 1, 0), ("p", "a", 1, 0)]))
    result = read_log(str(tmp_path / "a.csv"), max_bad=2)
    assert (result.account.bad, [each.line for each in result.account.first]) == ({LineStatus.MISSING_NAME: 2}, [2, 3])


def test_invalid_json(tmp_path: Path) -> None:
    good = b'{"query": "p", "item": "a", "position": 1, "clicked": 0}'
    bad = [
        b"not json",
        b"[1, 2]",
        b'{"query": "p"}',
        good[:-1],
        good.replace(b"1", b'"one"'),
        good.replace(b"0", b"null"),
    ]
    (tmp_path / "a.ndjson").write_bytes(b"\n".join([good, *bad, good]) + b"\n")
    result = read_log(str(tmp_path / "a.ndjson"), max_bad=6)
    assert result.account.bad == {LineStatus.BAD_COLUMNS: 3, LineStatus.BAD_NUMBER: 2, LineStatus.BAD_POSITION: 1}
    assert [each.line for each in result.account.first] == [2, 3, 4, 5, 6]
    assert any(note.startswith("3 lines: ") and "JSON" in note for note in result.account.notes())
    assert cells(result) == {("p", "a", "1"): (2, 0)}


def test_rows_of_parquet(tmp_path: Path) -> None:
    table = {"query": ["p"] * 4, "item": ["a", None, "a", "a"], "position": [1, 1, 0, 1], "clicked": [0, 0, 0, 7]}
    parquet.write_table(pa.table(table), tmp_path / "a.parquet")
    result = read_log(str(tmp_path / "a.parquet"), max_bad=3)
    assert result.account.bad == {LineStatus.BAD_CLICKS: 1, LineStatus.BAD_POSITION: 1, LineStatus.MISSING_NAME: 1}
    assert [(each.line, each.status) for each in result.account.first] == [
        (2, LineStatus.MISSING_NAME),
        (3, LineStatus.BAD_POSITION),
        (4, LineStatus.BAD_CLICKS),
    ]
    (tmp_path / "b.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(sw.BadInput, match=r"cannot read '.*b\.parquet'"):
        read_log(str(tmp_path / "b.parquet"))
    parquet.write_table(pa.table({"query": ["p"]}), tmp_path / "c.parquet")
    with pytest.raises(sw.BadInput, match=r"has no columns 'item', 'position', 'clicked'; .* item=COLUMN"):
        read_log(str(tmp_path / "c.parquet"))


def test_invalid_dates(tmp_path: Path) -> None:
    from slotwise.logs.line_filters import between

    rows = [("p", "a", 1, 0, day) for day in ("2024-01-01", "yesterday", "", "2024-01-02T10:00:00")]
    (tmp_path / "a.csv").write_text(csv_text(rows, header=(*NAMES, "day")))
    result = read_log(str(tmp_path / "a.csv"), where=between("day", "2024-01-02", None), max_bad=2)
    assert (result.account.bad, result.account.left_out, result.account.good) == ({LineStatus.BAD_DATE: 2}, 1, 1)


def test_a_clean_file_is_read_once_and_fast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a malformed log is read a second time, by the tolerant reader: a spy on the engine counts the reads."""
    used: list[str] = []
    original = DuckDBEngine._view
    monkeypatch.setattr(DuckDBEngine, "_view", lambda self, select: used.append(select) or original(self, select))
    read_log(log(tmp_path / "a.txt"), "kdd2012", EVERYTHING)
    assert ["null_padding" in select for select in used] == [False]
    used.clear()
    read_log(log(tmp_path / "a.txt", line_9=b"oops"), "kdd2012", EVERYTHING, max_bad=1)
    assert ["null_padding" in select for select in used] == [False, True]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from Linux's /proc")
def test_half_of_the_lines_bad_takes_no_more_memory(tmp_path: Path) -> None:
    """DuckDB's own table of rejected lines would need gigabytes. A separate process measures the peak."""
    path = tmp_path / "a.txt"
    path.write_bytes((session() + b"\n" + session() + b"\t1\n") * 500_000)
    script = (
        "import re\n"
        "from slotwise.logs.read_log import read_log\n"
        f"found = read_log({str(path)!r}, 'kdd2012', {EVERYTHING}, max_bad=500_000)\n"
        "peak = re.search(r'VmHWM: *\\s*(\\d+) kB', open('/proc/self/status').read())\n"
        "print(sum(found.account.bad.values()), int(peak[1]) // 1024)\n"
    )
    output = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert int(output[0]) == 500_000
    assert int(output[1]) < 600  # megabytes; with the rejects table 2,000
