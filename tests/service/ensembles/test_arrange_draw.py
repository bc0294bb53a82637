"""Arranging by the leaders of a draw gives the same display as comparing all items, with values and limits too."""

import numpy as np
import pytest

from slotwise.arrange import EMPTY, NO_CATEGORY, NO_RULES, ItemRules
from slotwise.checks import Floats, Ints
from slotwise.service.ensembles.arrange_draw import DisplayPlace, DisplayRules, ExtraItems, Scores, arrange_draw

ITEMS, LATER, SEGMENTS, COLUMNS, LEADERS = 40, 3, 2, 7, 8


def random_rules(rng: np.random.Generator, share: float) -> DisplayRules:
    """Allowed items, pins, a preferred display, values and a limit, at four positions."""
    allowed = rng.random(ITEMS + LATER) < share
    pins, preferred = np.full(4, EMPTY), np.full(4, EMPTY)
    items = rng.permutation(ITEMS)
    for position in range(4):
        if rng.random() < 0.2:
            pins[position] = items[position]
    if rng.random() < 0.5:
        preferred[:] = rng.permutation(ITEMS)[:4]
    return DisplayRules(allowed, pins, preferred, random_item_rules(rng))


def random_item_rules(rng: np.random.Generator) -> ItemRules:
    values = rng.choice([0.0, 0.5, 1.0, 3.0], ITEMS + LATER) if rng.random() < 0.5 else NO_RULES.values
    if rng.random() < 0.5:
        return NO_RULES._replace(values=values)
    return ItemRules(values, rng.integers(NO_CATEGORY, 4, ITEMS + LATER), int(rng.integers(1, 3)))


def leaders_of(theta: np.ndarray, size: int, values: Floats) -> np.ndarray:
    by_segment = theta.reshape(len(theta), ITEMS, SEGMENTS).swapaxes(1, 2)
    if values.size:
        by_segment = by_segment * values[:ITEMS]
    return np.ascontiguousarray(np.argsort(-by_segment, axis=2, kind="stable")[:, :, :size].astype(np.int32))


@pytest.mark.parametrize("share", [0.95, 0.5, 0.1, 0.02])
def test_leaders_give_the_same_display_as_all_items(share: float) -> None:
    """With few allowed items, the leaders are exhausted, and all items are compared."""
    rng = np.random.default_rng(2)
    theta = rng.random((5, ITEMS * SEGMENTS)).astype(np.float32)
    rows = np.arange(ITEMS * SEGMENTS, dtype=np.int32).reshape(ITEMS, SEGMENTS).T.copy()
    kappa = rng.random((5, COLUMNS)).astype(np.float32)
    for _ in range(200):
        rules, draw, segment = random_rules(rng, share), int(rng.integers(5)), int(rng.integers(SEGMENTS))
        place = DisplayPlace(segment, rows, rng.permutation(COLUMNS)[:4])
        later = ITEMS + np.flatnonzero(rules.allowed[ITEMS:])
        extra = ExtraItems(later, rng.random(later.size))
        displays: list[Ints] = []
        for size in (0, LEADERS):
            displays.append(np.empty(4, np.int64))
            scores = Scores(theta, kappa, leaders_of(theta, size, rules.items.values))
            arrange_draw(scores, draw, extra, place, rules, displays[-1])
        assert displays[0].tolist() == displays[1].tolist()
