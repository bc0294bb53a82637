"""`slotwise logs`."""

import shlex
import signal
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import slotwise as sw
from slotwise.paper.named_click_models import setting
from tests.command_line import COMMAND
from tests.waiting import HANG

ROOT = Path(__file__).parent.parent.parent


def test_counts_give_the_same_fits_as_the_log(log: Path, tmp_path: Path, slotwise) -> None:
    cells = str(tmp_path / "cells.parquet")
    result = slotwise("logs", "count", str(log), "--output", cells)
    assert result.exit_code == 0
    assert all(text in result.stdout for text in ("26,100 lines", "174 counts", cells))
    assert parquet.read_schema(cells).names == ["query", "item", "position", "shown", "clicked"]
    from_log, from_counts = (slotwise("fit", source, "--json").json()["queries"] for source in (str(log), cells))
    assert from_log == from_counts


def test_malformed_lines_leave_no_file(tmp_path: Path, slotwise) -> None:
    (tmp_path / "a.csv").write_text("query,item,position,clicked\np,a,1,0\np,a,one,0\n")
    result = slotwise("logs", "count", str(tmp_path / "a.csv"), "--output", str(tmp_path / "cells.parquet"))
    result.assert_refused("1 of 2 lines", "line 3: 'p,a,one,0'", details=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_counts_are_written_as_parquet_only(log: Path, slotwise) -> None:
    slotwise("logs", "count", str(log), "--output", "cells.csv").assert_refused("'cells.csv'", ".parquet")


def test_synth_derives_the_format_from_the_file_name(tmp_path: Path, slotwise) -> None:
    result = slotwise("logs", "synth", str(tmp_path / "a.ndjson.gz"), "--lines", "1e3", "--queries", "5")
    assert result.exit_code == 0
    assert "1,000 lines" in result.stdout
    training = str(tmp_path / "training.txt")
    assert slotwise("logs", "synth", training, "--format", "kdd2012", "--lines", "1e3").exit_code == 0
    assert Path(training).read_text().count("\n") == 1_000
    slotwise("logs", "synth", training, "--lines", "1e3").assert_refused("training.txt", "--format")


def test_synth_writes_the_truth_beside_the_log(log: Path, slotwise) -> None:
    """The thetas of the fit scatter around the true ones as their intervals say, and the file can be simulated."""
    saved = sw.load_fits(log.with_name("clicks.truth.json"))
    truth = {query.name: query for query in saved}
    assert truth["10"].kappa.tolist() == setting("q10").kappa.tolist()
    inside = []
    for fit in sw.fit_queries(sw.read_log(str(log)).queries):
        known = truth[fit.name]
        assert (sorted(known.items), known.positions) == (sorted(fit.items), fit.positions)
        theta = np.array([known.theta[known.items.index(item)] for item in fit.items])
        inside += ((fit.theta_interval[:, 0] <= theta) & (theta <= fit.theta_interval[:, 1])).tolist()
    assert np.mean(inside) > 0.75  # of 58 intervals with 90 %
    options = ["--query", "10", "--rounds", "50", "--runs", "2"]
    assert slotwise("simulate", "--model", str(log.with_name("clicks.truth.json")), *options).exit_code == 0


def test_the_truth_has_the_names_of_the_log(tmp_path: Path, slotwise) -> None:
    few = ["--lines", "3e3", "--queries", "4", "--items", "5"]
    result = slotwise("logs", "synth", str(tmp_path / "a.ndjson.gz"), *few)
    assert str(tmp_path / "a.truth.json") in result.stdout
    truth = {query.name: set(query.items) for query in sw.load_fits(tmp_path / "a.truth.json")}
    queries = sw.read_log(str(tmp_path / "a.ndjson.gz")).queries
    assert [query.name for query in queries if not set(query.items) <= truth[query.name]] == []
    slotwise("logs", "synth", str(tmp_path / "b.csv"), "--format", "open-bandit", *few)
    assert not (tmp_path / "b.truth.json").exists()
    slotwise("logs", "synth", str(tmp_path / "c.csv"), "--format", "open-bandit", "--setting", "q10", *few)
    assert [query.name for query in sw.load_fits(tmp_path / "c.truth.json")] == ["all"]


@pytest.mark.parametrize(
    ("option", "value"), [("--queries", "0"), ("--items", "0"), ("--positions", "-1"), ("--seed", "-1")]
)
def test_synth_names_the_option_that_is_wrong(tmp_path: Path, slotwise, option: str, value: str) -> None:
    slotwise("logs", "synth", str(tmp_path / "a.csv"), option, value).assert_refused(option, value)
    assert list(tmp_path.iterdir()) == []


def test_a_stopped_run_leaves_nothing_behind(tmp_path: Path) -> None:
    """After Ctrl-C while a large log is written, the exit code is 130, and there is no traceback and no file."""
    command = [*COMMAND, "logs", "synth", str(tmp_path / "a.csv"), "--lines", "1e9"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not any(path.name.startswith(".a.csv.") and path.stat().st_size for path in tmp_path.iterdir()):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=HANG)
    assert (process.returncode, "Traceback" in stderr) == (130, False)
    assert list(tmp_path.iterdir()) == []


def test_the_commands_of_the_page_about_logs_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slotwise) -> None:
    page = (ROOT / "docs" / "logs.md").read_text()
    monkeypatch.chdir(tmp_path)
    commands = page.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command.replace("400000", "40000").replace("1e4", "1e2"), comments=True)
        assert words[0] == "slotwise"
        assert slotwise(*words[1:]).exit_code == 0
    exec(page.partition("```python\n")[2].partition("```")[0], {})
    (tmp_path / "log.toml").write_text(page.partition("```toml\n")[2].partition("```")[0])
    (tmp_path / "a.csv").write_text("q;'an ad';hero;0;monday\n" * 200 + "q;b;left;1;monday\n" * 200)
    assert slotwise("fit", "a.csv", "--schema", "log.toml", "--min-shown", "0").exit_code == 0
    (error,) = [block for block in page.split("```") if "--first-position 0\n" in block]
    lines = [f"p,{'abcd'[k % 4]},{k % 3},{int(k % 5 == 0)}\n" for k in range(30_000)]
    (tmp_path / "clicks.csv").write_text("query,item,position,clicked\n" + "".join(lines))
    printed = slotwise("fit", "clicks.csv").stderr.splitlines()
    assert [line for line in error.strip().splitlines() if line not in printed] == []
