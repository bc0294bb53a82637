"""`fit`: its result, its warnings, and arbitrary counts."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from slotwise.checks import BadInput
from slotwise.cli._fit_table import print_fits
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.inference.estimation.batch_fit import AT_ONE, AT_ZERO, UNDETERMINED, UNOBSERVED
from slotwise.inference.estimation.fit import Fit, fit, fit_many
from slotwise.inference.estimation.svd import Fill, svd
from slotwise.inference.fit_warnings import ITEM_TEXTS, POSITION_TEXTS
from slotwise.inference.query_fit import QueryFit
from slotwise.paper.named_click_models import BEHAVIORAL, setting

METHODS = ["em", "svd"]
PAGE = Path(__file__).parents[3] / "docs" / "fitting.md"


def exact(theta, kappa, views=1000.0) -> Counts:
    clicks = views * np.outer(theta, kappa)
    return Counts(clicks, views - clicks)


def check_properties(model: Fit) -> None:
    """Check the properties that every fit must have, for any counts."""
    for value, error, ends in [
        (model.theta, model.theta_error, model.intervals().theta),
        (model.kappa, model.kappa_error, model.intervals().kappa),
    ]:
        assert ((value >= 0) & (value <= 1)).all()
        assert not (error < 0).any()
        assert ((ends[:, 0] <= value) & (value <= ends[:, 1]) & (ends[:, 1] <= 1)).all()
    # with svd, the largest kappa may come from the fill, at an unobserved position
    assert model.kappa.max() == 1.0 or (model.method == "svd" and not model.identifiable)
    assert not np.isnan(model.log_likelihood)
    assert model.identifiable or model.warnings


@pytest.mark.parametrize("method", METHODS)
def test_exact_rates_are_recovered(method: str) -> None:
    truth = setting("standard")
    model = fit(exact(truth.theta, truth.kappa), method)
    np.testing.assert_allclose(model.theta, truth.theta, rtol=0, atol=1e-9 if method == "em" else 1e-12)
    np.testing.assert_allclose(model.kappa, truth.kappa, rtol=0, atol=1e-9 if method == "em" else 1e-12)
    assert model.identifiable
    assert model.warnings == []
    check_properties(model)


def test_the_most_visible_position_need_not_be_the_first() -> None:
    model = fit(exact([0.3, 0.2, 0.1], [0.1, 1.0, 0.4]))
    np.testing.assert_allclose(model.kappa, [0.1, 1.0, 0.4], atol=1e-9)
    assert model.kappa_error[1] == 0.0
    assert (model.kappa_error[[0, 2]] > 0).all()


def test_a_fit_is_a_model() -> None:
    model = fit(exact([0.1, 0.3, 0.2], [1.0, 0.5]))
    assert isinstance(model, PBM)
    assert model.best_display().tolist() == [1, 2]
    assert model.expected_clicks(model.best_display()) == pytest.approx(0.4)
    assert isinstance(model.shuffled(np.random.default_rng(0)), PBM)


def test_fewer_items_than_positions_can_be_fitted() -> None:
    model = fit(exact([0.4, 0.2], [1.0, 0.5, 0.25]))
    np.testing.assert_allclose(model.kappa, [1.0, 0.5, 0.25], atol=1e-9)
    assert model.best_display().tolist() == [0, 1, -1]


@pytest.mark.parametrize("options", [{}, {"prior": 1.0}, {"method": "svd"}, {"method": "svd", "fill": "mean"}])
def test_fitting_many_queries_together_gives_the_same_fits(options: dict[str, object]) -> None:
    rng = np.random.default_rng(0)
    queries = []
    for n_items, n_positions in [(4, 3), (2, 2), (4, 3), (6, 3), (1, 1), (3, 4)]:
        views = rng.integers(0, 60, (n_items, n_positions))
        clicks = rng.binomial(views, rng.random((n_items, n_positions)))
        queries.append(Counts(clicks, views - clicks))
    for counts, model in zip(queries, fit_many(queries, **options), strict=True):
        alone = fit(counts, **options)
        np.testing.assert_allclose(model.theta, alone.theta, atol=1e-13)
        np.testing.assert_allclose(model.kappa_error, alone.kappa_error, rtol=1e-9)
        assert (model.passes, model.warnings) == (alone.passes, alone.warnings)
        check_properties(model)
    assert fit_many([]) == []


def test_svd_is_the_estimate_of_the_paper() -> None:
    rng = np.random.default_rng(1)
    clicks, skips = rng.integers(1, 20, (5, 3)).astype(float), rng.integers(1, 90, (5, 3)).astype(float)
    model = fit(Counts(clicks, skips), "svd", fill="mean")
    theta, kappa = svd(clicks, skips, Fill.MEAN)
    np.testing.assert_array_equal(model.theta, np.minimum(theta, 1.0))  # a model has probabilities
    np.testing.assert_array_equal(model.kappa, np.minimum(kappa, 1.0))
    assert model.kappa[0] == 1.0
    assert np.isnan(model.theta_error).all()


def test_both_methods_agree_on_the_papers_queries() -> None:
    """The paper: "both inference processes lead to similar values"; here for its 8 queries with 1e5 views each."""
    for name in BEHAVIORAL:
        truth = setting(name)
        clicks = np.random.default_rng(2).binomial(100_000, np.outer(truth.theta, truth.kappa))
        em, paper = (fit(Counts(clicks, 100_000 - clicks), method) for method in METHODS)
        np.testing.assert_allclose(em.theta, paper.theta, rtol=0.05, atol=1e-3)
        np.testing.assert_allclose(em.kappa, paper.kappa, atol=0.02)
        assert em.log_likelihood >= paper.log_likelihood


def test_a_prior_pulls_estimates_towards_one_half() -> None:
    counts = Counts([[2, 1], [1, 0]], [[8, 9], [9, 10]])
    plain, mild, strong = (fit(counts, prior=prior) for prior in (0.0, 1.0, 1e6))
    assert plain.kappa[1] < mild.kappa[1] < strong.kappa[1]
    np.testing.assert_allclose(strong.theta, 0.25, atol=1e-4)  # 1/2 times a kappa of 1/2, scaled to 1
    assert plain.log_likelihood > mild.log_likelihood > strong.log_likelihood


def items(names: str, state: int) -> str:
    """The warning about items in this state."""
    return f"item{'s'[: ',' in names]} {names}: {ITEM_TEXTS[state]}"


def position(name: int, state: int) -> str:
    """The warning about a position in this state."""
    return f"position {name}: {POSITION_TEXTS[state]}"


def degenerate(clicks, skips, *warned: str, identifiable: bool = False, **options: object) -> Fit:
    model = fit(Counts(clicks, skips), **options)
    check_properties(model)
    assert model.identifiable is identifiable
    for text in warned:
        assert any(text in warning for warning in model.warnings), (text, model.warnings)
    assert bool(warned) or model.warnings == []
    return model


@pytest.mark.parametrize("method", METHODS)
class TestDegenerate:
    def test_an_unobserved_item(self, method: str) -> None:
        model = degenerate([[4, 2], [0, 0], [2, 1]], [[6, 8], [0, 0], [8, 9]], items("1", UNOBSERVED), method=method)
        assert model.theta[1] == pytest.approx((model.theta[0] + model.theta[2]) / 2)
        assert np.isinf(model.theta_error[1])
        assert model.components[0].tolist() == [0, -1, 0]

    def test_no_counts(self, method: str) -> None:
        model = degenerate(np.zeros((2, 2)), np.zeros((2, 2)), items("0, 1", UNOBSERVED), method=method)
        assert model.log_likelihood == 0.0

    def test_no_clicks(self, method: str) -> None:
        model = degenerate(np.zeros((3, 2)), np.ones((3, 2)), items("0, 1, 2", AT_ZERO), method=method)
        assert model.theta.tolist() == [0, 0, 0]
        assert model.log_likelihood == 0.0

    def test_all_clicks(self, method: str) -> None:
        model = degenerate(
            np.ones((3, 2)), np.zeros((3, 2)), items("0, 1, 2", AT_ONE), method=method, identifiable=True
        )
        np.testing.assert_allclose(model.theta, 1.0)
        np.testing.assert_allclose(model.kappa, 1.0)

    def test_no_clicks_at_a_position(self, method: str) -> None:
        model = degenerate([[4, 0], [2, 0]], [[6, 9], [8, 9]], position(1, AT_ZERO), method=method, identifiable=True)
        assert model.kappa.tolist() == [1.0, 0.0]
        np.testing.assert_allclose(model.theta, [0.4, 0.2])

    def test_no_clicks_at_the_first_position(self, method: str) -> None:
        model = degenerate([[0, 4], [0, 2]], [[9, 6], [9, 8]], position(0, AT_ZERO), method=method, identifiable=True)
        np.testing.assert_allclose(model.kappa, [0.0, 1.0], atol=1e-12)
        np.testing.assert_allclose(model.theta, [0.4, 0.2])

    def test_two_components(self, method: str) -> None:
        model = degenerate([[4, 0], [0, 3]], [[6, 0], [0, 7]], "2 separate components", method=method)
        assert model.components[0].tolist() == [0, 1]
        assert model.components[1].tolist() == [0, 1]
        if method == "em":  # svd uses the fill between the components
            np.testing.assert_allclose(model.theta, [0.4, 0.3])
            np.testing.assert_allclose(model.kappa, [1.0, 1.0])

    def test_one_position(self, method: str) -> None:
        model = degenerate([[3], [1]], [[7], [9]], method=method, identifiable=True)
        np.testing.assert_allclose(model.theta, [0.3, 0.1])

    def test_one_item(self, method: str) -> None:
        model = degenerate([[4, 2]], [[6, 8]], method=method, identifiable=True)
        np.testing.assert_allclose(np.outer(model.theta, model.kappa), [[0.4, 0.2]])

    def test_as_many_items_as_positions_and_ties(self, method: str) -> None:
        model = fit(Counts(np.full((3, 3), 2), np.full((3, 3), 8)), method)
        check_properties(model)
        assert model.identifiable
        np.testing.assert_allclose(np.outer(model.theta, model.kappa), 0.2)


def test_a_position_without_clicks_links_no_items() -> None:
    """Items 0 and 1 share only position 1, which has no clicks: the scale is free in each half."""
    model = degenerate([[4, 0, 0], [0, 0, 3]], [[6, 9, 0], [0, 9, 7]], "cannot be separated", position(1, AT_ZERO))
    np.testing.assert_allclose(model.theta, [0.4, 0.3])
    np.testing.assert_allclose(model.kappa, [1.0, 0.0, 1.0])


def test_an_item_shown_only_at_positions_without_clicks_is_undetermined() -> None:
    model = degenerate([[4, 0], [0, 0]], [[6, 9], [0, 9]], items("1", UNDETERMINED))
    assert model.theta[1] == pytest.approx(0.4)
    assert np.isinf(model.theta_error[1])


def test_a_value_that_approaches_its_bound_reaches_it() -> None:
    """One value approaches 1 while the others compensate: if every step were cut at 1, EM would never converge."""
    clicks, skips = [[1000, 0, 0], [0, 1000, 1]], [[1, 1, 0], [0, 2, 0]]
    model = degenerate(clicks, skips, items("1", AT_ONE), identifiable=True)
    assert model.passes < 20


def test_a_likelihood_that_rises_up_to_the_bound() -> None:
    """Item 0 has a click rate of 0.9 at position 1, and no display at position 0, which is more visible: theta is 1."""
    model = degenerate([[0, 90], [50, 30]], [[0, 10], [50, 70]], items("0", AT_ONE), identifiable=True)
    assert model.theta[0] == 1.0
    assert np.isnan(model.theta_error[0])


def counts_of(values: st.SearchStrategy[float]) -> st.SearchStrategy[Counts]:
    shapes = st.tuples(st.integers(1, 5), st.integers(1, 5))
    return shapes.flatmap(
        lambda shape: st.builds(
            Counts, arrays(np.float64, shape, elements=values), arrays(np.float64, shape, elements=values)
        )
    )


WHOLE = st.integers(0, 4) | st.sampled_from([0, 0, 1000])
ANY = st.floats(0, 1e9) | st.just(0.0)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(counts_of(WHOLE.map(float)), st.sampled_from([0.0, 0.5, 1.0]))
def test_the_fit_of_any_whole_counts_converges(counts: Counts, prior: float) -> None:
    for model in [fit(counts, prior=prior), fit(counts, "svd"), fit(counts, "svd", fill="mean")]:
        check_properties(model)
        assert not any("converge" in warning for warning in model.warnings)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(counts_of(ANY), st.sampled_from([0.0, 1e-9, 1.0]))
def test_any_counts_give_a_model(counts: Counts, prior: float) -> None:
    check_properties(fit(counts, prior=prior))
    check_properties(fit(counts, "svd"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "emm"}, "unknown method 'emm'; did you mean 'em'?"),
        ({"method": "svd", "fill": "two"}, "unknown fill 'two'"),
        ({"prior": -1}, "prior = -1 is not a finite number of at least 0"),
        ({"prior": float("nan")}, "prior = nan"),
        ({"prior": True}, "prior = True"),
    ],
)
def test_bad_settings_are_rejected(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=re.escape(message)):
        fit(Counts([[1]], [[1]]), **arguments)


def test_bad_counts_and_levels_are_rejected() -> None:
    with pytest.raises(BadInput, match=r"query 1 is list; .*Counts"):
        fit_many([Counts([[1]], [[1]]), [[1, 2]]])
    with pytest.raises(BadInput, match=r"level = 90 is not between 0 and 1"):
        fit(Counts([[1]], [[1]])).intervals(90)


def test_the_code_of_the_documentation_page_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(first, PAGE.name, "exec"), names)
    assert capsys.readouterr().out.splitlines()[-1] == "[0 1 2] True []"
    for code in others:  # each block continues the previous one
        if "log.queries" in code:
            continue  # these blocks need a log that a command of the page writes; tests/docs/test_examples.py runs all
        exec(compile(code, PAGE.name, "exec"), names)
    assert (tmp_path / "params.json").is_file()
    capsys.readouterr()
    print_fits(names["fits"])  # type: ignore[arg-type]
    (table,) = re.findall(r"```\n(hats: .*?)```", PAGE.read_text(), flags=re.DOTALL)
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert table.splitlines() == printed[: len(table.splitlines())]
    assert "fits.parquet" in {path.name for path in tmp_path.iterdir()}
    for field in {**Fit.__dataclass_fields__, **QueryFit.__dataclass_fields__}:
        assert f"`{field}`" in PAGE.read_text(), field
