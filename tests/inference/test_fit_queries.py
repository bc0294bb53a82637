"""`fit_queries`: each query is fitted separately, warnings name items, and order and threads change nothing."""

import doctest
import re

import numpy as np
import pytest

import slotwise as sw
from slotwise.inference import fit_queries as queries_module
from slotwise.inference.estimation.batch_fit import AT_ZERO, UNOBSERVED
from slotwise.inference.fit_warnings import FEW_ITEM_CLICKS, FEW_POSITION_CLICKS, ITEM_TEXTS, POSITION_TEXTS
from slotwise.inference.query_posteriors import MIN_ESS, seed_of
from slotwise.paper.named_click_models import BEHAVIORAL, setting
from tests.inference.simulated_queries import query_with_rates, simulated_query

POSITIONS = ["top", "side"]
POOR = "a position-based model does not fit"


def papers(views: int = 2_000) -> list[sw.Query]:
    return [simulated_query(name, setting(name), views, seed) for seed, name in enumerate(BEHAVIORAL)]


def fit_one(clicks: list[list[int]], skips: list[list[int]], method: str = "em", **settings: object) -> sw.QueryFit:
    items = ["hat", "tie", "bag"][: len(clicks)]
    query = sw.Query("hats", items, POSITIONS[: len(clicks[0])], sw.Counts(clicks, skips))
    return sw.fit_queries([query], method, **settings)[0]


@pytest.mark.parametrize("method", ["em", "svd"])
def test_each_query_is_fitted_separately(method: str) -> None:
    queries = [*papers(), simulated_query("two positions", sw.PBM([0.2, 0.1], [1.0, 0.5]))]
    for query, model in zip(queries, sw.fit_queries(queries, method), strict=True):
        alone = sw.fit(query.counts, method)
        assert (model.name, model.items, model.positions, model.method) == (*query[:3], method)
        np.testing.assert_allclose(model.theta, alone.theta, atol=1e-13)
        np.testing.assert_allclose(model.kappa, alone.kappa, atol=1e-13)
        np.testing.assert_allclose(model.theta_error, alone.theta_error, rtol=1e-9)
        assert model.displays == query.counts.displays
        assert model.clicks == query.counts.clicks.sum()
    assert sw.fit_queries([]) == []


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_are_those_of_the_level(level: float) -> None:
    (query,) = papers()[:1]
    (model,), alone = sw.fit_queries([query], level=level), sw.fit(query.counts)
    np.testing.assert_allclose(model.theta_interval, alone.intervals(level).theta)
    np.testing.assert_allclose(model.kappa_interval, alone.intervals(level).kappa)
    assert model.kappa_interval[0].tolist() == [1.0, 1.0]
    assert model.level == level


def test_svd_gives_no_errors() -> None:
    for model in sw.fit_queries(papers(), "svd"):
        assert np.isnan(model.theta_error).all()
        assert np.isnan(model.theta_interval).all()
        assert np.isnan(model.kappa_interval).all()
        assert model.goodness_of_fit is not None  # the test uses the likelihood for every method


def test_a_prior_of_em_is_that_of_fit() -> None:
    (query,) = papers(50)[:1]
    (model,) = sw.fit_queries([query], prior=1.0)
    np.testing.assert_allclose(model.theta, sw.fit(query.counts, prior=1.0).theta, atol=1e-13)


def test_a_fit_is_a_model_with_names() -> None:
    model = fit_one([[400, 200], [200, 100], [900, 450]], [[600, 800], [800, 900], [100, 550]])
    assert isinstance(model, sw.PBM)
    assert model.best == {"top": "bag", "side": "hat"}
    assert sw.simulate("oracle", model, rounds=10, runs=1, threads=1).mean()[-1] == 0.0


def test_the_example_runs() -> None:
    assert doctest.testmod(queries_module) == (0, 3)


def test_the_batch_size_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, done = sw.fit_queries([*papers(), interacting("moody", 0.3, seed=1)]), []
    monkeypatch.setattr(queries_module, "_BATCH_SIZE", 3)
    batches = sw.fit_queries([*papers(), interacting("moody", 0.3, seed=1)], progress=done.append)
    for expected, model in zip(whole, batches, strict=True):
        np.testing.assert_array_equal(model.theta, expected.theta)
        assert (model.warnings, model.goodness_of_fit) == (expected.warnings, expected.goodness_of_fit)
    assert done == [3, 6, 8, 9]


def test_progress_counts_queries() -> None:
    done: list[int] = []
    sw.fit_queries([*papers(), simulated_query("two", sw.PBM([0.2, 0.1], [1.0, 0.5]))], progress=done.append)
    assert done == [8, 9]


# warnings, by name


WHOLE = [[90, 90], [90, 90]]


@pytest.mark.parametrize(
    ("clicks", "skips", "warning"),
    [
        pytest.param([[90, 0], [0, 60]], [[10, 0], [0, 40]], "2 separate components", id="components"),
        pytest.param([[90, 60], [0, 0]], [[90, 90], [50, 50]], f"item 'tie': {ITEM_TEXTS[AT_ZERO]}", id="no clicks"),
        pytest.param([[90, 60], [0, 0]], [[90, 90], [0, 0]], f"item 'tie': {ITEM_TEXTS[UNOBSERVED]}", id="not shown"),
        pytest.param([[90, 0], [80, 0]], WHOLE, f"position 'side': {POSITION_TEXTS[AT_ZERO]}", id="without clicks"),
        pytest.param(
            [[90, 60], [5, 4], [3, 2]],
            [*WHOLE, [90, 90]],
            "items 'tie', 'bag': fewer than 10 clicks",
            id="few of items",
        ),
        pytest.param([[90, 30], [90, 19]], WHOLE, "position 'side': fewer than 50 clicks", id="few at a position"),
    ],
)
def test_warnings_name_what_they_are_about(clicks: list[list[int]], skips: list[list[int]], warning: str) -> None:
    assert any(warning in line for line in fit_one(clicks, skips).warnings)


def test_items_and_positions_with_enough_clicks_get_no_warning() -> None:
    least = fit_one([[40, 45], [5, 5], [5, 5]], [[900, 900], [900, 900], [900, 900]])
    assert (FEW_ITEM_CLICKS, FEW_POSITION_CLICKS) == (10, 50)
    assert least.counts.clicks.sum(axis=0).tolist() == [50, 55]
    assert least.warnings == []


def test_an_item_has_at_most_one_warning() -> None:
    """An item without clicks also has fewer than 10 clicks; only one warning names it."""
    warnings = fit_one([[90, 60], [0, 0]], [[90, 90], [50, 50]]).warnings
    assert sum("'tie'" in warning for warning in warnings) == 1


def test_a_warning_is_one_line_for_any_names() -> None:
    items = [f"a name\nof {'very ' * 50} many letters, number {k}" for k in range(200)]
    model = sw.PBM(np.full(200, 0.001), [1.0, 0.5])
    (fitted,) = sw.fit_queries([simulated_query("q", model, 5, items=items)])
    assert fitted.warnings
    for warning in fitted.warnings:
        assert "\n" not in warning
        assert len(warning) < 1_000
    assert any("and 1" in warning for warning in fitted.warnings)


# goodness of fit of the position-based model


def interacting(name: str, off: float, seed: int, views: int = 20_000) -> sw.Query:
    """Rates that are not a product of theta and kappa: hats are clicked at the top, ties at the side."""
    rates = 0.1 * np.array([[1 + off, 1 - off], [1 - off, 1 + off]])
    return query_with_rates(name, rates, views, seed, ["hat", "tie"], POSITIONS)


def test_the_warning_of_a_poor_fit_has_its_size_and_its_cell() -> None:
    queries = [*papers(), interacting("moody", 0.3, seed=1)]
    *others, moody = sw.fit_queries(queries)
    assert not any(POOR in warning for model in others for warning in model.warnings)
    (warning,) = moody.warnings
    assert warning.startswith(POOR)
    assert re.search(r"\(p = \S+\).* (29|30|31) %.* '(hat|tie)' at '(top|side)': 0\.\d+ instead of 0\.\d+", warning)
    assert moody.goodness_of_fit is not None
    assert moody.goodness_of_fit.degrees == 1
    assert moody.goodness_of_fit.size == pytest.approx(0.3, abs=0.02)


def test_a_small_deviation_is_reported_without_a_warning() -> None:
    (model,) = sw.fit_queries([interacting("nearly", 0.01, seed=2, views=10_000_000)])
    assert model.goodness_of_fit is not None
    assert model.goodness_of_fit.p_value < 1e-9
    assert model.goodness_of_fit.size < 0.02
    assert model.warnings == []


def test_warnings_of_many_queries_stay_rare() -> None:
    """Law: 400 queries for which the PBM is true.

    The probability of at least one warning is 5 % (measured: at most) and that of three or more below 1 in 1,000.
    Negative control: without the correction there would be 20 warnings.
    """
    fits = sw.fit_queries([simulated_query(f"q{k}", setting("q9"), 1_000, seed=k) for k in range(400)])
    warned = sum(POOR in warning for model in fits for warning in model.warnings)
    assert warned < 3
    assert sum(model.goodness_of_fit.p_value < 0.05 for model in fits if model.goodness_of_fit) > 5


def test_too_few_clicks_for_a_test() -> None:
    assert fit_one([[3, 2], [2, 1]], [[9, 9], [9, 9]]).goodness_of_fit is None
    assert fit_one([[300], [200]], [[900], [900]]).goodness_of_fit is None  # with one position a PBM fits any rates


# bayes


def few_bayes(**settings: object) -> list[sw.QueryFit]:
    return sw.fit_queries(papers()[:3], "bayes", **settings)


def test_bayes_agrees_with_em_where_clicks_are_many() -> None:
    """Means are within two posterior standard deviations of the estimates; interval widths agree within a quarter."""
    for bayes, em in zip(few_bayes(), sw.fit_queries(papers()[:3]), strict=True):
        assert bayes.ess >= MIN_ESS
        assert (np.abs(bayes.theta - em.theta) < 2 * em.theta_error).all()
        width, expected = np.ptp(bayes.theta_interval, axis=1), np.ptp(em.theta_interval, axis=1)
        assert (np.abs(width / expected - 1) < 0.25).all()
        assert ((bayes.theta_interval[:, 0] < bayes.theta) & (bayes.theta < bayes.theta_interval[:, 1])).all()
        assert bayes.kappa_interval[0].tolist() == [1.0, 1.0]
        assert bayes.kappa_error[0] == 0.0
        assert bayes.warnings == em.warnings == []


def test_order_threads_and_other_queries_do_not_change_the_draws() -> None:
    queries = papers(200)[:3]
    together = sw.fit_queries(queries, "bayes", threads=2, seed=5)
    backwards = sw.fit_queries(queries[::-1], "bayes", threads=1, seed=5)[::-1]
    alone = [sw.fit_queries([query], "bayes", seed=5)[0] for query in queries]
    other = sw.fit_queries(queries, "bayes", seed=6)
    for k, model in enumerate(together):
        np.testing.assert_array_equal(model.theta, backwards[k].theta)
        np.testing.assert_array_equal(model.theta_interval, alone[k].theta_interval)
        assert not np.array_equal(model.theta, other[k].theta)


def test_seeds_differ_by_name_and_by_seed() -> None:
    assert len({seed_of(seed, name) for seed in range(20) for name in ("a", "b", "1 a", "\udcff")}) == 80


def test_an_effective_sample_size_below_the_target_gives_a_warning_and_no_interval() -> None:
    """400 draws, one per sweep, have an effective sample size below 400: some variable has no interval, and a warning
    names it."""
    model, quiet = few_bayes(draws=400, budget=1)[0], few_bayes()[0]
    missing = np.isnan(model.theta_interval).any(axis=1)
    assert missing.any()
    assert np.isnan(model.theta_error[missing]).all()
    assert np.isfinite(model.theta).all()
    (warning,) = [each for each in model.warnings if "not ready" in each]
    assert "400" in warning
    assert all(repr(name) in warning for name, gone in zip(model.items, missing, strict=True) if gone)
    assert not np.isnan(quiet.theta_interval).any()


def test_bayes_warns_of_items_that_only_the_prior_determines() -> None:
    model = fit_one([[90, 60], [0, 0], [0, 0]], [[90, 90], [50, 50], [0, 0]], "bayes")
    assert any(re.match("item 'bag': never shown.*prior", warning) for warning in model.warnings)
    assert any(warning.startswith("item 'tie': fewer than 10 clicks") for warning in model.warnings)
    assert 0 < model.theta[1] < model.theta_interval[1, 1] < 0.2


def test_bayes_gives_no_interval_where_kappa_is_1_only_by_convention() -> None:
    """Each item was shown at a position of its own, so that nothing compares the positions."""
    model = fit_one([[90, 0], [0, 60]], [[10, 0], [0, 40]], "bayes")
    assert np.isnan(model.kappa_interval).all()
    assert np.isnan(model.kappa_error).all()
    assert model.kappa.tolist() == [1.0, 1.0]
    assert np.isfinite(model.theta_interval).all()
    assert [warning for warning in model.warnings if "not ready" in warning] == []


def test_progress_of_bayes_is_reported_after_each_query() -> None:
    done: list[int] = []
    few_bayes(progress=done.append)
    assert done == [1, 2, 3]


# invalid input


COUNTS = sw.Counts([[1, 2]], [[3, 4]])
GOOD = sw.Query("q", ["hat"], POSITIONS, COUNTS)


@pytest.mark.parametrize(
    ("queries", "settings", "message"),
    [
        ([COUNTS], {}, r"query 0 is .*; .*Query\(name, items, positions, counts\)"),
        ([GOOD._replace(counts=None)], {}, "query 0 is Query"),
        ([GOOD._replace(items=["a", "b"])], {}, r"query 'q' names 2 items and 2 positions; its counts are \(1, 2\)"),
        ([GOOD, GOOD], {}, "query 'q' is given twice"),
        ([GOOD], {"method": "bays"}, "unknown method 'bays'; did you mean 'bayes'?"),
        ([GOOD], {"level": 90}, "level = 90 is not between 0 and 1"),
        ([GOOD], {"level": 90, "method": "bayes"}, "level = 90 is not between 0 and 1"),
        ([GOOD], {"fill": "two", "method": "svd"}, "unknown fill 'two'"),
        ([GOOD], {"prior": -1}, "prior = -1 is not"),
        ([GOOD], {"prior": "flat", "method": "bayes"}, "unknown prior 'flat'"),
        ([GOOD], {"draws": 100, "method": "bayes"}, "draws = 100 is not a whole number of at least 400"),
        ([GOOD], {"budget": 0, "method": "bayes"}, "budget = 0 is not a whole number"),
        ([GOOD], {"seed": -1, "method": "bayes"}, "seed = -1 is not a whole number"),
        ([GOOD], {"threads": 0, "method": "bayes"}, "threads = 0 is not a whole number"),
    ],
)
def test_bad_input_is_rejected(queries: list[sw.Query], settings: dict[str, object], message: str) -> None:
    with pytest.raises(sw.BadInput, match=message):
        sw.fit_queries(queries, **settings)
