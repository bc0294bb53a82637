"""Files of fits: a saved fit loads unchanged, and unknown numbers are null."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

import slotwise as sw
from slotwise.inference.fit_files import select_fit
from slotwise.paper.named_click_models import setting
from tests.inference.simulated_queries import simulated_query

ODD = "a \"name\"\n<b>of</b> ☃ [red] 'letters'"


def fits(method: str = "em") -> list[sw.QueryFit]:
    """Fits with unknown standard errors: one item without clicks, one without displays."""
    odd = sw.Query(
        ODD, ["hat", ODD, "bag"], ["top", "side"], sw.Counts([[9, 6], [0, 0], [0, 0]], [[9, 9], [5, 5], [0, 0]])
    )
    return sw.fit_queries([simulated_query("q10", setting("q10")), odd], method)


@pytest.mark.parametrize("method", ["em", "svd", "bayes"])
def test_saved_fits_load_unchanged(method: str, tmp_path: Path) -> None:
    before = fits(method)
    sw.save_fits(before, tmp_path / "params.json")
    after = sw.load_fits(tmp_path / "params.json")
    for old, new in zip(before, after, strict=True):
        for field in sw.QueryFit.__dataclass_fields__:
            was, is_ = getattr(old, field), getattr(new, field)
            if field == "counts":
                np.testing.assert_array_equal(was.clicks, is_.clicks)
                np.testing.assert_array_equal(was.skips, is_.skips)
                assert was.displays == is_.displays
            elif isinstance(was, np.ndarray):
                np.testing.assert_array_equal(np.where(np.isinf(was), np.nan, was), is_)
                assert is_.dtype == np.float64
            else:
                assert was == is_ or (was != was and is_ != is_), field
    assert isinstance(after[0], sw.PBM)


def test_templates_are_saved_once_and_shared_after_loading(tmp_path: Path) -> None:
    model = setting("q10")
    queries = [simulated_query(f"q{k}", model, seed=k) for k in range(3)]
    queries.append(simulated_query("odd", sw.PBM(model.theta, [1.0, 0.9, 0.1]), seed=3))
    queries.append(simulated_query("two", sw.PBM([0.2, 0.1], [1.0, 0.5])))
    before = sw.fit_queries(queries, template=True)
    sw.save_fits(before, tmp_path / "params.json")
    body = json.loads((tmp_path / "params.json").read_text())["body"]
    assert [template["queries"] for template in body["templates"]] == [4, 1]
    assert [query["template"] for query in body["queries"]] == [0, 0, 0, 0, 1]
    after = sw.load_fits(tmp_path / "params.json")
    assert [(fit.template, fit.kappa_test) for fit in after] == [(fit.template, fit.kappa_test) for fit in before]
    assert after[0].template is after[3].template
    assert after[3].template is not None
    assert after[3].template.differing == ["odd"]
    assert after[3].other_kappas
    sw.save_fits(before[4:], tmp_path / "part.json")  # a part of the fits has only its own template
    assert sw.load_fits(tmp_path / "part.json")[0].template == before[4].template


def test_a_file_without_templates_or_with_a_wrong_number(tmp_path: Path) -> None:
    sw.save_fits(fits(), tmp_path / "params.json")
    document = json.loads((tmp_path / "params.json").read_text())
    del document["body"]["templates"]
    for query in document["body"]["queries"]:
        del query["template"], query["kappa_test"]  # as slotwise 0.1.0 wrote it
    (tmp_path / "old.json").write_text(json.dumps(document))
    assert [fit.template for fit in sw.load_fits(tmp_path / "old.json")] == [None, None]
    document["body"]["queries"][0]["template"] = 3
    (tmp_path / "wrong.json").write_text(json.dumps(document))
    with pytest.raises(sw.BadInput, match=r"damaged.*'q10'.*template = 3 is not one of the 0 templates"):
        sw.load_fits(tmp_path / "wrong.json")


def test_the_file_has_its_format_and_null_for_unknown_numbers(tmp_path: Path) -> None:
    sw.save_fits(fits(), tmp_path / "params.json")
    document = json.loads((tmp_path / "params.json").read_text(), parse_constant=pytest.fail)
    assert (document["format"], document["version"]) == ("slotwise-fit", 1)
    _, odd = document["body"]["queries"]
    assert odd["theta_error"][1:] == [None, None]
    assert odd["theta_low"][1:] == [None, None]
    assert odd["ess"] is None
    assert odd["misfit"] is None
    assert document["body"]["queries"][0]["misfit"]["degrees"] == 10
    assert sum(document["body"]["queries"][0]["misfit"]["item"] == f"item {k}" for k in range(6)) == 1


def test_the_table_has_a_row_for_each_theta_and_kappa(tmp_path: Path) -> None:
    before = fits()
    sw.save_fits(before, tmp_path / "fits.parquet")
    rows = parquet.read_table(tmp_path / "fits.parquet").to_pylist()
    assert len(rows) == 6 + 3 + 3 + 2
    assert [row["name"] for row in rows if row["query"] == ODD] == ["hat", ODD, "bag", "top", "side"]
    kappas = [row for row in rows if row["query"] == "q10" and row["kind"] == "kappa"]
    assert [row["value"] for row in kappas] == before[0].kappa.tolist()
    assert [[row["low"], row["high"]] for row in kappas] == before[0].kappa_interval.tolist()
    assert [row["error"] for row in kappas] == before[0].kappa_error.tolist()
    assert [row["clicks"] for row in kappas] == before[0].counts.clicks.sum(axis=0).tolist()
    assert {row["shown"] for row in kappas} == {12_000.0}
    assert {(row["method"], row["level"], row["identifiable"]) for row in kappas} == {("em", 0.9, True)}
    never = next(row for row in rows if row["name"] == "bag")
    assert (never["error"], never["low"], never["high"], never["clicks"], never["shown"]) == (None, None, None, 0, 0)


@pytest.mark.parametrize("suffix", [".json", ".parquet"])
def test_an_empty_list_of_fits_can_be_saved(suffix: str, tmp_path: Path) -> None:
    sw.save_fits([], tmp_path / f"none{suffix}")
    assert suffix == ".parquet" or sw.load_fits(tmp_path / "none.json") == []


def test_a_fit_is_selected_by_its_name(tmp_path: Path) -> None:
    both = fits()
    sw.save_fits(both, tmp_path / "params.json")
    assert select_fit(both, ODD, "query=") is both[1]
    assert select_fit(both[0], None, "query=") is both[0]
    assert select_fit(tmp_path / "params.json", "q10", "query=").name == "q10"
    many = [both[0]] * 7
    for source, query, message in [
        (both, None, r"2 queries \('q10', .*\).* query="),
        (many, None, r"7 queries \('q10', 'q10', 'q10', 'q10', 'q10', \.\.\.\)"),
        (both, "q11", "'q11'.* 2 .*'q10', "),
        ([], None, "no fits"),
        (5, None, "5 is int.*QueryFit"),
        ([sw.PBM([0.1], [1.0])], None, "is PBM.*QueryFit"),
    ]:
        with pytest.raises(sw.BadInput, match=message) as caught:
            select_fit(source, query, "query=")  # type: ignore[arg-type]
        assert "\n" not in str(caught.value)


def damaged(tmp_path: Path, **changes: object) -> str:
    """The error message for a file in which some fields of the first query were changed."""
    path = tmp_path / "params.json"
    sw.save_fits(fits(), path)
    document = json.loads(path.read_text())
    document["body"]["queries"][0].update(changes)
    path.write_text(json.dumps(document))
    with pytest.raises(sw.BadInput) as caught:
        sw.load_fits(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_damaged_file_is_rejected(tmp_path: Path) -> None:
    assert "query 'q10': theta[0] = 1.5 is not in [0, 1]" in damaged(tmp_path, theta=[1.5, 0, 0, 0, 0, 0])
    assert "theta has 1 numbers instead of 6" in damaged(tmp_path, theta=[0.5])
    assert "kappa_low has 1 numbers instead of 3" in damaged(tmp_path, kappa_low=[None])
    assert "clicks" in damaged(tmp_path, clicks=[[1, 2, 3]])
    assert "clicks has the shape (1, 1) instead of (6, 3)" in damaged(tmp_path, clicks=[[1]], skips=[[1]])
    assert "damaged slotwise fit" in damaged(tmp_path, items=7)


def test_foreign_files_and_names_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text('{"theta": [0.5], "kappa": [1]}')
    with pytest.raises(sw.BadInput, match="is not a saved slotwise fit"):
        sw.load_fits(tmp_path / "m.json")
    sw.Counts([[1]], [[1]]).save(tmp_path / "counts.json")
    with pytest.raises(sw.BadInput, match="is a 'slotwise-counts' file; a 'slotwise-fit' file is needed"):
        sw.load_fits(tmp_path / "counts.json")
    with pytest.raises(sw.BadInput, match=r"the name must end in one of \.json, \.parquet"):
        sw.save_fits(fits(), tmp_path / "fits.csv")
    with pytest.raises(sw.BadInput, match="'h' is str"):
        sw.save_fits("hats", tmp_path / "fits.json")  # type: ignore[arg-type]
