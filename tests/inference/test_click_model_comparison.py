"""Click models compared on held-out sessions: who wins, how surely, and in which words."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.inference.click_model_comparison import ClickModelComparison, compare_click_models
from slotwise.inference.click_models import compared_models
from slotwise.logs.sessions import make_sessions
from tests.inference.click_models.simulated_sessions import ATTRACTION, FEW, VISITORS, chain, pbm, simulated

SESSIONS = 50_000
UNDECIDABLE = {"pbm": pbm(FEW * ATTRACTION, np.ones(4)), "cascade": chain(FEW * ATTRACTION)}


def compared(model: str, seed: int) -> ClickModelComparison:
    return compare_click_models(simulated(VISITORS[model], SESSIONS, seed))


@pytest.mark.parametrize("model", compared_models())
def test_auto_finds_the_model_of_the_visitors(model: str) -> None:
    found = compared(model, seed=1)
    assert (found.chosen, found.sure) == (model, True)
    assert found.lead > 2.0
    assert found.sessions == SESSIONS
    assert {score.model for score in found.scores} == set(compared_models())
    scores = {score.model: score for score in found.scores}
    assert not scores[model].worse
    expected = (scores["cascade"].behind == np.inf) == (model != "cascade")
    assert expected


@pytest.mark.parametrize("model", UNDECIDABLE)
def test_auto_cannot_tell_models_that_agree(model: str) -> None:
    seed = {"pbm": 103, "cascade": 105}[model]  # the position-based model predicts worse here, but only by its errors
    found = compare_click_models(simulated(UNDECIDABLE[model], SESSIONS, seed))
    assert not found.sure
    assert {"pbm", "cascade"} <= set(found.tied)
    assert found.verdict.startswith("cannot tell")


@pytest.mark.statistics
@pytest.mark.parametrize("model", compared_models())
def test_auto_is_right_in_95_of_100_logs(model: str) -> None:
    found = [compared(model, 100 + seed) for seed in range(100)]
    right = sum(each.chosen == model and each.sure for each in found)
    print(f"{model}: right and sure in {right} of 100")
    assert right >= 95


@pytest.mark.statistics
@pytest.mark.parametrize("model", UNDECIDABLE)
def test_auto_cannot_tell_in_95_of_100_logs(model: str) -> None:
    found = [compare_click_models(simulated(UNDECIDABLE[model], SESSIONS, 100 + seed)) for seed in range(100)]
    unsure = sum(not each.sure and {"pbm", "cascade"} <= set(each.tied) for each in found)
    print(f"{model}: cannot tell in {unsure} of 100")
    assert unsure >= 95


def test_the_verdict_names_the_model_and_what_a_cascade_cannot_explain() -> None:
    found = compared("pbm", seed=2)
    several = f"{100 * found.several_clicks:.0f} % of sessions have two clicks or more"
    assert found.verdict.startswith("the position-based model explains this log as well as any")
    assert found.verdict.endswith(f"a cascade does not: {several}")


def test_standard_errors_are_those_of_a_bootstrap_over_sessions() -> None:
    """The error of 400 bootstrap samples has a relative error of 3.5 %; 15 % is more than 4 of these."""
    sessions = simulated(VISITORS["pbm"], 4000, seed=3)
    alone = compare_click_models(sessions, "pbm").scores[0]
    both = {score.model: score for score in compare_click_models(sessions).scores}
    from slotwise.inference import click_model_comparison as comparison

    held = {model: comparison._held_out(model, sessions) for model in ("pbm", "dbn")}
    rng = np.random.default_rng(0)
    number = rng.multinomial(4000, sessions.number / 4000, size=400)
    mean = number @ held["pbm"].log_likelihood / 4000
    gap = number @ (held["pbm"].log_likelihood - held["dbn"].log_likelihood) / 4000
    assert mean.std() == pytest.approx(alone.error, rel=0.15)
    assert gap.std() == pytest.approx(both["dbn"].behind_error, rel=0.15)
    chance = held["pbm"].chances[:, 2]
    bits = -np.log2(np.where(sessions.clicks[:, 2], chance, 1 - chance))
    perplexity = 2.0 ** (number @ bits / 4000)
    assert perplexity.std() == pytest.approx(alone.perplexity_error[2], rel=0.15)
    assert perplexity.mean() == pytest.approx(alone.perplexity[2], rel=0.01)


def test_one_impossible_session_does_not_exclude_a_cascade_but_four_do() -> None:
    rows = simulated(VISITORS["cascade"], 4000, seed=4)
    for strange, excluded in ((1, False), (3, False), (4, True)):
        displays = np.repeat(rows.displays, rows.number.astype(int), axis=0)
        clicks = np.repeat(rows.clicks, rows.number.astype(int), axis=0)
        clicks[:strange, :2] = True
        found = compare_click_models(make_sessions("q", rows.items, rows.positions, displays, clicks), "cascade")
        assert found.scores[0].impossible == strange
        assert found.scores[0].worse == excluded
        assert np.isfinite(found.scores[0].log_likelihood) != excluded


def test_few_sessions_are_not_compared() -> None:
    few = make_sessions("q", ["a", "b"], ["1", "2"], [[0, 1]] * 30, [[1, 0], [0, 0]] * 15)
    found = compare_click_models(few)
    assert found.scores == []
    assert not found.sure
    assert "too few sessions" in found.verdict


@pytest.mark.parametrize("positions", [1, 2])
def test_one_position_or_one_item_cannot_tell_models_apart(positions: int) -> None:
    rng = np.random.default_rng(5)
    displays = np.full((5000, positions), -1)
    displays[np.arange(5000), rng.integers(positions, size=5000)] = 0 if positions == 2 else rng.integers(3, size=5000)
    clicks = (rng.random((5000, positions)) < 0.2) & (displays >= 0)
    found = compare_click_models(make_sessions("q", list("abc"), list("12")[:positions], displays, clicks))
    assert {"pbm", "cascade"} <= set(found.tied)


def test_fit_queries_needs_sessions_and_a_known_model() -> None:
    query = sw.Query("hats", ["felt", "straw"], ["1", "2"], sw.Counts([[1, 1], [1, 1]], [[9, 9], [9, 9]]))
    with pytest.raises(sw.BadInput, match="query 'hats' has only counts; read the log with read_sessions"):
        sw.fit_queries([query], clicks="auto")
    with pytest.raises(sw.BadInput, match="click model"):
        sw.fit_queries([simulated(VISITORS["pbm"], 100, 0)], clicks="cascada")


def test_fit_queries_has_the_position_based_model_and_the_comparison() -> None:
    sessions = simulated(VISITORS["dcm"], 5000, seed=6)
    (plain,) = sw.fit_queries([sessions.query()])
    (fit,) = sw.fit_queries([sessions], clicks="dcm")
    assert fit.theta.tolist() == plain.theta.tolist()
    assert plain.comparison is None
    assert fit.comparison is not None
    assert [group.kind for group in fit.comparison.parameters] == ["attraction", "termination"]
    assert fit.comparison.chosen == "dcm"
