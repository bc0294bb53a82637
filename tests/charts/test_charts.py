"""The charts show the measured values."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

import slotwise as sw
from slotwise.charts import (
    choice_chart,
    growth_chart,
    learning_chart,
    rank_chart,
    save_chart,
    spread_chart,
    time_chart,
)
from slotwise.checks import BadInput
from slotwise.clickmodels.pbm import PBM
from slotwise.inference.sampling.diagnosis import Diagnosis
from slotwise.simulation.result import Result

ROUNDS = np.array([1, 10, 100, 1000])


def a_result(policy: str, regret: list[list[float]]) -> Result:
    return Result(policy, {}, PBM([0.5, 0.1], [1.0]), 0, 0, ROUNDS, np.array(regret), 1.0)


RESULTS = [
    a_result("steady", [[1.0, 4.0, 20.0, 50.0], [3.0, 6.0, 30.0, 70.0]]),
    a_result("bad", [[2.0, 20.0, 200.0, 2000.0]] * 2),
    a_result("perfect", [[0.0, 0.0, 0.0, 0.0]] * 2),
]


def layers(chart) -> list[dict]:
    """The layers with their rows; Altair stores the rows in a layer or at the top level."""
    spec = chart.to_dict()
    named = spec.get("datasets", {})
    sources = [layer.get("data", spec.get("data")) for layer in spec["layer"]]
    rows = [source["values"] if "values" in source else named[source["name"]] for source in sources]
    return [layer | {"values": values} for layer, values in zip(spec["layer"], rows, strict=True)]


def test_the_curve_is_the_mean_and_the_band_one_standard_error() -> None:
    band, line = layers(sw.regret_chart(RESULTS))
    steady = [row for row in line["values"] if row["policy"] == "steady"]
    assert [row["round"] for row in steady] == ROUNDS.tolist()
    assert [row["regret"] for row in steady] == [2.0, 5.0, 25.0, 60.0]
    assert [row["high"] - row["low"] for row in steady] == pytest.approx([2.0, 2.0, 10.0, 20.0])
    assert band["encoding"]["y2"]["field"] == "high"


def test_a_note_names_policies_that_a_logarithmic_axis_cannot_show() -> None:
    chart = sw.regret_chart(RESULTS).to_dict()
    assert "perfect" not in {row["policy"] for layer in layers(sw.regret_chart(RESULTS)) for row in layer["values"]}
    assert "perfect: " in " ".join(chart["title"]["subtitle"])


def test_the_legend_follows_the_curves_and_one_policy_keeps_its_colour() -> None:
    scale = layers(sw.regret_chart(RESULTS))[1]["encoding"]["color"]["scale"]
    assert scale["domain"] == ["bad", "steady"]
    alone = layers(sw.regret_chart(RESULTS[:1]))[1]["encoding"]["color"]["scale"]
    assert alone["range"][0] == scale["range"][1]


def test_a_bound_is_a_slope_over_the_last_decade_of_the_first_curve() -> None:
    chart = sw.regret_chart(RESULTS, bounds={"kappa known": 7.0})
    guide = layers(chart)[2]["values"]
    assert [row["round"] for row in guide] == [100, 1000]
    assert guide[0]["high"] == 25.0
    assert guide[1]["high"] == pytest.approx(25.0 + 7.0 * math.log(10.0))
    assert "C log t" in " ".join(chart.to_dict()["title"]["subtitle"])


def test_labels_replace_the_names_of_policies() -> None:
    line = layers(sw.regret_chart(RESULTS[:2], ["a", "b"]))[1]
    assert {row["policy"] for row in line["values"]} == {"a", "b"}


def test_a_single_run_has_no_band() -> None:
    line = layers(sw.regret_chart([a_result("once", [[1.0, 2.0, 3.0, 4.0]])]))[1]
    assert all(row["low"] == row["high"] == row["regret"] for row in line["values"])


def test_a_page_shows_its_title_and_needs_no_network(tmp_path: Path) -> None:
    sw.save_chart(sw.regret_chart(RESULTS, title="Hats & <ties>"), tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<title>Hats &amp; &lt;ties&gt;</title>" in page
    assert "cdn.jsdelivr" not in page


def test_the_specification_can_be_saved(tmp_path: Path) -> None:
    sw.save_chart(sw.regret_chart(RESULTS), tmp_path / "chart.json")
    assert json.loads((tmp_path / "chart.json").read_text())["title"]["text"] == "Cumulative regret"


def test_an_svg_has_room_for_a_legend_in_a_wider_font(tmp_path: Path) -> None:
    """A browser measures text again. An SVG without this room cut off the ends of long names."""
    chart = sw.regret_chart(RESULTS)
    sw.save_chart(chart, tmp_path / "chart.svg")
    sw.save_chart(chart, tmp_path / "chart.png", scale=1.0)
    width = int(re.findall(r'width="([0-9]+)"', (tmp_path / "chart.svg").read_text())[0])
    png_width = int.from_bytes((tmp_path / "chart.png").read_bytes()[16:20], "big")
    assert width >= png_width + 30


@pytest.mark.parametrize("name", ["chart.gif", "chart", "nowhere/chart.svg"])
def test_an_unknown_file_format_is_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(sw.BadInput, match=r"chart"):
        sw.save_chart(sw.regret_chart(RESULTS), tmp_path / name)


def test_an_empty_list_of_results_is_rejected() -> None:
    with pytest.raises(sw.BadInput, match="at least one"):
        sw.regret_chart([])


# regret on a linear axis, and styles


def test_a_linear_axis_cuts_off_the_highest_curves_and_names_them() -> None:
    chart = sw.regret_chart(RESULTS, log_regret=False, notes=["a note"])
    line = layers(chart)[1]
    assert line["encoding"]["y"]["scale"]["domain"] == [0, 2000]
    notes = chart.to_dict()["title"]["subtitle"]
    assert notes[0] == "a note"
    assert any(note.startswith("perfect: ") for note in notes)
    more = [*RESULTS, a_result("fair", [[1.0, 4.0, 20.0, 40.0]] * 2), a_result("good", [[1.0, 4.0, 20.0, 30.0]] * 2)]
    chart = sw.regret_chart(more, log_regret=False)
    assert layers(chart)[1]["encoding"]["y"]["scale"]["domain"] == [0, 180]  # three times the median curve
    assert any(note.endswith(": bad (2,000 at the end)") for note in chart.to_dict()["title"]["subtitle"])


def test_curves_can_be_dashed_and_coloured() -> None:
    chart = sw.regret_chart(RESULTS[:2], dashes={"bad": [5, 3]}, colours={"steady": "#123456"})
    encoding = layers(chart)[1]["encoding"]
    assert encoding["strokeDash"]["scale"] == {"domain": ["bad", "steady"], "range": [[5, 3], [1, 0]]}
    assert encoding["color"]["scale"]["range"][1] == "#123456"


# the other charts


def test_histograms_count_every_run_once() -> None:
    finals = {"steady": np.array([50.0, 70.0, 71.0, 10.0]), "bad": np.array([2000.0, 1.0, 1999.0, 5.0])}
    bars, medians = layers(spread_chart(finals))
    for name, values in finals.items():
        mine = [row for row in bars["values"] if row["policy"] == name]
        assert sum(row["runs"] for row in mine) == 4
        assert all(row["from"] < row["to"] for row in mine)
        assert any(row["from"] <= values.max() < row["to"] for row in mine)
    assert [row["median"] for row in medians["values"]] == [60.0, 1002.0]


def test_no_regret_has_no_histogram() -> None:
    with pytest.raises(sw.BadInput, match="positive regret"):
        spread_chart({"perfect": np.zeros(3)})


def test_the_chosen_setting_is_circled(tmp_path: Path) -> None:
    rows = [
        {"setting": "standard", "c": c, "regret": regret, "standard_error": 1.0, "chosen": regret == 20.0}
        for c, regret in ((1.0, 90.0), (10.0, 20.0), (100.0, 50.0))
    ]
    chart = choice_chart(rows, "Choice")
    assert layers(chart)[3]["transform"] == [{"filter": "datum.chosen"}]
    sw.save_chart(chart, tmp_path / "choice.svg")
    assert "Choice" in (tmp_path / "choice.svg").read_text()


def test_times_appear_next_to_those_of_the_paper_if_it_has_them() -> None:
    rows = [
        {"policy": "pb_mhb", "milliseconds": 0.001, "paper_milliseconds": 18.0},
        {"policy": "pmed", "milliseconds": 0.01, "paper_milliseconds": None},
    ]
    (points,) = layers(time_chart(rows, "Times"))
    assert [(row["policy"], row["source"]) for row in points["values"]] == [
        ("pb_mhb", "slotwise"),
        ("pb_mhb", "the paper"),
        ("pmed", "slotwise"),
    ]


def test_growth_is_drawn_in_microseconds() -> None:
    row = {"items": 10, "positions": 5, "sweeps": 2, "steps": 28, "milliseconds": 0.002}
    (points,) = layers(growth_chart([row, row | {"steps": 280}], "Growth"))
    assert points["values"][0]["microseconds"] == 2.0


def test_rank_chart_shows_the_variables_that_mix_worst() -> None:
    """Three variables of two chains: one is constant, one agrees, and in one the chains disagree entirely."""
    steps = np.tile(np.arange(100.0), (2, 1))
    apart = steps + np.array([[0.0], [1000.0]])
    draws = np.stack([np.ones((2, 100)), steps, apart], axis=2)
    ranks = np.argsort(np.argsort(draws.reshape(200, 3), axis=0, kind="stable"), axis=0).reshape(2, 100, 3) + 1.0
    ess = np.array([np.nan, 150.0, 2.0])
    zeros = np.zeros(3)
    diagnosis = Diagnosis(
        "mixing", ["fixed", "agrees", "apart"], draws, ess, ess, zeros, zeros, zeros, ranks, {}, 1, 1, 1.0
    )
    rows = _values(rank_chart(diagnosis))
    assert {row["variable"] for row in rows} == {"agrees", "apart"}
    shares = {
        (name, chain): [row["share"] for row in rows if row["variable"] == name and row["chain"] == chain]
        for name in ("agrees", "apart")
        for chain in (1, 2)
    }
    assert shares["agrees", 1] == pytest.approx([1.0] * 21)
    assert shares["apart", 1] == pytest.approx(
        [2.0] * 10 + [0.0] * 11
    )  # this chain has the entire lower half of the ranks
    assert shares["apart", 2] == pytest.approx([0.0] * 10 + [2.0] * 11)
    assert {row["variable"] for row in _values(rank_chart(diagnosis, most=1))} == {"apart"}


def test_rank_chart_leaves_out_a_variable_whose_draws_are_almost_all_equal() -> None:
    """Of 200 draws, 190 are equal in the first variable and 100 in the second. No two are equal in the others."""
    draws = np.random.default_rng(1).random((2, 100, 5))
    draws[:, 5:, 0] = draws[:, 50:, 1] = 1.0
    chart = rank_chart(a_diagnosis(["visible", "half", "a", "b", "c"], draws))
    rows, specification = _values(chart), chart.to_dict()
    assert {row["variable"] for row in rows} == {"half", "a", "b", "c"}
    assert specification["title"]["subtitle"][-1] == "not drawn, because at least 90% of the draws are equal: visible"
    upper = [row["share"] for row in rows if row["variable"] == "half" and row["rank"] >= 0.5]
    assert upper == pytest.approx([1.0] * len(upper))  # both chains have as many of the equal draws
    assert len(rank_chart(a_diagnosis(["half", "a"], draws[:, :, 1:3])).to_dict()["title"]["subtitle"]) == 2
    with pytest.raises(BadInput, match="almost all equal"):
        rank_chart(a_diagnosis(["visible"], draws[:, :, :1]))


def test_rank_chart_draws_no_axis_where_there_is_no_panel(tmp_path: Path) -> None:
    draws = np.random.default_rng(1).random((2, 100, 5))
    save_chart(rank_chart(a_diagnosis(list("abcde"), draws)), tmp_path / "ranks.svg")
    assert (tmp_path / "ranks.svg").read_text().count("X-axis titled 'rank'") == 5


def a_diagnosis(names: list[str], draws: np.ndarray) -> Diagnosis:
    size, zeros = draws.shape[2], np.zeros(len(names))
    ranks = rankdata(draws.reshape(-1, size), axis=0).reshape(draws.shape)
    return Diagnosis("mixing", names, draws, zeros + 50, zeros + 50, zeros, zeros, zeros, ranks, {}, 1, 1, 1.0)


def _values(chart) -> list[dict]:
    (rows,) = chart.to_dict()["datasets"].values()
    return rows


def test_a_learning_curve_begins_at_the_first_round_and_shows_chance() -> None:
    chart = learning_chart([(10, 0.5), (20, 0.1)], at_random=0.7, title="Learning curve of page x", notes=["a note"])
    _, line, rule, _ = layers(chart)
    assert [row["round"] for row in line["values"]] == [0, 10, 20]
    assert rule["values"][0]["regret"] == 0.7
    assert chart.to_dict()["title"]["subtitle"] == ["a note"]
    with pytest.raises(BadInput, match="no rounds to draw"):
        learning_chart([], at_random=0.7)
