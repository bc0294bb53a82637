"""Charts of regret divided by that of one policy show the measured ratios."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slotwise.charts import ratio_chart
from slotwise.checks import BadInput
from slotwise.simulation.result import Result
from tests.charts.test_charts import a_result, layers

BASE = a_result("pb_mhb", [[0.0, 4.0, 20.0, 50.0], [0.0, 6.0, 30.0, 70.0]])
CLOSE = a_result("close", [[1.0, 5.0, 25.0, 60.0], [1.0, 6.0, 30.0, 72.0]])
FAR = a_result("far", [[2.0, 20.0, 200.0, 2000.0]] * 2)
PERFECT = a_result("perfect", [[0.0, 0.0, 0.0, 0.0]] * 2)


def rows(chart: Any, policy: str) -> list[dict[str, Any]]:
    return [row for row in layers(chart)[1]["values"] if row["policy"] == policy]


def notes(chart: Any) -> str:
    return " | ".join(chart.to_dict()["title"]["subtitle"])


def test_a_curve_is_the_paired_ratio_with_its_standard_error() -> None:
    chart = ratio_chart([BASE, CLOSE])
    expected = CLOSE.ratio(BASE)
    close = rows(chart, "close")
    assert [row["round"] for row in close] == [10, 100, 1000]  # at round 1 the baseline has lost nothing
    assert [row["ratio"] for row in close] == expected.value[1:].tolist() == [1.1, 1.1, 1.1]
    assert [row["error"] for row in close] == expected.standard_error[1:].tolist()
    assert [row["high"] - row["low"] for row in close] == pytest.approx(2 * expected.standard_error[1:])
    assert all(row["low"] == row["ratio"] == row["high"] == 1.0 for row in rows(chart, "pb_mhb"))
    assert "paired run by run" in notes(chart)
    assert layers(chart)[1]["encoding"]["x"]["scale"]["type"] == "log"


def test_the_axis_shows_the_curves_near_the_baseline_and_a_note_names_the_others() -> None:
    chart = ratio_chart([FAR, BASE, CLOSE, PERFECT])
    low, high = layers(chart)[1]["encoding"]["y"]["scale"]["domain"]
    assert 0.9 < low <= 1.0
    assert 1.1 < high < 1.5
    assert "above the top of the axis: far" in notes(chart)
    assert "perfect: no regret" in notes(chart)
    assert rows(chart, "perfect") == []
    _, alone = layers(ratio_chart([FAR, BASE]))[1]["encoding"]["y"]["scale"]["domain"]
    assert alone > 2000 / 60  # the only other curve is never cut off


def test_the_axis_is_logarithmic_if_the_last_values_differ_much() -> None:
    worse = a_result("worse", [[0.0, 0.0, 80.0, 312.0]] * 2)  # 5.2 times the regret of the baseline at the end
    chart = ratio_chart([BASE, CLOSE, worse, FAR])
    scale = layers(chart)[1]["encoding"]["y"]["scale"]
    assert scale["type"] == "log"
    assert 0.4 < scale["domain"][0] < 1.0
    assert 5.2 < scale["domain"][1] < 10
    assert "far (33.3 at the end)" in notes(chart)
    assert "worse (" not in notes(chart)
    assert [row["round"] for row in rows(chart, "worse")] == [100, 1000]  # no regret before, which has no logarithm
    assert all(row["low"] > 0.0 for row in layers(chart)[0]["values"])
    twice = a_result("twice", [[0.0, 5.0, 50.0, 144.0]] * 2)  # 2.4 times
    scale = layers(ratio_chart([BASE, CLOSE, twice]))[1]["encoding"]["y"]["scale"]
    assert "type" not in scale
    assert 2.4 < scale["domain"][1] < 3.0


def test_a_note_names_the_curves_that_leave_the_axis_before_the_end() -> None:
    rounds = np.array([1, 10, 100, 100_000])  # the axis fits the rounds from 100 on
    wild = a_result("wild", [[0.0, 40.0, 25.0, 60.0], [0.0, 30.0, 30.0, 72.0]])
    chart = ratio_chart([replace(one, rounds=rounds) for one in (BASE, CLOSE, wild)])
    assert layers(chart)[1]["encoding"]["y"]["scale"]["domain"][1] < 2.0
    assert "partly outside the axis in rounds up to 10: wild" in notes(chart).split(" | ")
    assert "outside" not in notes(ratio_chart([BASE, CLOSE]))


def test_the_baseline_is_pb_mhb_or_the_first_or_the_given_one() -> None:
    for results, labels, baseline, used in [
        ([CLOSE, BASE], None, None, "pb_mhb"),
        ([CLOSE, BASE], ["a", "b"], None, "a"),
        ([CLOSE, BASE], ["a", "b"], "b", "b"),
    ]:
        chart = ratio_chart(results, labels, baseline=baseline)
        assert all(row["ratio"] == 1.0 for row in rows(chart, used))
        assert layers(chart)[1]["encoding"]["y"]["title"] == f"regret / regret of {used}"


@pytest.mark.parametrize(
    ("results", "baseline", "says"),
    [
        ([], None, "at least one"),
        ([BASE, CLOSE], "clsoe", "unknown baseline 'clsoe'; did you mean 'close'"),
        ([BASE, PERFECT], "perfect", "perfect has no regret"),
    ],
)
def test_a_ratio_that_does_not_exist_is_refused(results: list[Result], baseline: str | None, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        ratio_chart(results, baseline=baseline)


def test_other_visitors_are_not_paired_and_only_common_checkpoints_are_drawn() -> None:
    short = replace(CLOSE, seed=1, rounds=np.array([10, 50, 1000]), regret=CLOSE.regret[:, 1:])
    chart = ratio_chart([BASE, short])
    assert [row["round"] for row in rows(chart, "close")] == [10, 1000]
    first = rows(chart, "close")[0]
    assert first["ratio"] == pytest.approx(5.5 / 5.0)
    assert first["error"] == pytest.approx(1.1 * np.hypot(0.5 / 5.5, 1.0 / 5.0))  # relative errors of both
    assert "paired" not in notes(chart)


def test_a_single_run_has_no_band() -> None:
    once = [replace(one, regret=one.regret[:1]) for one in (BASE, CLOSE)]
    assert all(row["low"] == row["high"] for row in rows(ratio_chart(once), "close"))
