"""`slotwise evaluate`."""

from pathlib import Path

import pytest

from tests.inference.off_policy.exported_log import expected, log_lines, without, write

ORDER = "scarf,hat,tie"
ESTIMATORS = ("model", "inverse_propensity", "self_normalised", "doubly_robust")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """4,000 random displays and 4,000 learnt ones."""
    return write(tmp_path_factory.mktemp("logs") / "log.ndjson", log_lines(4000, 4000))


def test_all_estimates_of_an_order_are_near_the_truth(log: str, tmp_path: Path, slotwise) -> None:
    """The log has a fixed seed. Intervals of level 0.999 contain the truth, and are not so wide that any number would
    fit."""
    chart = tmp_path / "evaluation.svg"
    result = slotwise("evaluate", log, "--order", ORDER, "--level", "0.999", "--chart", str(chart), "--json").json()
    assert result["page"] == "shop"
    assert result["weighted"] == "holdout"
    for what in ("clicks", "value"):
        found, truth = result[what], expected(ORDER, what == "value")
        for name in ESTIMATORS:
            assert found[name]["low"] < truth < found[name]["high"], (what, name)
            assert found[name]["high"] - found[name]["low"] < truth
        assert found["displays"] == 4000
        assert found["cannot_tell"] == ""
        assert found["logged"]["learnt"]["value"] > found["logged"]["holdout"]["value"]
    assert "doubly robust" in chart.read_text()


def test_the_table_lists_all_estimates(log: str, slotwise) -> None:
    text = slotwise("evaluate", log, "--order", ORDER).stdout
    for label in ("the log itself: learnt", "model", "inverse propensity", "self-normalised", "doubly robust"):
        assert label in text
    assert "effective sample size" in text


def test_a_policy_learns_from_one_half_and_is_evaluated_on_the_other(log: str, slotwise) -> None:
    best, uniform = (
        slotwise("evaluate", log, "--policy", policy, "--level", "0.999", "--json").json()["clicks"]
        for policy in ("slot_ts", "uniform")
    )
    truth = expected("hat,scarf,bag")
    for name in ESTIMATORS:
        assert best[name]["low"] < truth < best[name]["high"], name
    assert best["doubly_robust"]["low"] > best["logged"]["holdout"]["high"]
    # uniform is what the holdout does: its weights are 1, so its estimate is what the holdout earned
    assert uniform["inverse_propensity"]["value"] == pytest.approx(uniform["logged"]["holdout"]["value"], rel=0.02)
    assert uniform["effective_displays"] == pytest.approx(12_000, rel=0.02)


def test_parquet_and_filters_give_the_same(log: str, tmp_path: Path, slotwise) -> None:
    import pyarrow
    from pyarrow import parquet

    path, pages = tmp_path / "log.parquet", tmp_path / "pages.ndjson"
    lines = log_lines(4000, 4000)
    parquet.write_table(pyarrow.Table.from_pylist(lines), path)
    others = log_lines(50, 0, seed=1, page="blog") + log_lines(50, 0, seed=2, layout="mobile")
    both = write(pages, lines + others)
    arguments = ["--order", ORDER, "--json"]
    result = slotwise("evaluate", log, *arguments).json()
    assert slotwise("evaluate", str(path), *arguments).json() == result
    assert slotwise("evaluate", both, *arguments, "--page", "shop", "--layout", "default").json() == result
    slotwise("evaluate", both, *arguments).assert_refused("blog, shop", "--page")
    slotwise("evaluate", both, *arguments, "--page", "shop").assert_refused("default, mobile", "--layout")


def test_without_propensities_only_the_model_answers(tmp_path: Path, slotwise) -> None:
    path = write(tmp_path / "log.ndjson", without(log_lines(800, 0), "propensity", "bucket", "value"))
    result = slotwise("evaluate", path, "--order", ORDER, "--level", "0.999", "--json").json()
    assert result["clicks"]["cannot_tell"] == "the log has no propensities"
    assert result["clicks"]["doubly_robust"] is None
    assert result["clicks"]["model"]["low"] < expected(ORDER) < result["clicks"]["model"]["high"]
    assert "value" not in result
    text = slotwise("evaluate", path, "--order", ORDER)
    assert "only the position-based model can tell" in text.stdout
    assert "same visitor" in text.stderr


def test_a_display_without_a_propensity_is_not_weighted(tmp_path: Path, slotwise) -> None:
    """One line without a propensity excludes its display, not only its position. Discarded displays do not count."""
    lines = log_lines(2000, 0)
    lines[0]["propensity"] = None
    lines += [line | {"shown": 0, "clicked": 0} for line in log_lines(300, 0, seed=3)]
    result = slotwise("evaluate", write(tmp_path / "log.ndjson", lines), "--order", ORDER, "--json").json()
    assert result["clicks"]["displays"] == 1999


def test_it_refuses_where_the_log_cannot_tell(tmp_path: Path, slotwise) -> None:
    few = write(tmp_path / "few.ndjson", log_lines(20, 0))
    slotwise("evaluate", few, "--order", ORDER).assert_refused("cannot tell", "clicks")
    learnt = write(tmp_path / "learnt.ndjson", log_lines(0, 2000))
    result = slotwise("evaluate", learnt, "--order", "tie,hat,bag", "--json").json()["clicks"]
    assert result["cannot_tell"].startswith("the log never shows 'tie' at 'hero'")
    assert result["inverse_propensity"] is None


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], ["--order", "--policy"]),
        (["--order", ORDER, "--policy", "greedy"], ["--order", "--policy"]),
        (["--order", "hat,scarf"], ["2 items", "hero, left, right"]),
        (["--order", "hat,hat,bag"], ["'hat'", "twice"]),
        (["--order", "hat,scarf,sock"], ["'sock'", "hat"]),
        (["--order", "hat,,bag"], ["--order"]),
        (["--policy", "best"], ["'best'", "slot_ts"]),
        (["--policy", "pmed"], ["pmed", "cannot serve"]),
        (["--order", ORDER, "--level", "1.5"], ["level"]),
        (["--order", ORDER, "--variant", "random"], ["'random'", "holdout"]),
        (["--order", ORDER, "--page", "nothing"], ["no display is left"]),
        (["--order", ORDER, "--where", "segment"], ["--where"]),
        (["--order", ORDER, "--chart", "chart.gif"], [".svg"]),
    ],
)
def test_bad_options(arguments: list[str], named: list[str], tmp_path: Path, slotwise) -> None:
    slotwise("evaluate", write(tmp_path / "log.ndjson", log_lines(40, 0)), *arguments).assert_refused(*named)


def test_bad_logs(tmp_path: Path, slotwise) -> None:
    order = ["--order", ORDER]
    slotwise("evaluate", str(tmp_path / "none.ndjson"), *order).assert_refused("none.ndjson")
    wrong = write(tmp_path / "wrong.ndjson", log_lines(40, 0, propensity=1.5))
    slotwise("evaluate", wrong, *order).assert_refused("1.5")
    negative = write(tmp_path / "negative.ndjson", log_lines(400, 0, value=-1.0))
    slotwise("evaluate", negative, *order).assert_refused("negative")
    nameless = write(tmp_path / "nameless.ndjson", [*log_lines(400, 0), *without(log_lines(1, 0, seed=9), "display")])
    slotwise("evaluate", nameless, *order).assert_refused("3 of 1,203 lines", details=True)
    assert slotwise("evaluate", nameless, *order, "--max-bad", "3").exit_code == 0
