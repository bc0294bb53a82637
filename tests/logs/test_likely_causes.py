"""A fault in a large share of the lines: the message names the likely cause and the options that read the log."""

import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import slotwise as sw
from slotwise.logs.likely_causes import LARGE_SHARE
from slotwise.logs.malformed_log import MalformedLog
from slotwise.logs.position_frequencies import PositionFrequencies
from slotwise.logs.read_log import Log, read_log
from tests.logs.plain_counting import Row, cells, count, csv_text, write

ROWS: list[Row] = [("p", f"i{k % 5}", k % 3, int(k % 7 == 0)) for k in range(300)]  # positions 0, 1, 2
FROM_ONE: list[Row] = [(query, item, position + 1, clicked) for query, item, position, clicked in ROWS]


def refused(path: Path | str, format: str | None = None, **options: Any) -> MalformedLog:
    with pytest.raises(MalformedLog) as caught:
        read_log(str(path), format, **options)
    return caught.value


def read_as_advised(path: Path | str, *options: str, **schema: Any) -> Log:
    """Read the log with the schema and filters that options of the command line stand for."""
    pairs = dict(zip(options[::2], options[1::2], strict=True))
    if "--columns" in pairs:
        schema |= dict(pair.split("=") for pair in pairs["--columns"].split(","))
    if "--positions" in pairs:
        schema["positions"] = pairs["--positions"].split(",")
    if "--first-position" in pairs:
        schema["first_position"] = int(pairs["--first-position"])
    if "--delimiter" in pairs:
        schema["delimiter"] = pairs["--delimiter"].replace("tab", "\t")
    where = [pairs["--where"]] if "--where" in pairs else []
    return read_log(str(path), pairs.get("--format"), schema, where=where)


@pytest.mark.parametrize(
    ("name", "max_bad"), [("a.csv", 0), ("a.csv", 10**9), ("a.tsv.gz", 0.5), ("a.ndjson", 0.5), ("a.parquet", 100)]
)
def test_positions_from_zero_are_never_dropped(tmp_path: Path, name: str, max_bad: float) -> None:
    path = write(tmp_path / name, ROWS)
    error = refused(path, max_bad=max_bad)
    assert "--max-bad 100" not in str(error)
    assert "numbered from 0" in str(error)
    assert "0 in 100, 1 in 100, 2 in 100 lines" in str(error)
    first, other = error.remedies
    assert first.options == ("--first-position", "0")
    assert cells(read_as_advised(path, *first.options)) == count(ROWS)
    assert other.options == ("--where", "position>=1")
    assert cells(read_as_advised(path, *other.options)) == count([row for row in ROWS if row[2] > 0])
    assert all(shlex.join(remedy.options) in str(error) for remedy in error.remedies)


def test_positions_from_zero_give_the_right_kappa(tmp_path: Path) -> None:
    """The kappas of a log do not depend on whether its positions are numbered from 0 or from 1."""
    truth = np.outer([0.4, 0.3, 0.2], [1.0, 0.5, 0.25])
    rows: list[Row] = [
        ("p", f"i{i}", k, int(display < 1000 * truth[i, k]))
        for i in range(3)
        for k in range(3)
        for display in range(1000)
    ]
    shifted: list[Row] = [(query, item, position + 1, clicked) for query, item, position, clicked in rows]
    from_zero = read_log(str(write(tmp_path / "a.parquet", rows)), schema={"first_position": 0})
    from_one = read_log(str(write(tmp_path / "b.parquet", shifted)))
    fits = [sw.fit_queries(log.queries)[0] for log in (from_zero, from_one)]
    assert [fit.positions for fit in fits] == [["0", "1", "2"], ["1", "2", "3"]]
    assert fits[0].kappa.tolist() == fits[1].kappa.tolist()
    assert fits[0].kappa == pytest.approx([1.0, 0.5, 0.25], abs=1e-6)


def test_declared_numbers_from_one_of_a_log_that_starts_at_zero(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", ROWS)
    error = refused(path, schema={"positions": ["1", "2", "3"]})
    assert error.remedies[0].options == ("--positions", "0,1,2")
    assert cells(read_as_advised(path, *error.remedies[0].options)) == count(ROWS)
    with_all = [*FROM_ONE, *[("p", "i0", 0, 0)] * 100]  # 0 comes in addition to the declared 1, 2, 3
    error = refused(write(tmp_path / "b.csv", with_all), schema={"positions": ["1", "2", "3"]})
    assert [remedy.options for remedy in error.remedies] == [("--where", "position>=1")]


def test_positions_that_are_declared_from_zero_need_no_advice(tmp_path: Path) -> None:
    rows = [*ROWS, *[("p", "i0", 7, 0)] * 50]
    error = refused(write(tmp_path / "a.csv", rows), schema={"positions": ["0", "1", "2"]})
    assert "numbered from 0" not in str(error)
    error = refused(write(tmp_path / "a.csv", [*ROWS, ("p", "i0", 99, 0)]), schema={"first_position": 0})
    assert "--max-bad 1" in str(error)


def test_a_few_lines_with_position_zero_are_not_a_first_position(tmp_path: Path) -> None:
    """0 may stand for an unknown position: then it is rarer than the positions of the page."""
    rows = [*FROM_ONE, *[("p", "i0", 0, 0)] * 30]
    path = write(tmp_path / "a.csv", rows)
    error = refused(path)
    assert "numbered from 0" not in str(error)
    assert {remedy.options for remedy in error.remedies} == {("--first-position", "0"), ("--where", "position>=1")}
    log = read_log(str(path), max_bad=30)
    assert cells(log) == count(FROM_ONE)
    assert any(note.startswith("likely cause: ") for note in log.account.notes())
    rare = [*FROM_ONE * 20, *[("p", "i0", 0, 0)] * 30]
    assert "--max-bad 30)" in str(refused(write(tmp_path / "b.csv", rare)))


def test_the_first_position_of_a_log_is_zero_or_one(tmp_path: Path) -> None:
    path = str(write(tmp_path / "a.csv", ROWS))
    for schema, message in [
        ({"first_position": 2}, "first_position = 2 is not 0 or 1"),
        ({"first_position": 0, "positions": ["a", "b"]}, "first_position = 0 .*names"),
    ]:
        with pytest.raises(sw.BadInput, match=message):
            read_log(path, schema=schema)


@pytest.mark.parametrize(("bad", "advised"), [(9, True), (10, False), (500, False)])
def test_skipping_lines_is_advised_below_a_large_share_only(tmp_path: Path, bad: int, advised: bool) -> None:
    assert LARGE_SHARE == 0.01
    rows = [*[("p", "i0", 1, 0)] * (1000 - bad), *[("p", "i0", 1, "maybe")] * bad]
    (tmp_path / "a.csv").write_text(csv_text(rows))
    message = str(refused(tmp_path / "a.csv"))
    assert (f"--max-bad {bad})" in message) == advised
    assert ("likely cause" in message) != advised


HEADER = "query,item,position,clicked"
ADVERTISED = "query,item,position,shown,clicked"
MANY = [f"p,i,{k},0" for k in range(1, 31)]
ELSEWHERE = [f"p,i,/{k},0,1" for k in range(30)]


class Case(NamedTuple):
    """A log with a fault in every line or in many, a part of the likely cause, and the options that read it."""

    lines: list[str]
    cause: str
    options: str
    name: str = "a.csv"
    schema: dict[str, Any] | None = None


CASES = {
    "names": Case([HEADER, *["p,i,hero,1", "p,j,side,0"] * 9], "'side' in 9", "--positions hero,side"),
    "a new name": Case(
        [HEADER, *["p,i,hero,1", "p,j,foot,0"] * 9],
        "must be hero, side",
        "--positions hero,side,foot",
        schema={"positions": ["hero", "side"]},
    ),
    "many positions": Case([HEADER, *MANY], "up to 30", "--positions '*'"),
    "position elsewhere": Case([f"{HEADER},slot", *ELSEWHERE], "'/0'", "--columns position=slot"),
    "clicks in words": Case([f"{HEADER},click", *["p,i,1,no,0"] * 9], "'no'", "--columns clicked=click"),
    "exchanged": Case([ADVERTISED, *["p,i,1,2,9"] * 9], "'9'", "--columns shown=clicked,clicked=shown"),
    "tabs": Case(["p\ti\t1\t0"] * 9, r"delimiter '\t'", "--delimiter tab", schema={"names": HEADER.split(",")}),
    "not JSON": Case([HEADER, *["p,i,1,0"] * 9], "not JSON", "--format csv", "a.ndjson"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_remedy_reads_the_log(tmp_path: Path, case: str) -> None:
    lines, cause, options, name, schema = CASES[case]
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n")
    names = {"names": schema["names"]} if schema and "names" in schema else {}
    error = refused(path, schema=schema)
    assert cause in error.problem
    assert "(to skip" not in str(error)
    assert options in str(error)
    log = read_as_advised(path, *shlex.split(options), **names)
    assert (log.account.bad, log.account.good) == ({}, len(lines) - (not names))


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("a.csv", f"{HEADER}\n" + "p,i,x,1,0\n" * 9, ["5 columns", "4", "quoted"]),
        ("a.csv", f"{HEADER}\n" + "p,i\n" * 9, ["2 columns", "4"]),
        ("a.csv", f"{HEADER}\n" + "p,i,1,7\n" * 9, ["'7'", "--columns shown=COLUMN"]),
        ("a.csv", f"{HEADER}\n" + "p,,1,0\n" * 9, ["'item' is missing in line 2"]),
        ("a.csv", f"{HEADER},a,b\n" + "p,,1,0,x,y\n" * 9, ["--columns item=COLUMN", "'a', 'b'"]),
        ("a.csv", f"{HEADER}\n" + "p;i;1;0\n" * 9, ["','", "';'"]),
        ("a.ndjson", '{"q": "p", "ad": "i"}\n' * 9, ["--columns query=FIELD,item=ad,position=FIELD", "'q', 'ad'"]),
        ("a.csv", f"{HEADER}\n" + "caf\xe9,i,1,0\n" * 9, ["iconv -f windows-1252 -t utf-8", "a.csv"]),
    ],
)
def test_the_cause_is_named(tmp_path: Path, name: str, content: str, named: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    error = refused(path)
    assert "likely cause" in str(error)
    assert [text for text in named if text not in str(error)] == []


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("query;item;position;clicked\np;i;1;0\n", ["--delimiter ';'"]),
        ("p,i,1,0\np,j,2,1\n", ["--names query,item,position,clicked"]),
        ("p,i,1,0,7\np,j,2,1,8\n", ["--names query,item,position,clicked,other1"]),
        ("search,ad,slot,click\np,i,1,0\n", ["--columns query="]),
    ],
)
def test_a_first_line_without_the_columns(tmp_path: Path, content: str, named: list[str]) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(sw.BadInput) as caught:
        read_log(str(tmp_path / "a.csv"))
    message = str(caught.value)
    assert "\n" not in message
    assert [text for text in named if text not in message] == []


def test_names_of_columns_must_have_those_that_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("p,i,1,0\n")
    for names in (["query", "item", "position"], ["query", "item", "position", "clicked", "clicked"]):
        with pytest.raises(sw.BadInput, match="column 'clicked'"):
            read_log(str(tmp_path / "a.csv"), schema={"names": names})


def test_counts_of_positions() -> None:
    counts = PositionFrequencies.of({"1": 5, "1.0": 2, "0": 4, None: 3, "hero": 9, "inf": 1, "": 1})
    assert counts.numbers == {0: 4, 1: 7}
    assert (counts.names, counts.missing, counts.highest) == (["hero", "inf"], 4, 1)
    assert counts.start_at_zero
    assert not PositionFrequencies.of({"0": 4, "1": 10, "2": 10}).start_at_zero
    assert not PositionFrequencies.of({"1": 4}).start_at_zero
    assert PositionFrequencies.of({"0": 4}).start_at_zero
