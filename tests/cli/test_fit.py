"""`slotwise fit`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as parquet
import pytest

import slotwise as sw

if TYPE_CHECKING:
    from tests.service.running_service import Process

HEADER = "query,item,position,clicked\n"


def test_a_fit_can_be_saved_drawn_simulated_and_served(log: Path, tmp_path: Path, slotwise) -> None:
    fits, table, chart = (str(tmp_path / name) for name in ("fits.json", "fits.parquet", "fits.svg"))
    result = slotwise("fit", str(log), "--output", fits, "--output", table, "--chart", chart)
    assert result.exit_code == 0
    assert all(text in result.stdout for text in ("26,100 lines", "8 queries", "em", fits, table, chart))
    assert {fit.name for fit in sw.load_fits(fits)} == {"1", "2", "4", "7", "8", "9", "10", "19"}
    assert parquet.read_metadata(table).num_rows == 58 + 8 * 3
    assert Path(chart).read_bytes().startswith(b"<svg")
    results = slotwise("simulate", "--model", fits, "--query", "10", "--rounds", "100", "--runs", "2", "--json").json()
    assert results[0]["rounds"][-1] == 100
    page = sw.Recommender.from_fit(fits, query="10")
    assert len(page.recommend()) == 3


@pytest.mark.parametrize("method", ["em", "svd", "bayes"])
def test_json_of_every_method(log: Path, slotwise, method: str) -> None:
    printed = slotwise("fit", str(log), "--method", method, "--top", "2", "--json").json()
    assert printed["lines"] == {"good": 26_100, "left_out": 0, "bad": 0}
    assert [row["query"] for row in printed["queries"]] == ["1", "4"]
    kappa = printed["queries"][0]["kappa"]
    assert list(kappa) == ["1", "2", "3"]
    assert (kappa["2"]["interval"] is None) == (method == "svd")


def test_a_template_in_the_table_in_json_and_in_the_file(log: Path, tmp_path: Path, slotwise) -> None:
    """Of the paper's eight queries, the kappas of 8 are much smaller than those of the others."""
    path = tmp_path / "fits.json"
    result = slotwise("fit", str(log), "--template", "--output", str(path))
    assert result.exit_code == 0
    lines = " ".join(result.stdout.split())
    assert "positions 1, 2, 3: 8 queries share their kappas" in lines
    assert "positions 1, 2, 3: the kappas differ between the queries" in lines
    assert "stands out: query 8" in lines
    assert "query 8: the kappas of this query differ from those of the template" in lines
    fits = {fit.name: fit for fit in sw.load_fits(path)}
    assert fits["8"].other_kappas
    printed = slotwise("fit", str(log), "--template", "--json").json()
    (template,) = printed["templates"]
    assert (template["queries"], template["differing"]) == (8, ["8"])
    assert template["test"]["p_value"] < 0.001
    assert all(row["template"] == 0 and row["kappa"] == printed["queries"][0]["kappa"] for row in printed["queries"])
    assert [row["query"] for row in printed["queries"] if row["kappa_test"]["p_value"] < 0.001] == ["8"]


def test_without_a_template_there_is_none(log: Path, slotwise) -> None:
    printed = slotwise("fit", str(log), "--json").json()
    assert printed["templates"] == []
    assert {row["template"] for row in printed["queries"]} == {None}
    assert "share their kappas" not in slotwise("fit", str(log)).stdout


def test_a_template_cannot_be_fitted_by_bayes(log: Path, slotwise) -> None:
    result = slotwise("fit", str(log), "--template", "--method", "bayes")
    assert result.exit_code == 2
    assert "--template" in result.stderr


def test_columns_filters_and_a_schema_file(tmp_path: Path, slotwise) -> None:
    rows = "".join(
        f"{k % 2};ad{k % 3};{'top' if k % 5 else 'foot'};{int(k % 4 == 0)};2024-0{1 + k % 3}-01\n" for k in range(600)
    )
    (tmp_path / "a.csv").write_text("q;ad;slot;click;day\n" + rows)
    columns = "query=q,item=ad,position=slot,clicked=click"
    options = ["--delimiter", ";", "--columns", columns, "--positions", "top,foot"]
    dated = ["--date", "day", "--since", "2024-02-01", "--until", "2024-03-01", "--where", "q=1"]
    printed = slotwise("fit", str(tmp_path / "a.csv"), *options, *dated, "--json").json()
    assert printed["lines"] == {"good": 100, "left_out": 500, "bad": 0}
    schema = (
        'delimiter = ";"\nquery = "q"\nitem = "ad"\nposition = "slot"\nclicked = "click"\npositions = ["top", "foot"]\n'
    )
    (tmp_path / "log.toml").write_text(schema)
    by_file = slotwise("fit", str(tmp_path / "a.csv"), "--schema", str(tmp_path / "log.toml"), *dated, "--json").json()
    assert by_file == printed


def test_the_example_of_columns_in_the_help_is_whole(slotwise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    printed = slotwise("fit", "--help").stdout
    assert max(map(len, printed.splitlines())) <= 80
    assert "query=q,item=ad,position=n,clicked=c." in printed
    assert "slotwise fit ads.csv --columns query=,item=item_id,clicked=click" in printed
    assert "…" not in printed


def test_malformed_lines_leave_no_file(tmp_path: Path, slotwise) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "p,a,1,0\np,a,one,0\np,a,1,1\np,b,1,0\n")
    fits, chart = tmp_path / "fits.json", tmp_path / "fits.svg"
    fits.write_text("precious")
    result = slotwise("fit", str(tmp_path / "a.csv"), "--output", str(fits), "--chart", str(chart))
    result.assert_refused("1 of 4 lines", "line 3: 'p,a,one,0'", details=True)
    assert (fits.read_text(), chart.exists()) == ("precious", False)
    tolerant = slotwise("fit", str(tmp_path / "a.csv"), "--max-bad", "25%", "--output", str(fits))
    assert tolerant.exit_code == 0
    assert "3 lines, 1 query" in tolerant.stdout
    assert "1 line: " in tolerant.stderr
    assert sw.load_fits(fits)[0].items == ["a", "b"]


def test_rubbish_lines_are_refused_without_advice_to_skip_them_and_skipped_with_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slotwise
) -> None:
    monkeypatch.chdir(tmp_path)
    good = [f"p,i{k % 4},{1 + k % 3},{int(k % 5 == 0)}\n" for k in range(950)]
    lines = [*good[:10], *["rubbish\n"] * 45, *good[10:], *["p,i1,1,maybe\n"] * 5]
    Path("a.csv").write_text(HEADER + "".join(lines))
    refused = slotwise("fit", "a.csv")
    refused.assert_refused("line 12 has 1 column separated by ','", "cut off, or not a line", details=True)
    assert ": slotwise fit" not in refused.stderr  # 4.5 % of the lines: no command that skips them
    done = slotwise("fit", "a.csv", "--max-bad", "50")
    assert (done.exit_code, "950 lines, 1 query" in done.stdout) == (0, True)
    notes = [line for line in done.stderr.splitlines() if line.startswith("note: ")]
    assert notes[0] == "note: 50 of 1,000 lines were skipped as malformed"
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert warning.startswith(
        "warning: 4.5% of the lines were skipped for one reason, wrong number of columns; from 1%"
    )


@pytest.mark.parametrize("command", [["fit"], ["logs", "count", "--output", "cells.parquet"]], ids=["fit", "count"])
def test_the_command_that_reads_positions_from_zero_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slotwise, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a log.csv").write_text(HEADER + "".join(f"p,i{k % 4},{k % 3},{int(k % 5 == 0)}\n" for k in range(120)))
    result = slotwise(*command, "a log.csv", "--max-bad", "50%")
    result.assert_refused("numbered from 0", details=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a log.csv"]
    printed = [line.partition(": ")[2] for line in result.stderr.splitlines() if ": slotwise " in line]
    assert len(printed) == 2
    for line, good in zip(printed, ("120 lines", "80 lines"), strict=True):
        program, *arguments = shlex.split(line)
        done = slotwise(*arguments)
        assert (program, done.exit_code) == ("slotwise", 0), done.stderr
        assert good in done.stdout


def test_a_file_without_a_header(tmp_path: Path, slotwise) -> None:
    (tmp_path / "a.csv").write_text("0,p,a,1\n1,p,a,1\n")
    printed = slotwise("fit", str(tmp_path / "a.csv"), "--names", "clicked,query,item,position", "--json").json()
    assert (printed["lines"]["good"], printed["queries"][0]["clicks"]) == (2, 1)


def test_both_formats_of_an_exported_log_give_the_same_fits(
    service: "Process", page: str, tmp_path: Path, slotwise
) -> None:
    """To the last bit, with the positions in the order of the page, and whatever the files are called."""
    positions = ["top", "middle", "bottom", "aside"]
    service.http.put(f"/v1/pages/{page}", json={"positions": positions}).raise_for_status()
    items = [{"item": f"item {k}"} for k in range(6)]
    service.http.post(f"/v1/pages/{page}/items:batch", json={"items": items}).raise_for_status()
    for k in range(40):
        eligible = {"eligible": ["item 0", "item 1"]} if k == 0 else {}  # the first display leaves positions out
        display = service.http.post(f"/v1/pages/{page}/recommendations", json=eligible).json()
        click = {"type": "click", "token": display["token"], "position": display["items"][k % 2]["position"]}
        service.http.post("/v1/events", json={"events": [click]}).raise_for_status()
    fits = []
    for name, export in [
        ("a.ndjson", "ndjson"),
        ("a.parquet", "parquet"),
        ("download", "parquet"),
        ("b.json", "ndjson"),
    ]:
        path = tmp_path / name
        path.write_bytes(service.http.get(f"/v1/pages/{page}/log", params={"format": export}).content)
        fits.append(slotwise("fit", str(path), "--format", "slotwise", "--json").json())
    assert fits[0]["queries"][0]["clicks"] == 40
    assert list(fits[0]["queries"][0]["kappa"]) == positions
    assert fits[1:] == fits[:1] * 3
    slotwise("fit", str(tmp_path / "download"), "--format", "csv").assert_refused("Parquet", "--format slotwise")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--method", "guess"], ["method 'guess'"]),
        (["--max-bad", "some"], ["--max-bad", "'some'"]),
        (["--max-bad", "-1"], ["--max-bad", "'-1'"]),
        (["--max-bad", "100%"], ["--max-bad", "'100%'"]),
        (["--where", "segment"], ["'segment'"]),
        (["--since", "2024-01-01"], ["--since", "--date"]),
        (["--date", "query", "--since", "january"], ["'january'", "date"]),
        (["--columns", "page=query"], ["--columns", "'page=query'", "query=COLUMN"]),
        (["--columns", "item=product"], ["'product'"]),
        (["--schema", "no.toml"], ["'no.toml'"]),
        (["--output", "fits.txt"], ["'fits.txt'", ".json, .parquet"]),
        (["--output", "no/fits.json"], ["'no/fits.json'", "folder 'no'"]),
        (["--chart", "fits.doc"], ["'fits.doc'", ".svg"]),
        (["--engine", "abacus"], ["engine 'abacus'"]),
        (["--master", "local[2]"], ["--engine spark"]),
        (["--format", "xml"], ["format 'xml'"]),
        (["--level", "2"], ["level = 2.0"]),
        (["--min-items", "9"], ["1 good line"]),
        (["--first-position", "2"], ["first_position = 2", "0 or 1"]),
        (["--first-position", "0", "--positions", "a,b"], ["first_position = 0", "['a', 'b']"]),
        (["--names", "query,item"], ["['query', 'item']", "'position'"]),
    ],
)
def test_bad_input_gets_one_clear_line(tmp_path: Path, slotwise, options: list[str], named: list[str]) -> None:
    (tmp_path / "a.csv").write_text(HEADER + "p,a,1,0\n")
    slotwise("fit", str(tmp_path / "a.csv"), *options).assert_refused(*named)
