"""The displays of a page with a fresh ensemble have the law of Thompson sampling, or of the policy's plan.

Law: the display of one request to each of 2,000 pages, whose ensembles are made independently from the same counts, is
compared with the best display under every fifth of 20,000 draws of `posterior`, taken as independent, by a
chi-squared test of homogeneity over the six displays of two out of three items. The threshold is that of a false-alarm
rate of 1 in 10,000. Negative control: ensembles made from half of the counts must fail.
"""

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest
from scipy.stats import chi2

import slotwise as sw
from slotwise.inference.sampling.draw_budget import DRAWS
from slotwise.policies import policies
from slotwise.policies._ensemble_source import EnsembleSource, ensemble_source
from slotwise.policies._policy_module import can_serve, find, learns, make_params, serving_params
from slotwise.service.pages.page_definition import NO_PAGE, ItemSpec, PageSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.pages.recommendation_request import RecommendationRequest
from slotwise.service.store.records import CellCounts, PageCounts, StoredPage

CLICKS, SKIPS = np.array([[12, 5], [9, 6], [6, 5]]), np.array([[28, 25], [31, 34], [34, 35]])
FALSE_ALARM = 1e-4
PARAMS = {"bc_mpts": {"kappa": "svd"}, "pbm_ts": {"kappa": "em"}, "pbm_ucb": {"kappa": "em"}}
SERVING = [name for name in policies() if can_serve(find(name)) and learns(find(name))]


def page(seed: int, weight: float = 1.0, policy: str = "slot_ts", **spec: Any) -> PageModel:
    """A page whose counts are those above times a weight, with a fresh ensemble."""
    cells = [
        CellCounts(item, 0, position, weight * CLICKS[item, position], weight * SKIPS[item, position])
        for item in range(3)
        for position in range(2)
    ]
    body = NO_PAGE.with_spec(PageSpec(positions=["one", "two"], policy=policy, **spec))
    stored, items = StoredPage(1, "shop", 1, False, 0, 0.0, body), [(name, ItemSpec()) for name in "abc"]
    model = PageModel(stored, items, PageCounts(cells, 130.0 * weight, 0), np.random.default_rng(seed))
    choose(model)  # a page that was never asked for makes no draws
    refresh(model, seed)
    return model


def refresh(model: PageModel, seed: int) -> None:
    model.install(model.begin_refresh().run(np.random.default_rng([seed, 1])))


def choose(model: PageModel, **request: Any) -> tuple[int, ...]:
    display = model.choose(RecommendationRequest(**request), "view", 0, 0.0)
    return tuple(entry.item for entry in display.entries)


def homogeneity(first: Counter[tuple[int, ...]], second: Counter[tuple[int, ...]]) -> float:
    """The p-value of the chi-squared test that two samples of displays have the same law."""
    table = np.array([[sample[display] for display in first | second] for sample in (first, second)], np.float64)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return float(chi2.sf(((table - expected) ** 2 / expected).sum(), table.shape[1] - 1))


@pytest.fixture(scope="module")
def thompson() -> Counter[tuple[int, ...]]:
    draws = sw.posterior(sw.Counts(CLICKS, SKIPS), draws=20_000, prior="falling")
    ranked, places = np.argsort(-draws.theta, axis=1), np.argsort(-draws.kappa, axis=1)
    displays = np.empty_like(places)
    np.put_along_axis(displays, places, ranked[:, :2], axis=1)
    return Counter(map(tuple, displays[::5].tolist()))


def test_displays_of_fresh_ensembles_have_the_law_of_thompson_sampling(thompson: Counter[tuple[int, ...]]) -> None:
    shown = Counter(choose(page(seed)) for seed in range(2_000))
    assert homogeneity(shown, thompson) > FALSE_ALARM


def test_ensembles_from_half_of_the_counts_do_not_have_this_law(thompson: Counter[tuple[int, ...]]) -> None:
    shown = Counter(choose(page(seed, weight=0.5)) for seed in range(2_000))
    assert homogeneity(shown, thompson) < FALSE_ALARM


def test_slot_ids_shows_its_plan_or_draws() -> None:
    """Without Thompson sampling, only the two planned displays are shown; with constraints, the best items follow."""
    pages = (
        page(seed, weight=0.2, policy="slot_ids", params={"thompson": 0.0, "unlikely": 0.0}) for seed in range(100)
    )
    plans = ((model, *model._learner._ensemble.plans.values()) for model in pages)
    model, plan = next((model, plan) for model, plan in plans if 0.1 < plan.until[0] < 0.9)
    displays = [tuple(display) for display in plan.displays.tolist()]
    assert plan.until[1] == pytest.approx(1.0)
    shown = Counter(choose(model) for _ in range(400))
    assert set(shown) == set(displays)
    assert shown[displays[0]] == pytest.approx(400 * plan.until[0], abs=50)  # 5 standard deviations at most
    excluded = displays[0][0]
    without = choose(model, excluded=["abc"[excluded]])
    assert excluded not in without
    assert len(without) == 2
    thompson = page(0, weight=0.1, policy="slot_ids", params={"thompson": 1.0})
    assert len({choose(thompson) for _ in range(200)}) > 2


def test_slot_ids_always_shows_a_draw_with_an_unlikely_item() -> None:
    """Only these displays are shown besides the planned ones, each as often as a draw has it: 2,000 displays, five
    standard errors. In the plan of `slot_ids` itself, a test compares the shares with a plain implementation."""
    pages = (page(seed, policy="slot_ids", params={"thompson": 0.0, "unlikely": 0.3}) for seed in range(100))
    plans = ((model, *model._learner._ensemble.plans.values()) for model in pages)
    model, plan = next((model, plan) for model, plan in plans if 5 <= sum(plan.draw_chances) < 40)
    assert set(plan.draw_chances) == {0.0, 1.0}
    scores = model._learner._ensemble.scores
    best = Counter[tuple[int, ...]]()
    for draw, chance in enumerate(plan.draw_chances):
        if chance == 1.0:
            items, first = np.argsort(-scores.theta[draw])[:2], scores.kappa[draw, 1] >= scores.kappa[draw, 2]
            best[tuple(items.tolist() if first else items[::-1].tolist())] += 1
    planned = {tuple(display) for display in plan.displays.tolist()}
    shown = Counter(choose(model) for _ in range(2_000))
    assert set(shown) <= planned | set(best)
    for display in set(best) - planned:
        p = best[display] / len(plan.draw_chances)
        assert abs(shown[display] / 2_000 - p) < 5 * (p * (1 - p) / 2_000) ** 0.5


@pytest.mark.parametrize("policy", SERVING)
def test_every_policy_that_learns_serves_from_an_ensemble(policy: str) -> None:
    model = page(0, policy=policy, params=PARAMS.get(policy, {}))
    ensemble = model._learner._ensemble
    assert not ensemble.warming
    assert len(ensemble.beta) == {"greedy": 1, "pbm_ucb": 8}.get(policy, DRAWS)
    assert np.isfinite(ensemble.scores.theta).all()
    assert np.isfinite(ensemble.scores.kappa).all()
    assert len(choose(model)) == 2
    model.set_items([(3, "d", ItemSpec())])
    assert len(choose(model)) == 2
    refresh(model, 1)
    assert model._learner._ensemble.n_items == 4


@pytest.mark.parametrize("policy", ["slot_ts", "pb_mhb", "pbm_ts"])
def test_draws_follow_the_counts_through_several_refreshes(policy: str) -> None:
    """The mean click probabilities are those of the counts, also when a chain continues on other counts."""
    module, rng, memory = find(policy), np.random.default_rng(4), None
    source: EnsembleSource = ensemble_source(module)
    params = make_params(module, serving_params(module, PARAMS.get(policy, {})), None)
    for scale in (10.0, 10.3, 40.0):
        counts = sw.Counts(scale * CLICKS, scale * SKIPS).arrays()
        draws, memory = source.draw(params, counts, memory, scale == 40.0, rng)
        chances = np.einsum("mi,ml->il", draws.theta, draws.kappa) / len(draws.theta)
        wanted = CLICKS / (CLICKS + SKIPS)
        np.testing.assert_allclose(chances, wanted, atol=0.06)


@pytest.mark.parametrize(("before", "after"), [(["one", "two", "three"], ["one"]), (["one"], ["one", "two", "three"])])
def test_a_plan_for_an_earlier_layout_is_never_shown(before: list[str], after: list[str]) -> None:
    """The positions change while a plan for the earlier ones is made. Such a plan has too many or too few items, and
    the kernel that shows it checks no bounds."""
    spec = PageSpec(positions=before, policy="slot_ids", params={"unlikely": 0.0})
    body = NO_PAGE.with_spec(PageSpec(positions=["one", "two", "three"])).with_spec(spec)
    items = [(name, ItemSpec()) for name in "abcde"]
    stored = StoredPage(1, "shop", 1, False, 0, 0.0, body)
    model = PageModel(stored, items, PageCounts([], 0.0, 0), np.random.default_rng(0))
    choose(model)
    job = model.begin_refresh()
    assert model.redefine(stored._replace(body=body.with_spec(msgspec.structs.replace(spec, positions=after))))
    model.install(job.run(np.random.default_rng(1)))
    for _ in range(50):
        shown = choose(model)
        assert len(shown) == len(set(shown)) == len(after)
        assert set(shown) <= set(range(5))
    refresh(model, 2)
    assert model._learner._ensemble.plans  # the next plan is for the new positions
    assert len(choose(model)) == len(after)


def test_waiting_changes_are_applied_without_new_draws_while_the_counts_have_hardly_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slotwise.service.pages.page_learner.MOST_PENDING", 10)
    model = page(0, weight=100.0)
    for _ in range(20):
        choose(model)
    assert model.urgency == 0
    assert model.begin_refresh().run(np.random.default_rng(0)) is None
    assert model._learner.matrix.n_pending == 0
    assert model.urgency == -1
