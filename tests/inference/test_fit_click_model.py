"""The contract of click models that are fitted to a log: the fit recovers the visitors, and can be simulated."""

import importlib

import numpy as np
import pytest

import slotwise as sw
from slotwise.arrange import EMPTY
from slotwise.clickmodels._click_model import ClickModel
from slotwise.inference.click_models import fitted_models
from slotwise.logs.sessions import QuerySessions
from tests.clickmodels.test_contract import ATTRACTION, MODELS

VISITORS = 4000
FITTED = [model for model in MODELS if model.click_model in fitted_models()]


def sessions_of(model: ClickModel, seed: int, n_items: int | None = None) -> QuerySessions:
    """Displays of random items, as a log has them: the positions in the order of visitors, what is hidden as 0."""
    rng, n = np.random.default_rng(seed), n_items or model.n_items
    order = getattr(model, "order", np.arange(model.n_positions))
    displays, clicks = np.full((2, VISITORS, model.n_positions), EMPTY)
    for k in range(VISITORS):
        displays[k] = rng.permutation(n)[: model.n_positions]
        if model.click_model == "rank1":
            displays[k, np.arange(model.n_positions) != rng.integers(model.n_positions)] = EMPTY
        model.kernels.click(model.arrays(), displays[k], rng, clicks[k])
    names = [str(item) for item in range(model.n_items)]
    positions = [str(place) for place in range(model.n_positions)]
    return sw.make_sessions("q", names, positions, displays[:, order], (clicks == 1)[:, order])


@pytest.fixture(params=FITTED, ids=lambda model: f"{model.click_model}{getattr(model, 'order', '')}")
def model(request: pytest.FixtureRequest) -> ClickModel:
    return request.param


def test_every_click_model_can_be_fitted_or_says_why_not() -> None:
    query = sessions_of(MODELS[0], 0)
    for name in set(sw.clickmodels()) - {model.click_model for model in FITTED}:
        with pytest.raises(sw.BadInput, match=f"^{name} cannot be fitted to a log, because"):
            sw.fit_click_model(name, query)


def test_the_fit_recovers_the_visitors(model: ClickModel) -> None:
    """Every parameter is less than 4.5 standard errors from the truth: one false alarm in 5,000 runs of this file.

    Negative control: an attraction that is 0.2 larger is further away.
    """
    truth = model.parameters()
    module = importlib.import_module(f"slotwise.inference.click_models.{model.click_model}")
    groups = module.fit(sessions_of(model, 1)).parameters(0.9)
    assert groups
    for group in groups:
        order = getattr(model, "order", slice(None)) if group.kind == "termination" else slice(None)
        right, known = np.array(truth[group.kind])[order], np.isfinite(group.errors) & (group.errors > 0.0)
        assert known.sum() >= right.size - 1  # the largest kappa, or the termination of the last position
        away = np.abs(group.values - right)[known]
        assert (away < 4.5 * group.errors[known]).all()
        if group.kind in ("theta", "attraction"):
            assert (np.abs(group.values - right - 0.2)[known] > 4.5 * group.errors[known]).all()


def test_the_fit_can_be_simulated(model: ClickModel) -> None:
    fitted = sw.fit_click_model(model.click_model, sessions_of(model, 2))
    assert fitted.click_model == model.click_model
    assert (fitted.n_items, fitted.n_positions) == (model.n_items, model.n_positions)
    best = model.best_display()
    order = getattr(model, "order", np.arange(model.n_positions))
    assert fitted.expected_reward(best[order]) == pytest.approx(model.expected_reward(best), rel=0.1)


def test_an_item_that_was_never_shown_has_no_interval(model: ClickModel) -> None:
    query = sessions_of(model, 3, n_items=len(ATTRACTION) - 1)
    module = importlib.import_module(f"slotwise.inference.click_models.{model.click_model}")
    first = module.fit(query).parameters(0.9)[0]
    assert first.errors[-1] == np.inf
    assert first.intervals[-1].tolist() == [0.0, 1.0]


def test_each_of_a_conjunctive_and_a_rank1_log_can_be_compared_alone() -> None:
    for model in FITTED[-2:]:
        (fit,) = sw.fit_queries([sessions_of(model, 4)], clicks=model.click_model)
        assert fit.comparison is not None
        assert [score.model for score in fit.comparison.scores] == [model.click_model]
        assert not fit.comparison.scores[0].worse


def test_displays_of_other_pages_are_refused_or_impossible() -> None:
    page = sessions_of(MODELS[0], 5)
    with pytest.raises(sw.BadInput, match="query 'q' has displays with two items or more"):
        sw.fit_click_model("rank1", page)
    (fit,) = sw.fit_queries([page], clicks="conjunctive")
    assert fit.comparison is not None
    assert fit.comparison.scores[0].worse
    assert "sessions are impossible" in fit.comparison.verdict
