"""Propensities: exact against enumeration, and against the frequencies of many displays."""

from collections import Counter
from itertools import permutations
from math import factorial
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta as beta_law
from scipy.stats import chi2, kstest

from slotwise.arrange import EMPTY, NO_CATEGORY, NO_LIMIT, ItemRules, arrange_among
from slotwise.service.ensembles import page_ensemble, picked_displays
from slotwise.service.ensembles.propensities import MOST_LIMITED, limited_shares, random_order
from slotwise.service.pages import display_chooser
from slotwise.service.pages.page_definition import ItemPrior, ItemSpec
from slotwise.service.pages.page_model import PageModel
from slotwise.service.store.records import CellCounts, PageCounts
from tests.service.pages.test_item_values import POSITIONS, choose, items_of, make_model, most_of_one, page, refresh

PLAIN = [ItemSpec() for _ in range(6)]
FALSE_ALARM = 1e-6
X, Y, NONE = 0, 1, NO_CATEGORY
REQUESTS: list[dict[str, Any]] = [
    {},
    {"eligible": ["a", "b", "d", "f"]},
    {"excluded": ["c"], "pinned": {"two": "e"}},
    {"most_per_category": 1},
    {"pinned": {"one": "a"}, "most_per_category": 1},
    {"eligible": ["a", "b"]},
]


@pytest.mark.parametrize(
    ("categories", "most", "allowed", "pins"),
    [
        ([X, X, X, Y, Y, NONE], NO_LIMIT, 6, {}),
        ([X, X, X, Y, Y, NONE], NO_LIMIT, 6, {1: 2}),
        ([X, X, X, Y, Y, NONE], NO_LIMIT, 2, {}),
        ([X, X, X, Y, Y, NONE], 1, 6, {}),
        ([X, X, X, Y, Y, NONE], 1, 6, {1: 0}),
        ([X, X, X, Y, Y, NONE], 1, 6, {0: 1, 2: 3}),
        ([X, X, X, X, X, Y], 1, 6, {}),
        ([X, X, X, X, X, NONE], 2, 6, {}),
        ([X, X, X, Y, Y, 2], 1, 5, {0: 5}),
    ],
)
def test_a_random_order_is_exact_against_all_orders(
    categories: list[int], most: int, allowed: int, pins: dict[int, int]
) -> None:
    """Every order of the scores is equally likely, so the propensity is the share of the orders."""
    rules = ItemRules(np.empty(0), np.array(categories), most)
    may_be_shown, pinned = np.arange(6) < allowed, np.full(3, EMPTY)
    for position, item in pins.items():
        pinned[position] = item
    shown: Counter[tuple[int, int]] = Counter()
    displays = set()
    for order in permutations(range(6)):
        display = np.empty(3, np.int64)
        arrange_among(np.array(order, float), np.array([3.0, 2.0, 1.0]), may_be_shown, pinned, rules, display)
        displays.add(tuple(display.tolist()))
        shown.update(enumerate(display.tolist()))
    for display in displays:
        order = random_order(may_be_shown, pinned, rules)
        assert order is not None
        found = order.propensities(np.array(display))
        for position, item in enumerate(display):
            if item != EMPTY:
                assert found[position] == pytest.approx(shown[position, item] / factorial(6), rel=1e-12)


@pytest.mark.parametrize("size", [100, 1_000, MOST_LIMITED])
def test_large_pages_are_exact_too(size: int) -> None:
    """If the limit never matters, every item is equally likely at every rank."""
    shares = limited_shares(((size // 2, 20), (size // 2, 20)), 20)
    assert shares is not None
    assert shares[size // 2, 20] == pytest.approx([1.0 / size] * 20, rel=1e-9)
    alone = limited_shares(((1, 1), (size - 1, 1)), 2)
    assert alone is not None
    assert alone[1, 1] == pytest.approx([1.0 / size, (size - 1) / size], rel=1e-9)
    rules = ItemRules(np.empty(0), np.zeros(size + 1, np.int64), 1)
    unknown = random_order(np.ones(size + 1, np.bool_), np.full(1, EMPTY), rules)
    assert (unknown is None) == (size + 1 > MOST_LIMITED)


def enumerate_draws(model: PageModel, request: dict[str, Any]) -> Counter[tuple[str, str]]:
    """How many draws of slot_ts put each item at each position, by comparing all displays."""
    scores, shown = model._learner._ensemble.scores, Counter[tuple[str, str]]()
    allowed = [name for name in request.get("eligible", "abcdef") if name not in request.get("excluded", ())]
    pinned, most = request.get("pinned", {}), request.get("most_per_category", 6)
    size = min(3, len(set(allowed) | set(pinned.values())))
    for theta, kappa in zip(scores.theta.astype(float), scores.kappa.astype(float), strict=True):

        def worth(display: tuple[str, ...], where: list[int], theta: Any = theta, kappa: Any = kappa) -> float:
            return sum(theta["abcdef".index(name)] * kappa[k + 1] for name, k in zip(display, where, strict=True))

        where = sorted(np.argsort(-kappa[1:], kind="stable")[:size].tolist())
        names = [POSITIONS[k] for k in where]
        possible = [
            display
            for display in permutations(sorted(set(allowed) | set(pinned.values())), size)
            if all(display[names.index(position)] == name for position, name in pinned.items())
            and all(name in allowed or name in pinned.values() for name in display)
            and most_of_one(display) <= most
        ]
        best = max(possible, key=lambda display: worth(display, where))
        shown.update(zip(names, best, strict=True))
    return shown


@pytest.mark.parametrize("request_fields", REQUESTS)
def test_learnt_displays_are_exact_against_all_draws(request_fields: dict[str, Any]) -> None:
    model = make_model([ItemSpec(category=spec.category) for spec in page_items()])
    shown = enumerate_draws(model, request_fields)
    n_draws = len(model._learner._ensemble.beta)
    for _ in range(100):
        for entry in choose(model, **request_fields).entries:
            assert entry.propensity == pytest.approx(shown[entry.position, model.names[entry.item]] / n_draws)


def page_items() -> list[ItemSpec]:
    from tests.service.pages.test_item_values import specs

    return specs()


def statistic(model: PageModel, displays: int, wrong: bool = False, **request: Any) -> tuple[float, int]:
    """Pearson's statistic of frequencies against propensities at all positions, and its degrees of freedom.

    With `wrong`, the propensities are those of a uniform choice among the items that occur.
    """
    shown, propensities = Counter[tuple[str, int]](), {}
    for _ in range(displays):
        for entry in choose(model, **request).entries:
            assert entry.propensity is not None
            shown[entry.position, entry.item] += 1
            assert propensities.setdefault((entry.position, entry.item), entry.propensity) == entry.propensity
    total, freedom = 0.0, 0
    for position in POSITIONS:
        cells = [(shown[key], propensities[key]) for key in shown if key[0] == position]
        observed, expected = (np.array(values, float) for values in zip(*cells, strict=True))
        assert expected.sum() == pytest.approx(1.0)  # every item that can be shown there was shown
        expected = np.full(len(cells), 1.0 / len(cells)) if wrong else expected
        total += float(((observed - displays * expected) ** 2 / (displays * expected)).sum())
        freedom += len(cells) - 1
    return total, freedom


@pytest.mark.parametrize(
    ("policy", "holdout"), [("slot_ts", 0.0), ("slot_ts", 1.0), ("slot_ids", 0.0), ("uniform", 0.0)]
)
def test_frequencies_are_those_of_the_propensities(policy: str, holdout: float) -> None:
    """2,000 displays. Pearson's statistic exceeds the threshold by chance with probability below 1e-6 in each case.

    Positions of a display depend on each other. So the threshold is that of three positions, each of which exceeds a
    third of it with probability below 1e-6 / 3.
    """
    model = make_model([ItemSpec(category=spec.category) for spec in page_items()], policy=policy, holdout=holdout)
    for request in ({}, {"most_per_category": 1}, {"excluded": ["b"]}):
        found, freedom = statistic(model, 2_000, **request)
        if freedom:
            assert found < 3.0 * chi2.isf(FALSE_ALARM / 3.0, freedom)


def test_wrong_propensities_do_not_fit_the_frequencies() -> None:
    """Negative control."""
    model = make_model(PLAIN)
    found, freedom = statistic(model, 4_000, wrong=True)
    assert found > 3.0 * chi2.isf(FALSE_ALARM / 3.0, freedom)


def test_values_move_the_propensities() -> None:
    plain, valued = make_model(PLAIN), make_model([ItemSpec(value=50.0 if k == 5 else 1.0) for k in range(6)])
    shares = [
        {entry.propensity for _ in range(200) for entry in choose(model).entries if model.names[entry.item] == "f"}
        for model in (plain, valued)
    ]
    assert sum(share for share in shares[1] if share) == pytest.approx(1.0)
    assert shares[0] != shares[1]


def test_rules_that_are_not_random_have_the_propensity_1() -> None:
    for spec in ({"mode": "shadow"}, {"holdout": 1.0, "holdout_order": "default"}):
        assert [entry.propensity for entry in choose(make_model(PLAIN, **spec)).entries] == [1.0, 1.0, 1.0]


def test_they_can_be_switched_off() -> None:
    for spec in ({}, {"holdout": 1.0}, {"mode": "shadow"}):
        display = choose(make_model(PLAIN, propensities=False, **spec))
        assert [entry.propensity for entry in display.entries] == [None, None, None]


def unshown(n_shown: int, n_unshown: int, draws: int = 1, value: float = 1.0, **spec: Any) -> PageModel:
    """A page with three positions, some items with counts, and some without, which have a value."""
    items = [(f"shown {k}", ItemSpec()) for k in range(n_shown)]
    items += [(f"new {k}", ItemSpec(value=value, category="new")) for k in range(n_unshown)]
    cells = [CellCounts(k, 0, column, 30.0 + 3 * k, 60.0 + 20 * column) for k in range(n_shown) for column in range(3)]
    model = PageModel(page(**spec), items, PageCounts(cells, 600.0, 0), np.random.default_rng(2))
    choose(model)
    for _ in range(draws):
        refresh(model)
    return model


@pytest.mark.parametrize(
    ("n_shown", "n_unshown", "request_fields"),
    [
        (3, 2, {}),
        (3, 2, {"pinned": {"two": "new 0"}}),
        (3, 2, {"eligible": ["new 0", "new 1", "shown 2"], "pinned": {"one": "shown 0"}}),
        (3, 2, {"pinned": {"one": "shown 0", "two": "new 0", "three": "shown 2"}}),
        (2, 1, {}),
        (0, 4, {}),
    ],
)
def test_items_without_draws_take_part_with_exact_propensities(
    n_shown: int, n_unshown: int, request_fields: dict[str, Any]
) -> None:
    """3,000 displays each; the threshold and its false-alarm rate are those of the test of frequencies above."""
    model = unshown(n_shown, n_unshown)
    assert not model._learner.warming
    found, freedom = statistic(model, 3_000, **request_fields)
    if freedom:
        assert found < 3.0 * chi2.isf(FALSE_ALARM / 3.0, freedom)


def test_propensities_without_items_without_draws_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: with one new item too many in the formula, the shares of displays are those of another page."""
    right = picked_displays._counts_above
    monkeypatch.setattr(picked_displays, "_counts_above", lambda above, n_items: right(above, n_items + 1))
    model, request = unshown(3, 2), {"pinned": {"two": "new 0"}}
    found, freedom = statistic(model, 3_000, **request)
    assert found > 3.0 * chi2.isf(FALSE_ALARM / 3.0, freedom)


def test_a_large_page_with_few_shown_items() -> None:
    """Every position shows one item, also if the leaders of each draw are listed. A page that was just loaded, too.

    The shown items have about 1/3 of the displays; 4,000 displays are within 5 standard errors: false alarms 1e-6.
    """
    model = unshown(3, 2_000)
    choose(model)
    (arranged,) = model._chooser._arranged.values()
    picked = arranged.picked
    assert isinstance(picked, picked_displays.DrawnShares)
    n_without_row = int((model._learner._ensemble.rows < 0).sum())
    assert n_without_row > 1_990
    known = np.array([shares for item, shares in picked.shares.items() if item != EMPTY])
    assert known.sum(axis=0) + n_without_row * np.array(picked.others) == pytest.approx([1.0] * 3)
    chance = picked.shares[2][0]
    times = sum(choose(model).entries[0].item == 2 for _ in range(4_000))
    assert times / 4_000 == pytest.approx(chance, abs=5.0 * (chance * (1.0 - chance) / 4_000) ** 0.5 + 1e-9)
    fresh = unshown(3, 2_000, draws=0)
    assert choose(fresh).warming
    assert None not in {entry.propensity for entry in choose(fresh).entries}


@pytest.mark.parametrize("spec", [{"value": 1.5}, {"most_per_category": 1}, {"policy": "slot_ids"}])
def test_new_items_that_are_not_exchangeable_have_draws_in_an_ensemble(spec: dict[str, Any]) -> None:
    """So their propensities are known and exact. Threshold and false alarms as in the tests above."""
    model = unshown(3, 20, **spec)
    assert not (model._learner._ensemble.rows < 0).any()
    found, freedom = statistic(model, 2_000)
    if freedom:
        assert found < 3.0 * chi2.isf(FALSE_ALARM / 3.0, freedom)
    assert len(next(iter(model._chooser._arranged.values())).by_pick) > 1, "displays from one draw are equal"


def test_draws_of_new_items_have_the_law_of_items_without_counts() -> None:
    """Kolmogorov-Smirnov against a uniform law: false alarms 1e-6. With the law of another draw, it does not fit."""
    model = unshown(3, 2_000, value=1.5)
    ensemble = model._learner._ensemble
    theta = ensemble.scores.theta[:, ensemble.rows[0, 3:]].astype(float)
    for beta, fits in ((ensemble.beta, True), (np.roll(ensemble.beta, 1, axis=0), False)):
        assert (kstest(beta_law.cdf(theta, *beta.T[:, :, None]).ravel(), "uniform").pvalue > FALSE_ALARM) == fits


def test_a_page_with_very_many_new_items_draws_them_for_each_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_ensemble, "MOST_ADDED", 9)
    model = unshown(3, 20, value=1.5)
    assert (model._learner._ensemble.rows < 0).sum() > 9
    assert {entry.propensity for entry in choose(model).entries} == {None}


def test_a_new_item_that_is_not_exchangeable_has_no_propensity() -> None:
    """With values, limits or priors, new items have other chances than each other, until there is a new ensemble."""
    for spec, new in (({}, ItemSpec(value=2.0)), ({}, ItemSpec(prior=ItemPrior(1, 4)))):
        model = make_model(PLAIN, **spec)
        model.set_items([(6, "new", new)])
        assert {entry.propensity for entry in choose(model).entries} == {None}
        assert None not in {entry.propensity for entry in choose(model, excluded=["new"]).entries}
        refresh(model)
        assert None not in {entry.propensity for entry in choose(model).entries}
    limited = make_model([ItemSpec(category=spec.category) for spec in page_items()], most_per_category=1)
    limited.set_items([(6, "new", ItemSpec())])
    assert {entry.propensity for entry in choose(limited).entries} == {None}


def test_kept_displays_are_forgotten_with_their_ensemble(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display_chooser, "MOST_PICKED", 2)
    model = make_model(PLAIN)
    for excluded in ("a", "b", "c"):
        choose(model, excluded=[excluded])
    assert len(model._chooser._picked) == 2
    before = {items_of(model, choose(model)) for _ in range(50)}
    assert before
    model.install(model.begin_refresh().run(np.random.default_rng(5)))
    assert not model._chooser._picked
    shown = enumerate_draws(model, {})
    for entry in choose(model).entries:
        assert entry.propensity == pytest.approx(shown[entry.position, model.names[entry.item]] / 64)
