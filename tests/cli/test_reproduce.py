"""`slotwise reproduce` as a person types it: what it says of bad input."""

import sys
import time
from pathlib import Path

import pytest
from rich.console import Console

from slotwise import cli
from slotwise.cli import _console


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["slotwise", "reproduce", *arguments])
    monkeypatch.setattr(_console, "screen", Console(width=120))
    monkeypatch.setattr(_console, "errors", Console(stderr=True, width=120))
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


BAD = [
    (["--only", "fig-wram"], "did you mean 'fig-warm'?"),
    (["--only", ","], "known: fig-hyper"),
    (["--jobs", "0"], "--jobs = 0 is not a whole number of at least 1"),
    (["--seed", "-1"], "seed = -1"),
    (["--runs", "1"], "runs = 1 is not a whole number of at least 2"),
    (["--out", "taken/folder"], "cannot write into 'taken/folder'"),
    (["--out", "full"], "'full' holds files of something else"),
    (["--dask", "tcp://127.0.0.1:9"], "no Dask scheduler answers at 'tcp://127.0.0.1:9'"),
    (["--dask", "nonsense://"], "no Dask scheduler answers at 'nonsense://'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_gets_one_clear_line(arguments, message, monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("dear reader")
    begun = time.monotonic()
    assert run(monkeypatch, *arguments, "--quick") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err.replace("\n", " ")
    assert len(told.err.strip().splitlines()) == 1
    assert time.monotonic() - begun < 20


def test_the_table_of_queries_alone(monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "--only", "tab-data", "--quick") == 0
    told = capsys.readouterr().out
    assert "data-table" in told
    assert "1 hold, 0 hold in part, 0 do not hold" in told
    assert "QUICK: fewer runs and rounds; do not cite" in told
    out = tmp_path / "out" / "paper-quick"
    assert (out / "report.html").exists()
    assert (out / "data" / "tab-data.csv").exists()
    page = (out / "paper.md").read_text()
    assert "QUICK" in page
    assert str(tmp_path) not in page
