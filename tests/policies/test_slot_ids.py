"""Slot IDS: what it shows, one call at a time, after changes of its counts, and under constraints."""

import json
from collections import Counter
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import slotwise as sw
from slotwise.arrange import arrange
from slotwise.checks import Floats
from slotwise.counts import Counts, fade, restore
from slotwise.policies import slot_ids
from slotwise.policies._policy_module import make_params
from slotwise.simulation.simulate import counts_after, generators
from tests.policies.plain_python_replay import best_first

CLICKS = np.array([[6.0, 1.0], [2.0, 2.0], [0.0, 1.0]])
SKIPS = np.array([[9.0, 8.0], [7.0, 12.0], [4.0, 3.0]])
ITEMS, POSITIONS = ["hat", "tie", "bag", "belt"], ["hero", "left", "right"]


def best_display_by_importance(clicks: Floats, skips: Floats) -> dict[tuple[int, ...], float]:
    """The probability of each display to be the best: 400,000 draws from the uniform prior, weighted by likelihood."""
    rng = np.random.default_rng(5)
    theta, kappa = rng.random((400_000, 3)), rng.random((400_000, 2))
    p = theta[:, :, None] * kappa[:, None, :]
    log_weights = (clicks * np.log(p) + skips * np.log1p(-p)).sum(axis=(1, 2))
    weights = np.exp(log_weights - log_weights.max())
    items, first = np.argsort(-theta, axis=1)[:, :2], kappa[:, 0] > kappa[:, 1]
    shown = np.where(first[:, None], items, items[:, ::-1])
    return {
        display: float(weights[(shown == display).all(axis=1)].sum() / weights.sum())
        for display in permutations(range(3), 2)
    }


def test_thompson_sampling_shows_a_display_as_often_as_it_is_the_best() -> None:
    """Law: the posterior probability of each display to be the best. 16,000 rounds on the same counts, with a new
    ensemble after every 64, are worth 1,500 independent draws at least. The threshold is five standard errors.
    Negative control: with two more clicks in one cell, the same displays are outside."""
    params = make_params(slot_ids, {"thompson": 1.0, "prior": "uniform"}, None)
    rng, display, shown = np.random.default_rng(1), np.empty(2, np.int64), Counter[tuple[int, ...]]()
    state = slot_ids.init(params, 3, 2, rng)._replace(counts=Counts(CLICKS, SKIPS).arrays())
    for t in range(16_000):
        if t % 64 == 0:
            state.ensemble.drawn_at[0] *= 2
        slot_ids.choose(params, state, rng, display)
        shown[tuple(display.tolist())] += 1

    def agrees(clicks: Floats) -> bool:
        law = best_display_by_importance(clicks, SKIPS)
        return all(abs(shown[d] / 16_000 - p) < 5 * (p * (1 - p) / 1500) ** 0.5 for d, p in law.items())

    assert agrees(CLICKS)
    assert not agrees(CLICKS + np.array([[0, 2], [0, 0], [0, 0]]))


def test_the_plan_holds_the_best_displays_under_the_draws_and_under_their_means() -> None:
    params = make_params(slot_ids, {"draws": 16}, None)
    rng, display = np.random.default_rng(2), np.empty(3, np.int64)
    state = slot_ids.init(params, 5, 3, rng)
    counts = counts_after("uniform", sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [0.2, 1.0, 0.5]), 300)
    restore(state.counts, counts.clicks, counts.skips, counts.displays)
    slot_ids.choose(params, state, rng, display)
    ensemble, displays = state.ensemble, state.plan.displays.tolist()
    for draw in range(16):
        assert displays[draw] == best_first(ensemble.theta[draw], ensemble.kappa[draw])
    assert displays[16] == best_first(ensemble.theta.mean(axis=0), ensemble.kappa.mean(axis=0))
    assert len(set(displays[17])) == 3


def test_a_draw_with_an_unlikely_item_is_always_shown() -> None:
    """A plain implementation of the smallest share. A round shows the best display under the picked draw if and only if
    fewer than 10 % of the draws have one of its items: 3,000 rounds on the same ensemble, five standard errors.
    Negative control: with `unlikely=0`, no round does so."""
    counts = counts_after("uniform", sw.PBM([0.6, 0.3, 0.2, 0.15, 0.12, 0.1], [0.2, 1.0, 0.5]), 100)
    for unlikely in (0.1, 0.0):
        params = make_params(slot_ids, {"thompson": 0.0, "unlikely": unlikely}, None)
        rng, display = np.random.default_rng(3), np.empty(3, np.int64)
        state = slot_ids.init(params, 6, 3, rng)
        restore(state.counts, counts.clicks, counts.skips, counts.displays)
        slot_ids.choose(params, state, rng, display)
        *best, greedy, mixed = [tuple(row) for row in state.plan.displays.tolist()]
        times = Counter(item for row in best for item in row)
        shares = [min(times[item] for item in row) / 64 for row in best]
        assert np.allclose(state.plan.least_share, shares)
        drawn = Counter(row for row, share in zip(best, shares, strict=True) if share < unlikely)
        expected = {row: number / 64 for row, number in drawn.items() if row not in (greedy, mixed)}
        assert (sum(expected.values()) > 0.02) == (unlikely > 0.0)
        shown = Counter[tuple[int, ...]]()
        for _ in range(3_000):
            slot_ids.choose(params, state, rng, display)
            shown[tuple(display.tolist())] += 1
        assert set(shown) <= {greedy, mixed, *expected}
        for row, p in expected.items():
            assert abs(shown[row] / 3_000 - p) < 5 * (p * (1 - p) / 3_000) ** 0.5


def test_scores_and_displays_agree_in_every_round() -> None:
    """`score` and `choose` from the same state: the best display under the scores is the one that is shown."""
    model = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [0.2, 1.0, 0.5])
    params = make_params(slot_ids, {"draws": 16, "thompson": 0.4}, None)
    visitors, rng = generators(3, run=0)
    other = np.random.Generator(np.random.PCG64())
    state = slot_ids.init(params, 5, 3, rng)
    theta, kappa = np.empty(5), np.empty(3)
    scored, display = np.empty(3, np.int64), np.empty(3, np.int64)
    rows = Counter[bool]()
    for _ in range(150):
        slot_ids.choose(params, state, rng, display)  # refills the ensemble, if it is time
        other.bit_generator.state = rng.bit_generator.state
        slot_ids.choose(params, state, rng, display)
        slot_ids.score(params, state, other, theta, kappa)
        arrange(theta, kappa, scored)
        assert scored.tolist() == display.tolist()
        rows[bool(theta.max() > 3.0)] += 1
        clicks = (visitors.random(3) < model.theta[display] * model.kappa).astype(np.int64)
        slot_ids.update(params, state, display, clicks)
    assert min(rows.values()) > 30  # both kinds of rounds occurred


# constraints


def page_after(rounds: int, **params: float) -> sw.Recommender:
    page = sw.Recommender(ITEMS, POSITIONS, policy="slot_ids", params={"draws": 16, **params}, seed=4)
    visitors = np.random.default_rng(0)
    chance = {"hat": 0.6, "tie": 0.4, "bag": 0.3, "belt": 0.05}
    for _ in range(rounds):
        display = page.recommend()
        page.learn(display, [k for k, item in display.items() if visitors.random() < chance[item]])
    return page


CONSTRAINTS: list[dict[str, Any]] = [
    {"excluded": ["tie"]},
    {"eligible": ["belt", "bag"]},
    {"pinned": {"hero": "belt"}},
    {"pinned": {"right": "hat"}, "excluded": ["bag"]},
]


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=str)
def test_the_allowed_items_of_the_display_come_first_and_the_means_fill_the_rest(constraints: dict[str, Any]) -> None:
    """A plain implementation, without Thompson sampling: items in the order of the display that was chosen, then the
    others by their means, on the free positions by mean visibility."""
    page = page_after(60, thompson=0.0, unlikely=0.0)
    page.recommend()  # refills the ensemble, if it is time
    pins = constraints.get("pinned", {})
    allowed = set(constraints.get("eligible", ITEMS)) - set(constraints.get("excluded", [])) - set(pins.values())
    for _ in range(20):
        state = page._rng.bit_generator.state
        chosen = page.recommend()
        page._rng.bit_generator.state = state
        ensemble = page._state.ensemble
        places = sorted(POSITIONS, key=lambda place: -ensemble.mean_kappa[POSITIONS.index(place)])
        ranked = [chosen[place] for place in places]
        ranked += sorted(set(ITEMS) - set(ranked), key=lambda item: -ensemble.mean_theta[ITEMS.index(item)])
        ranked = [item for item in ranked if item in allowed]
        free = [place for place in places if place not in pins]
        assert page.recommend(**constraints) == dict(zip(free, ranked, strict=False)) | pins


# changes of the counts


def test_a_late_click_is_noticed_without_further_displays() -> None:
    page = page_after(10)
    before = page._state.ensemble.theta.copy()
    display = page.recommend()
    page.learn(display)
    page.recommend()
    after_display = page._state.ensemble.theta.copy()
    page.late_click(display, ["hero"])
    page.recommend()
    assert not np.array_equal(before, after_display)
    assert not np.array_equal(after_display, page._state.ensemble.theta)


def test_a_new_item_is_shown_soon() -> None:
    page = page_after(300)
    page.add("sock")
    assert any("sock" in page.recommend().values() for _ in range(50))


def test_it_follows_its_counts_when_they_fade_or_are_replaced() -> None:
    """After 3,000 displays in favour of items 0 and 1 the counts fade, then others favour items 2 and 3."""
    params = make_params(slot_ids, {"draws": 16}, None)
    rng, display = np.random.default_rng(8), np.empty(2, np.int64)
    first = counts_after("uniform", sw.PBM([0.6, 0.5, 0.05, 0.05], [1.0, 0.5]), 3000)
    second = counts_after("uniform", sw.PBM([0.05, 0.05, 0.5, 0.6], [0.5, 1.0]), 3000)
    state = slot_ids.init(params, 4, 2, rng)
    restore(state.counts, first.clicks, first.skips, first.displays)
    slot_ids.choose(params, state, rng, display)
    assert display.tolist() == [0, 1]
    fade(state.counts, 0.002)
    slot_ids.choose(params, state, rng, display)
    assert len(np.unique(state.plan.displays[:16], axis=0)) > 1  # with the weight of 6 displays there is doubt again
    restore(state.counts, second.clicks, second.skips, second.displays)
    slot_ids.choose(params, state, rng, display)
    assert display.tolist() == [2, 3]


def test_a_lost_ensemble_costs_no_knowledge() -> None:
    """A new state with the same counts shows the best display at once, whatever the chain starts from."""
    counts = counts_after("slot_ids", sw.PBM([0.6, 0.4, 0.1, 0.05], [1.0, 0.5]), 5000, params={"draws": 16})
    params = make_params(slot_ids, {"draws": 16}, None)
    display = np.empty(2, np.int64)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        state = slot_ids.init(params, 4, 2, rng)
        restore(state.counts, counts.clicks, counts.skips, counts.displays)
        slot_ids.choose(params, state, rng, display)
        assert display.tolist() == [0, 1]


def test_a_loaded_page_continues_bit_for_bit(tmp_path: Path) -> None:
    page = page_after(80)
    page.save(tmp_path / "page.json")
    again = sw.Recommender.load(tmp_path / "page.json")
    for k in range(60):
        display = page.recommend()
        assert again.recommend() == display
        for copy in (page, again):
            copy.learn(display, ["hero"] if k % 3 == 0 else [])


@pytest.mark.parametrize(
    ("where", "value"),
    [
        (("theta",), [2.0, 0.1, 0.1, 0.1]),
        (("beta",), [1.0, 0.5]),
        (("ensemble", "theta"), [[-0.5] * 4] * 16),
        (("leaders", "places"), [0, 1, 3]),
        (("plan", "displays"), [[0, 1, 9]] * 18),
        (("plan", "chance"), [1.5]),
        (("plan", "least_share"), [-1.0] * 16),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_a_damaged_page_is_rejected(tmp_path: Path, where: tuple[str, ...], value: object) -> None:
    sw.Recommender(ITEMS, POSITIONS, policy="slot_ids", params={"draws": 16}).save(tmp_path / "page.json")
    saved = json.loads((tmp_path / "page.json").read_text())
    target = saved["body"]["state"]
    for name in where[:-1]:
        target = target[name]
    target[where[-1]] = value
    (tmp_path / "bad.json").write_text(json.dumps(saved))
    with pytest.raises(sw.BadInput, match="damaged slotwise recommender: " + ".".join(where)):
        sw.Recommender.load(tmp_path / "bad.json")


@pytest.mark.parametrize("params", [{"draws": 1}, {"growth": -0.1}, {"thompson": 1.5}, {"unlikely": 2.0}])
def test_invalid_settings(params: dict[str, float]) -> None:
    with pytest.raises(sw.BadInput, match=f"{next(iter(params))} = "):
        make_params(slot_ids, params, None)
