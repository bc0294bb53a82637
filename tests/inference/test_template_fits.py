"""`fit_queries(template=True)`: queries with the same positions share their kappas, and warnings say what to know."""

import re

import numpy as np
import pytest

import slotwise as sw
from slotwise.inference.estimation.batch_fit import AT_ZERO, UNOBSERVED, Batch, assess, fit_em
from slotwise.inference.fit_warnings import ITEM_TEXTS, POSITION_TEXTS
from slotwise.inference.goodness_of_fit import discoveries
from slotwise.inference.kappa_test import kappa_tests
from slotwise.paper.named_click_models import BEHAVIORAL, setting
from tests.inference.simulated_queries import simulated_query

KAPPA = [1.0, 0.48, 0.34]
POSITIONS = ["top", "side"]


def pages(views: int = 1_000, odd: dict[str, list[float]] | None = None) -> list[sw.Query]:
    """The items of the paper's eight queries with common kappas, except for the kappas of `odd` queries."""
    kappas = dict.fromkeys(BEHAVIORAL, KAPPA) | (odd or {})
    models = {name: sw.PBM(setting(name).theta, kappas[name]) for name in BEHAVIORAL}
    return [simulated_query(name, model, views, seed) for seed, (name, model) in enumerate(models.items(), 20)]


def two(name: str, clicks: list[list[int]], skips: list[list[int]], positions: list[str] = POSITIONS) -> sw.Query:
    return sw.Query(name, [f"{name} {k}" for k in range(len(clicks))], positions, sw.Counts(clicks, skips))


WHOLE = two("whole", [[90, 40], [60, 30]], [[110, 160], [140, 170]])


def test_kappas_and_errors_are_those_of_all_rows_together() -> None:
    queries = pages()
    stacked = sw.Counts(
        np.concatenate([query.counts.clicks for query in queries]),
        np.concatenate([query.counts.skips for query in queries]),
    )
    together, row = sw.fit(stacked), 0
    for query, model in zip(queries, sw.fit_queries(queries, template=True), strict=True):
        rows = slice(row, row + len(query.items))
        assert (model.name, model.items, model.positions) == query[:3]
        np.testing.assert_allclose(model.kappa, together.kappa, rtol=1e-9)
        np.testing.assert_allclose(model.kappa_error, together.kappa_error, rtol=1e-9)
        np.testing.assert_allclose(model.theta, together.theta[rows], rtol=1e-9)
        np.testing.assert_allclose(model.theta_error, together.theta_error[rows], rtol=1e-9)
        assert model.warnings == []
        row = rows.stop


def test_a_template_makes_kappas_more_precise() -> None:
    """Eight queries have about eight times the information of one. The error of each query alone is at least 1.5 times
    as large (measured: 1.8 to 4.7)."""
    for alone, shared in zip(sw.fit_queries(pages()), sw.fit_queries(pages(), template=True), strict=True):
        assert (alone.kappa_error[1:] > 1.5 * shared.kappa_error[1:]).all()


def test_queries_with_other_positions_form_another_template() -> None:
    other = simulated_query("two", sw.PBM([0.2, 0.1], [1.0, 0.5]))
    turned = simulated_query("turned", sw.PBM([0.2, 0.1, 0.3], KAPPA), positions=["position 2", "position 1", "x"])
    *fits, first, second = sw.fit_queries([*pages(), other, turned], template=True)
    assert len({id(fit.template) for fit in fits}) == 1
    assert fits[0].template is not None
    assert fits[0].template.queries == 8
    for fit, query in [(first, other), (second, turned)]:
        assert fit.template is not None
        assert (fit.template.queries, fit.template.test, fit.kappa_test) == (1, None, None)
        np.testing.assert_allclose(fit.kappa, sw.fit(query.counts).kappa, rtol=1e-9)
    assert sw.fit_queries([], template=True) == []
    assert sw.fit_queries(pages())[0].template is None


def test_the_order_of_the_queries_changes_nothing() -> None:
    odd = {"q9": [1.0, 0.9, 0.8]}
    forth = sw.fit_queries(pages(odd=odd), template=True)
    back = sw.fit_queries(pages(odd=odd)[::-1], template=True)[::-1]
    for one, other in zip(forth, back, strict=True):
        np.testing.assert_allclose(one.theta, other.theta, rtol=1e-6)
        assert one.warnings == other.warnings
        assert one.kappa_test is not None
        assert other.kappa_test is not None
        assert one.kappa_test.p_value == pytest.approx(other.kappa_test.p_value, rel=1e-4)


@pytest.mark.parametrize("prior", [0.0, 1.0])
def test_a_prior_counts_once_for_each_kappa(prior: float) -> None:
    queries = pages(50)
    stacked = sw.Counts(*(np.concatenate([getattr(q.counts, what) for q in queries]) for what in ("clicks", "skips")))
    model = sw.fit_queries(queries, prior=prior, template=True)[0]
    np.testing.assert_allclose(model.kappa, sw.fit(stacked, prior=prior).kappa, rtol=1e-9)


def test_svd_shares_kappas_without_errors() -> None:
    fits = sw.fit_queries(pages(), "svd", template=True)
    assert np.ptp([fit.kappa for fit in fits], axis=0).max() == 0.0
    assert np.abs(fits[0].kappa - KAPPA).max() < 0.05
    assert np.isnan(fits[0].kappa_interval).all()
    assert fits[0].kappa_test is not None  # the test uses the likelihood for every method


# what the counts determine


def test_a_template_links_what_a_query_alone_does_not() -> None:
    """Each item of `apart` was shown at one position only. `whole` says how visible the positions are."""
    apart = two("apart", [[90, 0], [0, 60]], [[110, 0], [0, 140]])
    alone = sw.fit_queries([apart])[0]
    assert not alone.identifiable
    first, second = sw.fit_queries([apart, WHOLE], template=True)
    assert first.identifiable
    assert second.identifiable
    assert first.warnings == []
    assert first.template is not None
    assert (first.template.linked, first.template.warnings) == (1, [])
    assert first.theta[1] == pytest.approx(0.3 / first.kappa[1], rel=1e-3)
    assert np.isfinite(first.theta_interval).all()
    assert np.isfinite(first.kappa_error).all()


def test_positions_that_no_query_links_are_reported_once() -> None:
    parts = [two("top", [[90, 0]], [[10, 0]]), two("side", [[0, 60], [0, 60]], [[0, 40], [0, 70]])]
    fits = sw.fit_queries(parts, template=True)
    assert [fit.identifiable for fit in fits] == [False, False]
    assert [fit.warnings for fit in fits] == [[], []]
    assert fits[0].template is not None
    assert "2 separate components" in fits[0].template.warnings[0]
    assert fits[0].template.test is None


def test_a_position_without_clicks_is_a_warning_of_the_template() -> None:
    dark = [two(name, [[90, 0], [60, 0]], [[110, 50], [140, 50]]) for name in "ab"]
    fits = sw.fit_queries(dark, template=True)
    assert fits[0].kappa.tolist() == [1.0, 0.0]
    assert [fit.warnings for fit in fits] == [[], []]
    assert fits[0].template is not None
    assert fits[0].template.warnings == [f"position 'side': {POSITION_TEXTS[AT_ZERO]}"]


def test_a_position_without_clicks_in_one_query_only_is_no_problem() -> None:
    small = two("small", [[9, 0], [12, 0]], [[11, 5], [18, 5]])
    alone, shared = sw.fit_queries([small])[0], sw.fit_queries([small, WHOLE], template=True)[0]
    assert alone.kappa[1] == 0.0
    assert shared.kappa[1] > 0.3
    assert shared.warnings == ["item 'small 0': fewer than 10 clicks, a rough estimate"]


def test_queries_with_too_little_data() -> None:
    silent = two("silent", [[0, 0], [0, 0]], [[5, 5], [0, 0]])
    fit, whole = sw.fit_queries([silent, WHOLE], template=True)
    assert fit.theta[0] == 0.0
    assert fit.kappa_test is None
    assert [warning.partition(":")[2].strip() for warning in fit.warnings] == [
        ITEM_TEXTS[AT_ZERO],
        ITEM_TEXTS[UNOBSERVED],
    ]
    np.testing.assert_allclose(whole.kappa, sw.fit(WHOLE.counts).kappa, rtol=1e-9)


def test_an_item_that_was_never_shown_gets_the_mean_of_its_own_query() -> None:
    new = two("new", [[9, 4], [0, 0], [12, 6]], [[91, 96], [0, 0], [88, 94]])
    fit, _ = sw.fit_queries([new, WHOLE], template=True)
    assert fit.theta[1] == pytest.approx(fit.theta[[0, 2]].mean())
    assert fit.theta_error[1] == np.inf
    assert not fit.identifiable


@pytest.mark.parametrize("seed", range(40))
def test_any_counts_can_be_fitted(seed: int) -> None:
    """Counts of any size, cells that are empty, never clicked or always clicked, and fractions, as faded counts have.
    A warning of numpy would fail the test."""
    rng = np.random.default_rng(seed)
    n_positions, queries = int(rng.integers(1, 5)), []
    for k in range(int(rng.integers(1, 6))):
        shape = int(rng.integers(1, 5)), n_positions
        views = rng.integers(0, rng.choice([2, 50, 10_000, 10**9]), shape) * rng.choice([0.0, 0.37, 1.0], shape)
        clicks = np.floor(views * rng.choice([0.0, 0.5, 1.0, rng.random()], shape))
        positions = [f"position {place}" for place in range(n_positions)]
        items = [str(item) for item in range(shape[0])]
        queries.append(sw.Query(f"q{k}", items, positions, sw.Counts(clicks, views - clicks)))
    for method in ("em", "svd"):
        for fit in sw.fit_queries(queries, method, template=True):
            assert ((fit.theta >= 0.0) & (fit.theta <= 1.0)).all()
            assert ((fit.kappa >= 0.0) & (fit.kappa <= 1.0)).all()
            assert fit.template is not None
            for test in (fit.kappa_test, fit.template.test):
                assert test is None or (0.0 <= test.p_value <= 1.0 and np.isfinite(test.size))


# do the kappas differ?


def test_queries_with_the_same_kappas_get_no_warning() -> None:
    fits = sw.fit_queries(pages(), template=True)
    assert fits[0].template is not None
    assert fits[0].template.test is not None
    assert fits[0].template.test.p_value > 0.05
    assert fits[0].template.test.degrees == pytest.approx(14)
    assert (fits[0].template.warnings, fits[0].template.differing) == ([], [])
    assert not fits[0].template.different_kappas


def test_the_query_with_other_kappas_is_named_and_no_other() -> None:
    """q8 has other kappas and most of the clicks, so it changes the common kappas a lot. Negative control: without
    exclusion, other queries stand out too (next test)."""
    fits = sw.fit_queries(pages(odd={"q8": [1.0, 0.18, 0.1]}), template=True)
    template = fits[0].template
    assert template is not None
    assert template.differing == ["q8"]
    assert [fit.name for fit in fits if fit.other_kappas] == ["q8"]
    (warning,) = template.warnings
    assert template.different_kappas
    assert "1 of 8 stands out: query 'q8'" in warning
    (own,) = fits[5].warnings
    assert re.search(r"position 'position [12]' has kappa 0\.1\d* instead of 0\.[234]", own)
    assert fits[5].kappa_test is not None
    assert fits[5].kappa_test.size > 0.3


def test_without_exclusion_other_queries_would_stand_out() -> None:
    counts = [query.counts for query in pages(odd={"q8": [1.0, 0.18, 0.1]})]
    rows = sw.Counts(*(np.concatenate([getattr(each, what) for each in counts]) for what in ("clicks", "skips")))
    joint = Batch.of([rows])
    fit_em(joint, 0.0)
    assess(joint)
    assert discoveries(kappa_tests(joint, Batch.of(counts).offsets)[1].p_value).sum() > 1


def test_two_queries_that_differ_are_both_named() -> None:
    queries = [query for query in pages(5_000, odd={"q8": [1.0, 0.18, 0.1]}) if query.name in ("q8", "q1")]
    fits = sw.fit_queries(queries, template=True)
    assert fits[0].template is not None
    assert set(fits[0].template.differing) == {"q1", "q8"}


def test_bayes_has_no_template() -> None:
    with pytest.raises(sw.BadInput, match="use em or svd"):
        sw.fit_queries(pages(), "bayes", template=True)


def test_progress_counts_the_queries_of_each_template() -> None:
    done: list[int] = []
    other = simulated_query("two", sw.PBM([0.2, 0.1], [1.0, 0.5]))
    sw.fit_queries([*pages(), other], template=True, progress=done.append)
    assert done == [8, 9]
