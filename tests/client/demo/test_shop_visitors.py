"""The visitors of the demo shop: what they would click on other displays, and their taste."""

from itertools import permutations

import numpy as np
import pytest

import slotwise as sw
from slotwise.client.demo.shop_traffic import MOST_POINTS, ShopTraffic
from slotwise.client.demo.shop_visitors import ShopVisitors

THETA, KAPPA = [0.1, 0.9, 0.5, 0.3], [0.4, 1.0]
ITEMS, POSITIONS = ["hat", "tie", "bag", "belt"], ["left", "hero"]
BEST = [("left", "bag"), ("hero", "tie")]


def make_visitors() -> ShopVisitors:
    return ShopVisitors(sw.PBM(theta=THETA, kappa=KAPPA), ITEMS, POSITIONS, 3)


def test_on_the_best_display_visitors_click_as_on_the_best_display() -> None:
    visitors = make_visitors()
    for _ in range(200):
        assert len(visitors.visit(BEST).clicked) == visitors.clicks_of_best


def test_clicks_at_random_are_the_mean_over_all_displays_with_the_same_random_numbers() -> None:
    visitors, others = make_visitors(), make_visitors()
    displays = [list(zip(POSITIONS, items, strict=True)) for items in permutations(ITEMS, 2)]
    for _ in range(50):
        visitors.visit(BEST)
        draws, clicks = others._rng.random(2), []
        for display in displays:
            chances = [THETA[ITEMS.index(item)] * KAPPA[POSITIONS.index(place)] for place, item in display]
            clicks.append(sum(draws < chances))
        assert visitors.clicks_at_random == pytest.approx(np.mean(clicks))


def test_another_taste_moves_the_best_items_and_changes_no_total() -> None:
    visitors = make_visitors()
    before = (visitors.best, visitors.regret_at_random)
    old = visitors.best_display.copy()
    visitors.change_taste()
    assert (visitors.best_display != old).all()
    assert (visitors.best, visitors.regret_at_random) == pytest.approx(before)


def test_traffic_counts_the_learnt_variant_in_bounded_memory() -> None:
    visitors = make_visitors()
    traffic = ShopTraffic(visitors)
    clicks = best = 0
    for number in range(20_000):
        display = BEST if number % 2 else [("left", "tie"), ("hero", "hat")]
        visit = visitors.visit(display)
        traffic.add("learnt" if number % 10 else "holdout", dict(display), visit.clicked)
        if number % 10:
            clicks, best = clicks + len(visit.clicked), best + visitors.clicks_of_best
    report = traffic.report(200.0)
    assert (report.totals.visits, report.totals.clicks, report.totals.best) == (18_000, clicks, best)
    assert clicks < best
    assert 10 < len(report.points) <= MOST_POINTS
    assert [point.visits for point in report.points] == sorted({point.visits for point in report.points})
    traffic.change_taste()
    assert traffic.report(None).changes == [18_000]
