"""The commands, as a person types them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from slotwise import cli
from slotwise.cli import _console

SMALL = ["--rounds", "200", "--runs", "3"]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """Run a command in this process; its exit code."""
    monkeypatch.setattr(sys, "argv", ["slotwise", *arguments])
    try:
        cli.main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


@pytest.fixture(autouse=True)
def _fresh_consoles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Consoles that write to whatever stdout and stderr are during a test, wide enough for any table."""
    monkeypatch.setattr(_console, "screen", Console(width=120))
    monkeypatch.setattr(_console, "errors", Console(stderr=True, width=120))


def test_policies_lists_all_of_them(monkeypatch, capsys) -> None:
    assert run(monkeypatch, "policies") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("pb_mhb", "uniform", "oracle", "width=100.0", "start=warm"))


def test_policies_for_machines(monkeypatch, capsys) -> None:
    assert run(monkeypatch, "policies", "--json") == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["pb_mhb"]["params"] == {"width": 100.0, "sweeps": 1, "start": "warm", "reference": "first"}


def test_simulate_compares_side_by_side(monkeypatch, capsys) -> None:
    assert run(monkeypatch, "simulate", *SMALL, "--policies", "uniform,pb_mhb:width=10,oracle") == 0
    lines = [line.split("│")[0].strip() for line in capsys.readouterr().out.splitlines() if "│" in line]
    assert lines == ["oracle", "pb_mhb width=10", "uniform"]  # the smallest regret first


def test_simulate_for_machines_is_the_library(monkeypatch, capsys) -> None:
    import slotwise as sw
    from slotwise.paper.settings import setting

    command = ["simulate", *SMALL, "--policies", "pb_mhb:sweeps=2", "--setting", "q10", "--seed", "9", "--delay", "5"]
    assert run(monkeypatch, *command, "--json") == 0
    (row,) = json.loads(capsys.readouterr().out)
    result = sw.simulate("pb_mhb", setting("q10"), rounds=200, runs=3, seed=9, delay=5, params={"sweeps": 2})
    assert row["regret"] == result.mean().tolist()
    assert row["rounds"] == result.rounds.tolist()
    assert row["params"]["sweeps"] == 2


def test_the_model_comes_in_three_ways(monkeypatch, capsys, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"theta": [0.5, 0.2, 0.1], "kappa": [1, 0.5]}))
    answers = []
    for way in (["--theta", ".5,.2,.1", "--kappa", "1,.5"], ["--model", str(tmp_path / "m.json")]):
        assert run(monkeypatch, "simulate", *SMALL, "--policies", "uniform", "--json", *way) == 0
        answers.append(json.loads(capsys.readouterr().out)[0]["regret"])
    assert answers[0] == answers[1]


def test_charts_are_drawn(monkeypatch, capsys, tmp_path: Path) -> None:
    paths = [tmp_path / f"regret{suffix}" for suffix in (".svg", ".png", ".pdf", ".html", ".json")]
    charts = [word for path in paths for word in ("--chart", str(path))]
    assert run(monkeypatch, "simulate", *SMALL, *charts) == 0
    svg, png, pdf, html, spec = (path.read_bytes() for path in paths)
    assert svg.startswith(b"<svg")
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    assert b"pb_mhb" in spec
    assert b"cdn." not in html  # the page works offline
    assert len(html) > 500_000
    assert str(paths[0]) in capsys.readouterr().out.replace("\n", "")


def test_bounds_are_computed_or_their_lack_explained(monkeypatch, capsys) -> None:
    command = ["simulate", *SMALL, "--policies", "uniform", "--bound"]
    assert run(monkeypatch, *command, "--setting", "q10", "--json") == 0
    bounds = json.loads(capsys.readouterr().out)["bounds"]
    assert bounds["kappa known"] == pytest.approx(6.234, abs=0.001)
    assert bounds["kappa unknown"] == pytest.approx(10.22, abs=0.01)
    assert run(monkeypatch, *command) == 0  # the standard setting has ties
    shown = capsys.readouterr().out
    assert "11.36 log t" in shown
    assert "no lower bound, kappa unknown: theta[2] = theta[3] = 0.15 is a tie" in shown


def test_all_is_every_policy(monkeypatch, capsys) -> None:
    from slotwise import policies

    assert run(monkeypatch, "simulate", "--rounds", "30", "--runs", "2", "--policies", "all", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[0]["policy"] == "pb_mhb"
    assert sorted(row["policy"] for row in rows) == policies()


BAD = [
    (["--theta", ".5,1.3", "--kappa", "1"], "theta[1] = 1.3 is not in [0, 1]"),
    (["--theta", ".5,nan", "--kappa", "1"], "theta[1] = nan"),
    (["--theta", ".5,a", "--kappa", "1"], "--theta = '.5,a' is not a list of numbers"),
    (["--theta", ".5"], "--theta and --kappa go together"),
    (["--theta", ".5", "--kappa", "1,.5"], "2 positions but only 1 items"),
    (["--theta", ".5", "--kappa", "1", "--setting", "standard"], "give one of"),
    (["--setting", "standart"], "did you mean 'standard'?"),
    (["--policies", "pb_mbh"], "did you mean 'pb_mhb'?"),
    (["--policies", "pb_mhb,,uniform"], "empty name"),
    (["--policies", "pb_mhb,pb_mhb"], "twice"),
    (["--policies", "pb_mhb:widht=3"], "did you mean 'width'?"),
    (["--policies", "pb_mhb:width"], "name=value"),
    (["--policies", "pb_mhb:width=wide"], "width = 'wide' is not a number"),
    (["--policies", "pb_mhb:width=-1"], "width = -1.0 is not a positive number"),
    (["--policies", "pb_mhb:sweeps=1.5"], "sweeps = 1.5 is not a whole number"),
    (["--policies", "pb_mhb:start=cold"], "start = 'cold' is not one of warm, random"),
    (["--policies", "nowhere.py"], "policy file 'nowhere.py'"),
    (["--rounds", "0"], "--rounds = '0' is not a whole number of at least 1"),
    (["--rounds", "many"], "--rounds = 'many'"),
    (["--runs", "0"], "runs = 0 is not a whole number of at least 1"),
    (["--seed", "-1"], "seed = -1"),
    (["--delay", "-1"], "delay = -1"),
    (["--threads", "-2"], "threads = -2"),
    (["--model", "nowhere.json"], "cannot read 'nowhere.json'"),
    (["--chart", "regret.gif"], "must end in one of .svg"),
    (["--chart", "nowhere/regret.svg", *SMALL], "the folder 'nowhere' does not exist"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_gets_one_clear_line(arguments, message, monkeypatch, capsys, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(monkeypatch, "simulate", *arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err.replace("\n", " ")
    assert "Traceback" not in told.err
    assert len(told.err.strip().splitlines()) == 1


MISTAKES = {
    "a name that math lacks": ("math.sqrt(", "math.sqroot(", "has no attribute 'sqroot'"),
    "an array for a number": ("state.index[item] = 1e9", "state.index[item] = state.index", "click_share"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_policy_that_cannot_be_compiled_gets_one_clear_line(mistake, monkeypatch, capsys, tmp_path: Path) -> None:
    right, wrong, told = MISTAKES[mistake]
    source = (Path(__file__).parent.parent.parent / "examples" / "click_share.py").read_text()
    assert right in source
    (tmp_path / "click_share.py").write_text(source.replace(right, wrong))
    assert run(monkeypatch, "simulate", *SMALL, "--policies", str(tmp_path / "click_share.py")) == 2
    errors = capsys.readouterr().err.replace("\n", " ")
    assert "policy click_share cannot be compiled" in errors
    assert told in errors
    assert "Traceback" not in errors


def test_a_wrong_reference_is_noted(monkeypatch, capsys) -> None:
    page = ["--theta", ".5,.2,.1", "--kappa", ".2,1", "--policies", "pb_mhb,pb_mhb:reference=none"]
    assert run(monkeypatch, "simulate", *SMALL, *page) == 0
    noted = capsys.readouterr().err.replace("\n", " ")
    assert "pb_mhb takes the first position for the most visible one" in noted
    assert noted.count("note:") == 1


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"theta": [1]}', '{"theta": "x", "kappa": [1]}', "\x00\x01"])
def test_a_bad_model_file_gets_one_clear_line(content, monkeypatch, capsys, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(content)
    assert run(monkeypatch, "simulate", "--model", str(tmp_path / "bad.json")) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_the_installed_command_answers_and_fails_cleanly() -> None:
    command = Path(sys.executable).parent / "slotwise"
    version = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert version.stdout.strip() == cli.__version__
    wrong = subprocess.run([command, "simulate", "--setting", "no"], capture_output=True, text=True)
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: unknown setting 'no'")


def test_diagnose_a_saved_page_by_its_names(monkeypatch, capsys, tmp_path: Path) -> None:
    import slotwise as sw

    page = sw.Recommender(["hat", "tie", "bag"], ["hero", "side"], seed=1)
    for _ in range(50):
        page.learn(page.recommend(), clicked=["hero"])
    page.retire("tie")
    page.save(tmp_path / "page.json")
    assert run(monkeypatch, "diagnose", str(tmp_path / "page.json"), "--draws", "400") == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("theta[hat]", "theta[tie]", "kappa[side]", "the chains"))
    assert run(monkeypatch, "diagnose", str(tmp_path / "page.json"), "--draws", "400", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in told["variables"]] == [
        "theta[hat]", "theta[tie]", "theta[bag]", "kappa[hero]", "kappa[side]",
    ]  # fmt: skip
    assert told["sweeps"] == 400
    assert set(told["accepted"]) == {"matched", "slide"}


@pytest.mark.parametrize("saved", [True, False], ids=["saved counts", "plain JSON"])
def test_diagnose_a_file_of_counts(monkeypatch, capsys, tmp_path: Path, saved: bool) -> None:
    import slotwise as sw

    file, picture = tmp_path / "counts.json", tmp_path / "ranks.svg"
    if saved:
        sw.Counts([[40, 20], [20, 10]], [[60, 80], [80, 90]]).save(file)
    else:
        file.write_text('{"clicks": [[40, 20], [20, 10]], "skips": [[60, 80], [80, 90]]}')
    assert run(monkeypatch, "diagnose", str(file), "--draws", "400", "--prior", "2,5", "--chart", str(picture)) == 0
    assert "<svg" in picture.read_text()
    assert "theta[1]" in capsys.readouterr().out


def test_a_file_name_is_not_markup(monkeypatch, capsys, tmp_path: Path) -> None:
    file = tmp_path / "a[bold]b.json"
    file.write_text('{"clicks": [[4, 2], [2, 1]], "skips": [[6, 8], [8, 9]]}')
    assert run(monkeypatch, "diagnose", str(file), "--draws", "40", "--chart", str(tmp_path / "c[red].svg")) == 0
    shown = capsys.readouterr().out.replace("\n", "")
    assert "[bold]" in shown
    assert "c[red].svg" in shown


def test_a_policy_that_does_not_compile_is_told_in_one_line(monkeypatch, capsys, tmp_path: Path) -> None:
    policy = tmp_path / "broken.py"
    text = (Path(__file__).parent.parent.parent / "examples" / "click_share.py").read_text()
    policy.write_text(
        text.replace(
            "def choose(params, state, rng, display):", "def choose(params, state, rng, display):\n    nowhere()"
        )
    )
    assert "nowhere()" in policy.read_text()
    assert run(monkeypatch, "diagnose", "--setting", "q10", "--policy", str(policy), "--rounds", "10") == 2
    assert "cannot be compiled" in capsys.readouterr().err


def test_diagnose_a_setting_and_a_model(monkeypatch, capsys, tmp_path: Path) -> None:
    short = ["--draws", "400", "--rounds", "1e3", "--json"]
    assert run(monkeypatch, "diagnose", "--setting", "q10", *short, "--reference", "first") == 0
    assert len(json.loads(capsys.readouterr().out)["variables"]) == 9
    model = tmp_path / "model.json"
    model.write_text('{"theta": [0.4, 0.2], "kappa": [1, 0.5]}')
    assert run(monkeypatch, "diagnose", "--model", str(model), *short, "--sampler", "random_walk") == 0
    assert json.loads(capsys.readouterr().out)["sampler"] == "random_walk"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one of the three"),
        (["missing.json"], "cannot read 'missing.json'"),
        (["--setting", "q10", "--model", "m.json"], "one of the three"),
        (["--setting", "q11"], "unknown setting"),
        (["--setting", "q10", "--policy", "oracle:x=1"], "x"),
        (["--setting", "q10", "--prior", "2,x"], "--prior"),
        (["--setting", "q10", "--prior", "1,2,3"], "prior"),
        (["--setting", "q10", "--chart", "ranks.gif"], "cannot draw"),
        (["--setting", "q10", "--chart", "nowhere/ranks.svg"], "the folder 'nowhere' does not exist"),
        (["--setting", "q10", "--draws", "many"], "--draws = 'many'"),
    ],
)
def test_diagnose_refuses_nonsense(monkeypatch, capsys, arguments: list[str], words: str) -> None:
    assert run(monkeypatch, "diagnose", *arguments) == 2
    message = capsys.readouterr().err
    assert words in message
    assert "Traceback" not in message
