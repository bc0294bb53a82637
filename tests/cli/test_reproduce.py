"""`slotwise reproduce`; tests/paper has the tests of the reproduction itself."""

import sys
from pathlib import Path

import pytest

BAD = [
    (["--only", "fig-wram"], ["'fig-wram'", "'fig-warm'"]),
    (["--only", ","], ["experiment", "fig-hyper"]),
    (["--jobs", "0"], ["--jobs = 0", "at least 1"]),
    (["--seed", "-1"], ["seed = -1"]),
    (["--runs", "1"], ["runs = 1", "at least 2"]),
    (["--out", "taken/folder"], ["'taken/folder'"]),
    (["--out", "full"], ["'full'"]),
    (["--dask", "tcp://127.0.0.1:9"], ["'tcp://127.0.0.1:9'"]),
    (["--dask", "nonsense://"], ["'nonsense://'"]),
]


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_is_refused_before_any_work(arguments, named, slotwise, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear reader")
    slotwise("reproduce", *arguments, "--quick").assert_refused(*named)
    assert not list(tmp_path.rglob("*.html"))
    assert not list(tmp_path.rglob("*.csv"))


def test_the_table_of_queries_alone(slotwise, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    result = slotwise("reproduce", "--only", "tab-data", "--quick")
    assert result.exit_code == 0
    (row,) = [line for line in result.stdout.splitlines() if "data-table" in line]
    assert row.rstrip().endswith("holds")
    assert "1 holds, 0 hold in part, 0 do not hold" in result.stdout
    assert "QUICK" in result.stdout
    out = tmp_path / "out" / "paper-quick"
    assert (out / "report.html").exists()
    assert (out / "data" / "tab-data.csv").exists()
    page = (out / "paper.md").read_text()
    assert "QUICK" in page
    assert str(tmp_path) not in page


def test_without_pyarrow_the_data_are_written_as_csv_only(slotwise, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as if it were not installed
    result = slotwise("reproduce", "--only", "tab-data", "--quick", "--out", str(tmp_path / "paper"))
    assert result.exit_code == 0, result.stderr
    assert "pip install 'slotwise[logs]'" in result.stderr
    assert {path.suffix for path in (tmp_path / "paper" / "data").iterdir() if path.is_file()} == {".csv"}
