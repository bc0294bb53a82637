"""`slotwise fit` and `slotwise logs`, as a person types them."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import slotwise as sw
from slotwise import cli

HEADER = "page,item,position,clicked\n"


def run(*arguments: str) -> int:
    """Run a command in this process; its exit code."""
    sys.argv = ["slotwise", *arguments]
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The eight queries of the paper, each item shown 150 times at each position."""
    path = tmp_path / "clicks.csv"
    assert run("logs", "synth", str(path), "--setting", "behavioral", "--lines", "26100", "--seed", "1") == 0
    return path


def test_the_loop_closes(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log is written, fitted, drawn; the fit is simulated, and a page starts from it."""
    fits, table, chart = (str(tmp_path / name) for name in ("fits.json", "fits.parquet", "fits.svg"))
    capsys.readouterr()
    assert run("fit", str(log), "--output", fits, "--output", table, "--chart", chart) == 0
    told = capsys.readouterr().out
    assert "26,100 lines, 8 queries, fitted by em" in told
    assert f"written: {fits}" in told.replace("\n", "")
    assert {fit.name for fit in sw.load_fits(fits)} == {"1", "2", "4", "7", "8", "9", "10", "19"}
    assert parquet.read_metadata(table).num_rows == 58 + 8 * 3
    assert Path(chart).read_bytes().startswith(b"<svg")
    assert run("simulate", "--model", fits, "--query", "10", "--rounds", "100", "--runs", "2", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["rounds"][-1] == 100
    page = sw.Recommender.from_fit(fits, query="10")
    assert len(page.recommend()) == 3


@pytest.mark.parametrize("method", ["em", "svd", "bayes"])
def test_every_method_for_machines(log: Path, capsys: pytest.CaptureFixture[str], method: str) -> None:
    capsys.readouterr()
    assert run("fit", str(log), "--method", method, "--top", "2", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lines"] == {"good": 26_100, "left_out": 0, "bad": 0}
    assert [row["query"] for row in told["queries"]] == ["1", "4"]
    kappa = told["queries"][0]["kappa"]
    assert list(kappa) == ["1", "2", "3"]
    assert (kappa["2"]["interval"] is None) == (method == "svd")


def test_columns_filters_and_a_schema_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(
        f"{k % 2};ad{k % 3};{'top' if k % 5 else 'foot'};{int(k % 4 == 0)};2024-0{1 + k % 3}-01\n" for k in range(600)
    )
    (tmp_path / "a.csv").write_text("q;ad;slot;click;day\n" + rows)
    options = ["--delimiter", ";", "--columns", "page=q,item=ad,position=slot,clicked=click", "--positions", "top,foot"]
    dated = ["--date", "day", "--since", "2024-02-01", "--until", "2024-03-01", "--where", "q=1"]
    assert run("fit", str(tmp_path / "a.csv"), *options, *dated, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["lines"] == {"good": 100, "left_out": 500, "bad": 0}
    schema = (
        'delimiter = ";"\npage = "q"\nitem = "ad"\nposition = "slot"\nclicked = "click"\npositions = ["top", "foot"]\n'
    )
    (tmp_path / "log.toml").write_text(schema)
    assert run("fit", str(tmp_path / "a.csv"), "--schema", str(tmp_path / "log.toml"), *dated, "--json") == 0
    assert json.loads(capsys.readouterr().out) == told


def test_counts_are_kept_for_many_fits(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cells = str(tmp_path / "cells.parquet")
    assert run("logs", "count", str(log), "--output", cells) == 0
    assert "26,100 lines make 174 counts" in capsys.readouterr().out
    answers = []
    for source in (str(log), cells):
        assert run("fit", source, "--json") == 0
        answers.append(json.loads(capsys.readouterr().out)["queries"])
    assert answers[0] == answers[1]


def test_malformed_lines_leave_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "p,a,1,0\np,a,one,0\np,a,1,1\np,b,1,0\n")
    fits, chart = tmp_path / "fits.json", tmp_path / "fits.svg"
    fits.write_text("precious")
    assert run("fit", str(tmp_path / "a.csv"), "--output", str(fits), "--chart", str(chart)) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "1 of 4 lines is malformed" in told.err
    assert "line 3: 'p,a,one,0': " in told.err
    assert "Traceback" not in told.err
    assert (fits.read_text(), chart.exists()) == ("precious", False)
    assert run("logs", "count", str(tmp_path / "a.csv"), "--output", str(tmp_path / "cells.parquet")) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "fits.json"]
    capsys.readouterr()
    assert run("fit", str(tmp_path / "a.csv"), "--max-bad", "25%", "--output", str(fits)) == 0
    told = capsys.readouterr()
    assert "3 lines, 1 query" in told.out
    assert "1 line: " in told.err
    assert sw.load_fits(fits)[0].items == ["a", "b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "guess"], "unknown method 'guess'"),
        (["--max-bad", "some"], "--max-bad 'some' is not a number of lines"),
        (["--max-bad", "-1"], "not a whole number of lines"),
        (["--max-bad", "100%"], "not a share"),
        (["--where", "segment"], "not a comparison"),
        (["--since", "2024-01-01"], "need the column of dates"),
        (["--date", "page", "--since", "january"], "not a date"),
        (["--columns", "pages=query"], "--columns 'pages=query' is not one of"),
        (["--columns", "item=product"], "no column 'product'"),
        (["--schema", "no.toml"], "cannot read 'no.toml'"),
        (["--output", "fits.txt"], "must end in one of .json, .parquet"),
        (["--output", "no/fits.json"], "does not exist"),
        (["--chart", "fits.doc"], "must end in one of"),
        (["--engine", "abacus"], "unknown engine 'abacus'"),
        (["--master", "local[2]"], "--engine spark"),
        (["--format", "xml"], "unknown format 'xml'"),
        (["--level", "2"], "level = 2.0"),
        (["--min-items", "9"], "no query is left of 1 good lines"),
    ],
)
def test_bad_options_get_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "p,a,1,0\n")
    assert run("fit", str(tmp_path / "a.csv"), *options) == 2
    told = capsys.readouterr()
    assert message in " ".join(told.err.split())
    assert told.out == ""


def test_synth_says_what_it_wrote_and_guesses_the_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("logs", "synth", str(tmp_path / "a.ndjson.gz"), "--lines", "1e3", "--pages", "5") == 0
    assert "1,000 lines" in capsys.readouterr().out
    assert run("logs", "synth", str(tmp_path / "training.txt"), "--format", "kdd2012", "--lines", "1e3") == 0
    assert (tmp_path / "training.txt").read_text().count("\n") == 1_000
    assert run("logs", "synth", str(tmp_path / "training.txt"), "--lines", "1e3") == 2
    assert "--format" in capsys.readouterr().err


def test_a_stopped_run_leaves_nothing_behind(tmp_path: Path) -> None:
    """Ctrl-C while a large log is written: exit code 130, no traceback, no file."""
    command = [sys.executable, "-m", "slotwise", "logs", "synth", str(tmp_path / "a.csv"), "--lines", "1e9"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not any(path.name.startswith(".a.csv.") and path.stat().st_size for path in tmp_path.iterdir()):
        assert process.poll() is None
    process.send_signal(2)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in told) == (130, False)
    assert list(tmp_path.iterdir()) == []


def test_what_the_page_about_logs_shows_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parent.parent.parent / "docs" / "logs.md").read_text()
    monkeypatch.chdir(tmp_path)
    commands = page.partition("```\n")[2].partition("```")[0].splitlines()
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command.replace("400000", "40000").replace("1e4", "1e2"), comments=True)
        assert words[0] == "slotwise"
        assert run(*words[1:]) == 0
    exec(page.partition("```python\n")[2].partition("```")[0], {})
    (tmp_path / "log.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    (tmp_path / "a.csv").write_text("q;'an ad';hero;0;monday\n" * 200 + "q;b;left;1;monday\n" * 200)
    assert run("fit", "a.csv", "--schema", "log.toml", "--min-shown", "0") == 0
