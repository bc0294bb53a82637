"""Spark gives the same counts as DuckDB: the same expressions, on a real Spark session with two threads."""

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.logs.engines.spark import new_session
from slotwise.logs.line_filters import between, parse
from slotwise.logs.read_log import read_log
from slotwise.logs.synthetic import synth
from slotwise.logs.synthetic_traffic import ZipfTraffic
from tests.logs.plain_counting import Row, cells, count, csv_text, write
from tests.logs.test_malformed import CASES, log
from tests.logs.test_read_sessions import random_lines
from tests.logs.test_read_sessions import write as write_sessions

# Spark's bridge to Java closes its sockets only when they are garbage-collected
UNCLOSED = "ignore::pytest.PytestUnraisableExceptionWarning"
pytestmark = pytest.mark.filterwarnings(UNCLOSED)
pytest.importorskip("pyspark", reason="no Spark here: pip install 'slotwise[spark]'")
if not shutil.which("java"):
    pytest.skip("no Java here, which Spark needs: install Java 17 or newer", allow_module_level=True)

# Java optimizes code that runs for long, which these tests do not; otherwise this takes most of their time
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
ROWS: list[Row] = [("p" if k % 3 else "é, q", f"i{k % 5}", 1 + k % 4, int(k % 7 == 0)) for k in range(300)]


@pytest.fixture(scope="module", autouse=True)
def _spark() -> Iterator[None]:
    """One session for all tests: starting it takes longer than any test. Afterwards Ctrl-C works as before."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", QUICK_START)
        with new_session("local[2]"):
            assert signal.getsignal(signal.SIGINT) is not before
            yield
    assert signal.getsignal(signal.SIGINT) is before


def same(files: str | list[str], format: str | None = None, **options: object) -> sw.BadInput | None:
    """Assert that both engines give the same queries and line account, or raise the same error."""
    outcomes = []
    for engine in ("duckdb", "spark"):
        try:
            outcomes.append(read_log(files, format, engine=engine, **options))  # type: ignore[arg-type]
        except sw.BadInput as error:
            outcomes.append(error)
    if isinstance(outcomes[0], sw.BadInput):
        assert str(outcomes[0]) == str(outcomes[1])
        return outcomes[0]
    assert cells(outcomes[0]) == cells(outcomes[1])
    assert [query[:3] for query in outcomes[0].queries] == [query[:3] for query in outcomes[1].queries]
    assert outcomes[0].account == outcomes[1].account
    return None


def test_both_engines_read_the_same_sessions(tmp_path: Path) -> None:
    path = write_sessions(tmp_path / "sessions.csv", random_lines(displays=60))
    one, other = (sw.read_sessions(path, engine=engine) for engine in ("duckdb", "spark"))
    assert one.account == other.account
    for mine, theirs in zip(one.queries, other.queries, strict=True):
        assert mine[:3] == theirs[:3]
        assert all(np.array_equal(*pair) for pair in zip(mine[3:], theirs[3:], strict=True))


@pytest.mark.parametrize("format", ["kdd2012", "parquet", "ndjson"])
def test_synthetic_logs(tmp_path: Path, format: str) -> None:
    synth(tmp_path / "log", ZipfTraffic(20_000, queries=50, items=8), format)
    schema = {"min_shown": 20, "min_items": 3, "positions": ["1", "2", "3"]}
    assert same(str(tmp_path / "log"), format, schema=schema) is None


def test_csv_with_quotes_names_and_filters(tmp_path: Path) -> None:
    header = ("query", "item", "position", "clicked", "segment", "day")
    rows = [
        (*row[:2], ("hero", "left", "right", "foot")[row[2] - 1], row[3], "ab"[k % 2], f"2024-01-{1 + k % 28:02}")
        for k, row in enumerate(ROWS)
    ]
    (tmp_path / "a [1].csv").write_text(csv_text(rows, header=header))
    schema = {"positions": ["right", "hero", "left", "foot"]}
    where = [parse("segment=a"), *between("day", "2024-01-03", "2024-01-20")]
    assert same(str(tmp_path / "a [1].csv"), schema=schema, where=where) is None


def test_many_compressed_files(tmp_path: Path) -> None:
    files = [str(write(tmp_path / f"{k}.tsv.gz", ROWS[k::3])) for k in range(3)]
    assert same(files) is None
    assert cells(read_log(files, engine="spark")) == count(ROWS)


def test_malformed_lines(tmp_path: Path) -> None:
    path = log(tmp_path / "a.txt", **{f"line_{100 * k}": line for k, (line, _) in enumerate(CASES.values(), 1)})
    schema = {"min_shown": 0, "min_items": 1}
    refused = same(path, "kdd2012", schema=schema)
    assert refused is not None
    assert f"{len(CASES)} of 2,000 lines" in str(refused)
    assert same(path, "kdd2012", schema=schema, max_bad=len(CASES)) is None


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_positions_from_zero(tmp_path: Path, name: str) -> None:
    path = str(
        write(tmp_path / name, [(query, item, position - 1, clicked) for query, item, position, clicked in ROWS])
    )
    refused = same(path, max_bad=0.5)
    assert refused is not None
    assert "--first-position 0" in str(refused)
    assert same(path, schema={"first_position": 0}) is None
    assert same(path, where=["position>=1"]) is None


def test_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(bytes(range(256)) * 10)
    assert "binary file" in str(same(str(tmp_path / "a.csv")))


def test_files_that_spark_cannot_read_are_refused(tmp_path: Path) -> None:
    whole = write(tmp_path / "a.csv.gz", ROWS).read_bytes()
    (tmp_path / "a.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(sw.BadInput, match=r"cannot read .*a\.csv\.gz"):
        read_log(str(tmp_path / "a.csv.gz"), engine="spark")
    with pytest.raises(sw.BadInput, match=r"b\.csv\.zst.*\.gz or \.bz2"):
        read_log(str(write(tmp_path / "b.csv.zst", ROWS)), engine="spark")
    with pytest.raises(sw.BadInput, match="--memory"):
        read_log(str(write(tmp_path / "c.csv", ROWS)), engine="spark", memory="1GB")
