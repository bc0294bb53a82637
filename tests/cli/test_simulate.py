"""`slotwise simulate`."""

import json
from pathlib import Path

import pytest

import slotwise as sw
from tests.cli.small_fits import small_fits
from tests.policies.faulty_runs import FILE

NEED_FEATURES = {"c3_ucb", "cascade_lin_ts", "cascade_lin_ucb", "lin_ts_pbm"}
SMALL = ["--rounds", "200", "--runs", "3"]


def test_the_smallest_regret_comes_first(slotwise) -> None:
    result = slotwise("simulate", *SMALL, "--policies", "uniform,pb_mhb:width=10,oracle")
    assert result.exit_code == 0
    names = [line.split("│")[0].strip() for line in result.stdout.splitlines() if "│" in line]
    assert names == ["oracle", "pb_mhb width=10", "uniform"]


def test_json_is_the_result_of_the_library(slotwise) -> None:
    from slotwise.paper.named_click_models import setting

    command = ["simulate", *SMALL, "--policies", "pb_mhb:sweeps=2", "--setting", "q10", "--seed", "9", "--delay", "5"]
    (row,) = slotwise(*command, "--json").json()
    result = sw.simulate("pb_mhb", setting("q10"), rounds=200, runs=3, seed=9, delay=5, params={"sweeps": 2})
    assert row["regret"] == result.mean().tolist()
    assert row["rounds"] == result.rounds.tolist()
    assert row["params"]["sweeps"] == 2


def test_a_model_file_is_the_same_as_theta_and_kappa(slotwise, tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(json.dumps({"theta": [0.5, 0.2, 0.1], "kappa": [1, 0.5]}))
    command = ["simulate", *SMALL, "--policies", "uniform", "--json"]
    (typed,) = slotwise(*command, "--theta", ".5,.2,.1", "--kappa", "1,.5").json()
    (read,) = slotwise(*command, "--model", str(tmp_path / "m.json")).json()
    assert typed["regret"] == read["regret"]


def test_charts_are_written(slotwise, tmp_path: Path) -> None:
    paths = [tmp_path / f"regret{suffix}" for suffix in (".svg", ".png", ".pdf", ".html", ".json")]
    result = slotwise("simulate", *SMALL, *[word for path in paths for word in ("--chart", str(path))])
    assert result.exit_code == 0
    svg, png, pdf, html, spec = (path.read_bytes() for path in paths)
    assert svg.startswith(b"<svg")
    assert png.startswith(b"\x89PNG")
    assert pdf.startswith(b"%PDF")
    assert b"pb_mhb" in spec
    assert b"cdn." not in html  # the page works offline
    assert len(html) > 500_000
    assert str(paths[0]) in result.stdout


def test_bounds_are_computed_or_a_note_says_why_not(slotwise) -> None:
    command = ["simulate", *SMALL, "--policies", "uniform", "--bound"]
    bounds = slotwise(*command, "--setting", "q10", "--json").json()["bounds"]
    assert bounds["kappa known"] == pytest.approx(6.234, abs=0.001)
    assert bounds["kappa unknown"] == pytest.approx(10.22, abs=0.01)
    result = slotwise(*command)  # the standard setting has ties
    assert result.exit_code == 0
    assert "11.36 log t" in result.stdout
    (remark,) = [line for line in result.stdout.splitlines() if "kappa unknown" in line]
    assert "theta[2] = theta[3] = 0.15" in remark


def test_the_policy_all_means_every_policy_that_can_learn_from_the_visitors(slotwise) -> None:
    rows = slotwise("simulate", "--rounds", "30", "--runs", "2", "--policies", "all", "--json").json()
    assert rows[0]["policy"] == "pb_mhb"
    unable = {"comb_cascade", "rank1_elim", "rank1_elim_kl"} | NEED_FEATURES
    assert sorted(row["policy"] for row in rows) == [name for name in sw.policies() if name not in unable]


@pytest.mark.parametrize(
    "visitors",
    [
        ["--setting", "cascade"],
        ["--clicks", "cascade"],
        ["--clicks", "cascade", "--attraction", ".5,.2,.1", "--positions", "2", "--order", "1,0"],
        ["--clicks", "dcm", "--attraction", ".5,.2,.1", "--termination", ".8,.6"],
        ["--setting", "rank1"],
    ],
)
def test_visitors_may_follow_another_click_model(slotwise, visitors: list[str]) -> None:
    (row,) = slotwise("simulate", "--rounds", "30", "--runs", "2", "--policies", "oracle", "--json", *visitors).json()
    assert row["regret"][-1] == pytest.approx(0.0, abs=1e-9)


BAD = [
    (["--attraction", ".5,.2", "--positions", "1"], ["--attraction and --positions", "--clicks"]),
    (["--clicks", "dcm", "--kappa", "1"], ["attraction, termination, order", "given: kappa"]),
    (["--clicks", "cascade", "--setting", "standard"], ["--clicks cascade excludes --setting and --model"]),
    (["--clicks", "cascada"], ["'cascada'", "'cascade'"]),
    (["--setting", "rank1"], ["pb_mhb learns from", "rank1 visitors reveal"]),
    (["--theta", ".5,1.3", "--kappa", "1"], ["theta[1] = 1.3", "[0, 1]"]),
    (["--theta", ".5,nan", "--kappa", "1"], ["theta[1] = nan"]),
    (["--theta", ".5,a", "--kappa", "1"], ["--theta = '.5,a'"]),
    (["--theta", ".5"], ["--theta", "--kappa"]),
    (["--theta", ".5", "--kappa", "1,.5"], ["2 positions", "1 item"]),
    (["--theta", ".5", "--kappa", "1", "--setting", "standard"], ["--setting", "--theta", "--kappa", "--model"]),
    (["--setting", "standart"], ["'standart'", "'standard'"]),
    (["--policies", "pb_mbh"], ["'pb_mbh'", "'pb_mhb'"]),
    (["--policies", "pb_mhb,,uniform"], ["--policies = 'pb_mhb,,uniform'", "empty"]),
    (["--policies", "pb_mhb,pb_mhb"], ["--policies = 'pb_mhb,pb_mhb'", "twice"]),
    (["--policies", "pb_mhb:widht=3"], ["'widht'", "'width'"]),
    (["--policies", "pb_mhb:width"], ["'width'", "'pb_mhb:width'", "name=value"]),
    (["--policies", "pb_mhb:width=wide"], ["width = 'wide'", "number"]),
    (["--policies", "pb_mhb:width=-1"], ["width = -1.0", "positive"]),
    (["--policies", "pb_mhb:sweeps=1.5"], ["sweeps = 1.5", "whole number"]),
    (["--policies", "pb_mhb:start=cold"], ["start = 'cold'", "warm, random"]),
    (["--policies", "nowhere.py"], ["'nowhere.py'"]),
    (["--rounds", "0"], ["--rounds = '0'", "at least 1"]),
    (["--rounds", "many"], ["--rounds = 'many'"]),
    (["--runs", "0"], ["runs = 0", "at least 1"]),
    (["--seed", "-1"], ["seed = -1"]),
    (["--delay", "-1"], ["delay = -1"]),
    (["--threads", "-2"], ["threads = -2"]),
    (["--model", "nowhere.json"], ["'nowhere.json'"]),
    (["--chart", "regret.gif"], ["'regret.gif'", ".svg"]),
    (["--chart", "nowhere/regret.svg", *SMALL], ["'nowhere/regret.svg'", "folder 'nowhere'"]),
]


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=lambda value: str(value)[:40])
def test_bad_input_gets_one_clear_line(arguments, named, slotwise, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    slotwise("simulate", *arguments).assert_refused(*named)


MISTAKES = {
    "a name that math lacks": ("math.sqrt(", "math.sqroot(", "'sqroot'"),
    "an array for a number": ("state.index[item] = 1e9", "state.index[item] = state.index", "click_share"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_policy_that_does_not_compile_gets_one_clear_line(mistake, slotwise, broken_policy) -> None:
    right, wrong, named = MISTAKES[mistake]
    result = slotwise("simulate", *SMALL, "--policies", broken_policy(right, wrong))
    result.assert_refused("policy click_share", "compiled", named, "click_share.py, line ")


def test_an_invalid_display_of_a_policy_gets_one_clear_line(slotwise) -> None:
    result = slotwise("simulate", *SMALL, "--policies", f"uniform,{FILE}:mistake=twice:after=20")
    result.assert_refused("policy faulty_policy: choose sets both display[0] and display[4] to item 0 in round 21")
    result.assert_refused("faulty_policy.py, line ", "def choose(")


def test_a_wrong_reference_is_noted(slotwise) -> None:
    model = ["--theta", ".5,.2,.1", "--kappa", ".2,1", "--policies", "pb_mhb,pb_mhb:reference=none"]
    result = slotwise("simulate", *SMALL, *model)
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()  # only for the first policy
    assert line.startswith("note: pb_mhb ")
    assert "pb_mhb:reference=none" in line


@pytest.mark.parametrize("content", ["", "[1, 2]", '{"theta": [1]}', '{"theta": "x", "kappa": [1]}', "\x00\x01"])
def test_a_bad_model_file_gets_one_clear_line(content, slotwise, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(content)
    slotwise("simulate", "--model", str(tmp_path / "bad.json")).assert_refused()


def test_a_query_of_a_file_of_fits_is_a_model(slotwise, tmp_path: Path) -> None:
    path, both = tmp_path / "params.json", small_fits()
    sw.save_fits(both, path)
    command = ["simulate", *SMALL, "--policies", "uniform", "--model", str(path)]
    (row,) = slotwise(*command, "--query", "query 1", "--json").json()
    assert row["regret"] == sw.simulate("uniform", both[1], rounds=200, runs=3).mean().tolist()
    result = slotwise(*command, "--query", "query 1")
    assert result.exit_code == 0
    assert "query query 1, 3 runs" in " ".join(result.stdout.split())
    sw.save_fits(both[:1], path)  # the only one needs no name
    assert slotwise(*command).exit_code == 0


@pytest.mark.parametrize("command", ["simulate", "diagnose"])
def test_a_model_that_cannot_be_chosen_gets_one_clear_line(command: str, slotwise, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    sw.save_fits(small_fits(7), tmp_path / "params.json")
    (tmp_path / "m.json").write_text('{"theta": [0.5, 0.2], "kappa": [1]}')
    (tmp_path / "bad.json").write_text('{"format": "slotwise-fit", "version": 1, "body": {"queries": 5}}')
    (tmp_path / "other.json").write_text("[]")
    for arguments, named in [
        (["params.json"], ["7 queries", "'query 0', 'query 1', 'query 2', 'query 3', 'query 4', ...", "--query"]),
        (["params.json", "--query", "hats"], ["'hats'", "7 queries", "'query 0', "]),
        (["m.json", "--query", "hats"], ["'m.json'", "'hats'"]),
        (["bad.json"], ["bad.json", "damaged"]),
        (["other.json"], ["'other.json'", '"theta"', '"kappa"']),
    ]:
        slotwise(command, "--model", *arguments).assert_refused(*named)
    slotwise(command, "--setting", "standard", "--query", "hats").assert_refused("--query 'hats'", "--model")


def test_a_chart_that_cannot_be_drawn_does_not_suppress_the_table(slotwise, tmp_path: Path) -> None:
    command = [
        "simulate",
        *SMALL,
        "--policies",
        "oracle,uniform",
        "--view",
        "ratio",
        "--chart",
        str(tmp_path / "r.json"),
    ]
    result = slotwise(*command)
    assert result.exit_code == 2
    assert "oracle has no regret" in result.stderr
    assert [line.split("│")[0].strip() for line in result.stdout.splitlines() if "│" in line] == ["oracle", "uniform"]
