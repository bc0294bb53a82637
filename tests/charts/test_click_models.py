"""The chart of a comparison of click models: its numbers are those of the comparison."""

import json
from pathlib import Path

import pytest

import slotwise as sw
from tests.inference.click_models.simulated_sessions import VISITORS, simulated


def test_the_chart_has_every_model_and_what_is_impossible(tmp_path: Path) -> None:
    fits = sw.fit_queries([simulated(VISITORS["pbm"], 4000, seed=1)], clicks="auto")
    sw.save_chart(sw.click_model_chart(fits), tmp_path / "clicks.json")
    datasets = json.loads((tmp_path / "clicks.json").read_text())["datasets"].values()
    distances = {point["model"]: point for points in datasets for point in points if "behind" in point}
    assert fits[0].comparison is not None
    for score in fits[0].comparison.scores:
        if score.model != "cascade":
            assert distances[score.model]["behind"] == pytest.approx(score.behind)
    assert "impossible" in distances["cascade"]["note"]
    sw.save_chart(sw.click_model_chart(fits), tmp_path / "clicks.svg")


def test_fits_without_a_comparison_are_refused() -> None:
    with pytest.raises(sw.BadInput, match="clicks='auto'"):
        sw.click_model_chart(sw.fit_queries([simulated(VISITORS["pbm"], 100, seed=1).query()]))
