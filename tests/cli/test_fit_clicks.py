"""`slotwise fit --clicks` and `slotwise logs synth --clicks`."""

import json
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tests.command_line import run_command

    path = tmp_path_factory.mktemp("clicks") / "sessions.csv"
    assert run_command("logs", "synth", str(path), "--clicks", "cascade", "--lines", "40000").exit_code == 0
    return path


def test_auto_finds_the_visitors_of_a_written_log(log: Path, tmp_path: Path, slotwise) -> None:
    chart = tmp_path / "models.json"
    found = slotwise("fit", str(log), "--clicks", "auto", "--chart", str(chart), "--json").json()
    (query,) = found["queries"]
    comparison = query["comparison"]
    assert (comparison["model"], comparison["sure"]) == ("cascade", True)
    assert comparison["sessions"] == 10_000
    assert comparison["several_clicks"] == 0.0
    assert len(comparison["parameters"]["attraction"]) == 16
    assert {score["model"] for score in comparison["scores"]} == {"cascade", "dbn", "dcm", "pbm", "sdbn", "ubm"}
    assert "log-likelihood" in json.dumps(json.loads(chart.read_text()))


def test_one_model_is_fitted_and_printed_with_its_parameters(log: Path, slotwise) -> None:
    result = slotwise("fit", str(log), "--clicks", "sdbn")
    assert result.exit_code == 0
    assert "attraction" in result.stdout
    assert "satisfaction" in result.stdout


def test_wrong_options_end_with_one_line(log: Path, tmp_path: Path, slotwise) -> None:
    plain = tmp_path / "plain.csv"
    slotwise("logs", "synth", str(plain), "--lines", "1000", "--queries", "2")
    for arguments, words in (
        (("fit", str(log), "--clicks", "cascada"), "click model"),
        (("fit", str(plain), "--clicks", "auto"), "'display'"),
        (("fit", str(log), "--clicks", "auto", "--min-shown", "5"), "--min-shown"),
        (("logs", "synth", str(plain), "--clicks", "dbn"), "--clicks"),
        (("logs", "synth", str(plain), "--clicks", "dcm", "--setting", "q10"), "--setting"),
        (("logs", "synth", str(plain), "--clicks", "dcm", "--format", "kdd2012"), "kdd2012"),
    ):
        result = slotwise(*arguments)
        assert result.exit_code == 2
        assert words in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
