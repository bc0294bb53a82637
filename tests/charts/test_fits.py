"""The chart of fits shows the fitted values, for one query, a few and many."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slotwise as sw
from slotwise.charts.fits import MAX_ITEMS, MAX_QUERIES

HOSTILE = "</script><b>x</b> 'quoted' \"twice\" ${1+1} \\ \x00\x07\n{{datum}} " + "long " * 20


def fits(how_many: int, n_items: int = 3, method: str = "em", name: str = "query") -> list[sw.QueryFit]:
    rng = np.random.default_rng(how_many)
    queries = []
    for k in range(how_many):
        clicks = rng.binomial(500, np.outer(np.linspace(0.3, 0.1, n_items), [1.0, 0.4 + 0.2 * rng.random(), 0.2]))
        items = [f"{name} {k} item {j}" for j in range(n_items)]
        queries.append(sw.Query(f"{name} {k}", items, ["hero", "left", "right"], sw.Counts(clicks, 500 - clicks)))
    return sw.fit_queries(queries, method)


def panels_of(chart: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The panels of theta and the panel of kappa, each layer with its rows."""
    spec = chart.to_dict()
    above, below = spec["vconcat"]
    source = above.get("data", spec.get("data"))  # Altair stores data shared by several charts one level up
    for panel in [*above["concat"], below]:
        for layer in panel["layer"]:
            data = layer.get("data") or panel.get("data") or source
            layer["values"] = data["values"] if "values" in data else spec["datasets"][data["name"]]
    return above["concat"], below


def notes(chart: Any) -> str:
    return "; ".join(chart.to_dict()["title"]["subtitle"])


def test_a_panel_has_the_items_from_the_most_attractive_one_down() -> None:
    (one,) = fits(1)
    (panel,), kappas = panels_of(sw.fit_chart(one))
    rule, point = panel["layer"]
    assert [row["theta"] for row in point["values"]] == sorted(one.theta.tolist(), reverse=True)
    assert [[row["low"], row["high"]] for row in rule["values"]] == one.theta_interval[np.argsort(-one.theta)].tolist()
    assert rule["encoding"]["x"]["field"] == "low"
    assert rule["encoding"]["x2"]["field"] == "high"
    assert panel["title"]["text"] == "query 0"
    whiskers, line = kappas["layer"]
    assert [row["kappa"] for row in line["values"]] == one.kappa.tolist()
    assert [row["low"] for row in whiskers["values"]] == one.kappa_interval[:, 0].tolist()
    assert line["encoding"]["x"]["sort"] == ["hero", "left", "right"]


def test_few_queries_have_a_panel_and_a_line_each_and_a_median() -> None:
    chart = sw.fit_chart(fits(8))
    panels, kappas = panels_of(chart)
    assert [panel["title"]["text"] for panel in panels] == [f"query {k}" for k in range(8)]
    lines, median = kappas["layer"]
    assert len({row["query"] for row in lines["values"]}) == 8
    hero, left, _ = (row["q50"] for row in median["values"])
    assert hero == 1.0
    assert left == pytest.approx(np.median([fit.kappa[1] for fit in fits(8)]))
    assert "queries" not in notes(chart)


def test_of_many_queries_the_first_have_panels_and_kappa_has_quantiles() -> None:
    many = fits(20)
    chart = sw.fit_chart(many)
    panels, kappas = panels_of(chart)
    assert len(panels) == MAX_QUERIES
    assert "the first 12 of 20 queries" in notes(chart)
    row = kappas["layer"][0]["values"][1]
    values = [fit.kappa[1] for fit in many]
    assert [row["q5"], row["q50"], row["q95"]] == pytest.approx(np.quantile(values, [0.05, 0.5, 0.95]).tolist())
    assert row["queries"] == 20


def test_of_many_items_the_most_attractive_ones_are_shown() -> None:
    chart = sw.fit_chart(fits(2, n_items=30))
    assert all(len(panel["layer"][1]["values"]) == MAX_ITEMS for panel in panels_of(chart)[0])
    assert "12 most attractive items" in notes(chart)


def test_a_note_says_that_svd_has_no_intervals() -> None:
    chart = sw.fit_chart(fits(1, method="svd"))
    assert "no intervals" in notes(chart)
    assert {row["low"] for row in panels_of(chart)[0][0]["layer"][0]["values"]} == {None}


def test_a_note_says_that_queries_share_their_kappas() -> None:
    separate = fits(3)
    queries = [sw.Query(fit.name, fit.items, fit.positions, fit.counts) for fit in separate]
    assert "share their kappas" in notes(sw.fit_chart(sw.fit_queries(queries, template=True)))
    assert "share their kappas" not in notes(sw.fit_chart(separate))


def test_positions_that_only_some_queries_have() -> None:
    short = sw.fit_queries([sw.Query("short", ["a", "b"], ["left"], sw.Counts([[9], [5]], [[9], [9]]))])
    _, kappas = panels_of(sw.fit_chart([*fits(13), *short]))
    assert [row["queries"] for row in kappas["layer"][0]["values"]] == [13, 14, 13]


@pytest.mark.parametrize(("how_many", "suffix"), [(2, ".svg"), (13, ".png"), (2, ".html")])
def test_any_name_can_be_drawn(how_many: int, suffix: str, tmp_path: Path) -> None:
    sw.save_chart(sw.fit_chart(fits(how_many, name=HOSTILE), title=HOSTILE[:40]), tmp_path / f"fits{suffix}")
    content = (tmp_path / f"fits{suffix}").read_bytes()
    assert len(content) > 1_000
    if suffix == ".svg":
        assert b"<b>x</b>" not in content
        assert b"\x07" not in content


def test_names_with_the_same_short_form_stay_distinct() -> None:
    panels, _ = panels_of(sw.fit_chart(fits(1, name="x" * 200)))
    assert len({row["row"] for row in panels[0]["layer"][1]["values"]}) == 3


def test_an_empty_list_of_fits_is_rejected() -> None:
    with pytest.raises(sw.BadInput, match="no fits to draw"):
        sw.fit_chart([])
    with pytest.raises(sw.BadInput, match=r"PBM.*QueryFit"):
        sw.fit_chart([sw.PBM([0.5], [1.0])])  # type: ignore[list-item]
