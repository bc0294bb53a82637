"""`slotwise diagnose`."""

from pathlib import Path

import pytest

import slotwise as sw

SHORT = ["--draws", "400"]


def test_a_saved_page_is_diagnosed_by_its_names(slotwise, tmp_path: Path) -> None:
    page = sw.Recommender(["hat", "tie", "bag"], ["hero", "side"], seed=1)
    for _ in range(50):
        page.learn(page.recommend(), clicked=["hero"])
    page.retire("tie")
    page.save(tmp_path / "page.json")
    result = slotwise("diagnose", str(tmp_path / "page.json"), *SHORT)
    assert result.exit_code == 0
    names = ["theta[hat]", "theta[tie]", "theta[bag]", "kappa[hero]", "kappa[side]"]
    assert all(name in result.stdout for name in names)
    diagnosis = slotwise("diagnose", str(tmp_path / "page.json"), *SHORT, "--json").json()
    assert [row["name"] for row in diagnosis["variables"]] == names
    assert diagnosis["sweeps"] == 400
    assert set(diagnosis["accepted"]) == {"matched", "slide"}


@pytest.mark.parametrize("saved", [True, False], ids=["saved counts", "plain JSON"])
def test_a_file_of_counts_is_diagnosed_and_drawn(slotwise, tmp_path: Path, saved: bool) -> None:
    file, chart = tmp_path / "counts.json", tmp_path / "ranks.svg"
    if saved:
        sw.Counts([[40, 20], [20, 10]], [[60, 80], [80, 90]]).save(file)
    else:
        file.write_text('{"clicks": [[40, 20], [20, 10]], "skips": [[60, 80], [80, 90]]}')
    result = slotwise("diagnose", str(file), *SHORT, "--prior", "2,5", "--chart", str(chart))
    assert result.exit_code == 0
    assert "<svg" in chart.read_text()
    assert "theta[1]" in result.stdout


def test_a_file_name_is_not_markup(slotwise, tmp_path: Path) -> None:
    file = tmp_path / "a[bold]b.json"
    file.write_text('{"clicks": [[4, 2], [2, 1]], "skips": [[6, 8], [8, 9]]}')
    result = slotwise("diagnose", str(file), "--draws", "40", "--chart", str(tmp_path / "c[red].svg"))
    assert result.exit_code == 0
    printed = result.stdout.replace("\n", "")
    assert "[bold]" in printed
    assert "c[red].svg" in printed


def test_a_policy_that_does_not_compile_gets_one_clear_line(slotwise, broken_policy) -> None:
    choose = "def choose(params, state, rng, display):"
    policy = broken_policy(choose, f"{choose}\n    nowhere()")
    result = slotwise("diagnose", "--setting", "q10", "--policy", policy, "--rounds", "10")
    result.assert_refused("click_share", "compiled", "nowhere")


def test_a_setting_and_a_model_are_diagnosed(slotwise, tmp_path: Path) -> None:
    short = [*SHORT, "--rounds", "1e3", "--json"]
    diagnosis = slotwise("diagnose", "--setting", "q10", *short, "--reference", "first").json()
    assert len(diagnosis["variables"]) == 9
    model = tmp_path / "model.json"
    model.write_text('{"theta": [0.4, 0.2], "kappa": [1, 0.5]}')
    diagnosis = slotwise("diagnose", "--model", str(model), *short, "--sampler", "random_walk").json()
    assert diagnosis["sampler"] == "random_walk"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], ["--setting", "--model"]),
        (["missing.json"], ["'missing.json'"]),
        (["--setting", "q10", "--model", "m.json"], ["--setting", "--model"]),
        (["--setting", "q11"], ["'q11'"]),
        (["--setting", "q10", "--policy", "oracle:x=1"], ["'x'"]),
        (["--setting", "q10", "--prior", "2,x"], ["--prior = '2,x'"]),
        (["--setting", "q10", "--prior", "1,2,3"], ["prior"]),
        (["--setting", "q10", "--chart", "ranks.gif"], ["'ranks.gif'", ".svg"]),
        (["--setting", "q10", "--chart", "nowhere/ranks.svg"], ["'nowhere/ranks.svg'", "folder 'nowhere'"]),
        (["--setting", "q10", "--draws", "many"], ["--draws = 'many'"]),
    ],
)
def test_bad_input_gets_one_clear_line(slotwise, arguments: list[str], named: list[str]) -> None:
    slotwise("diagnose", *arguments).assert_refused(*named)
