"""Values and limits of categories: displays have the largest possible sum of value x theta x kappa.

Every display is compared with all displays that the rules allow, for up to 7 items and 4 positions.
"""

from collections.abc import Callable
from functools import cache
from itertools import permutations
from typing import NamedTuple

import numpy as np
import pytest

from slotwise.arrange import EMPTY, NO_CATEGORY, NO_LIMIT, NO_RULES, ItemRules, arrange_among, most_shown
from slotwise.checks import Floats, Ints

SIZES = [(n_items, n_positions) for n_items in range(1, 8) for n_positions in range(1, 5)]
PROBLEMS = 40  # for each size
Arrange = Callable[["Problem"], Ints]


class Problem(NamedTuple):
    """What a display is arranged from."""

    theta: Floats
    kappa: Floats
    allowed: np.ndarray
    pinned: Ints
    rules: ItemRules

    def reward(self, display: Ints) -> float:
        shown = display != EMPTY
        items = display[shown]
        return float((self.weights()[items] * self.kappa[shown]).sum())

    def weights(self) -> Floats:
        return self.theta * self.rules.values if self.rules.values.size else self.theta


def random_problem(rng: np.random.Generator, n_items: int, n_positions: int, valued: bool, limited: bool) -> Problem:
    """Some scores are equal, and some values are 0. A pin may exceed the limit of its category."""
    theta, kappa = rng.choice([0.0, 0.2, 0.5, *rng.random(4)], n_items), rng.choice([0.3, *rng.random(4)], n_positions)
    values = rng.choice([0.0, 1.0, 2.0, 7.5, 0.1], n_items) if valued else np.empty(0)
    categories = rng.integers(NO_CATEGORY, 3, n_items) if limited else np.empty(0, np.int64)
    pinned, items = np.full(n_positions, EMPTY), rng.permutation(n_items)
    for position in range(min(n_items, n_positions)):
        if rng.random() < 0.2:
            pinned[position] = items[position]
    rules = ItemRules(values, categories, int(rng.integers(1, 4)) if limited else NO_LIMIT)
    return Problem(theta, kappa, rng.random(n_items) < 0.85, pinned, rules)


def problems(valued: bool, limited: bool) -> list[Problem]:
    rng = np.random.default_rng(1)
    return [random_problem(rng, *size, valued, limited) for size in SIZES for _ in range(PROBLEMS)]


@cache
def all_displays(n_items: int, n_positions: int) -> Ints:
    """All displays, also those that leave positions empty."""
    empty = [EMPTY] * n_positions
    return np.array(sorted(set(permutations([*range(n_items), *empty], n_positions))))


def possible_displays(problem: Problem) -> Ints:
    """The displays that keep the pins, have no forbidden item, and exceed no limit, except where pins exceed it."""
    displays, pinned, rules = all_displays(problem.theta.size, problem.kappa.size), problem.pinned, problem.rules
    free = displays[(displays == pinned)[:, pinned != EMPTY].all(axis=1)]
    usable = np.append(problem.allowed, True)  # index -1 stands for an empty position
    usable[pinned[pinned != EMPTY]] = True
    free = free[usable[free].all(axis=1)]
    if rules.has_limit:
        categories = np.append(rules.categories, NO_CATEGORY)
        for category in range(3):
            n_pinned = int((categories[pinned] == category).sum())
            free = free[(categories[free] == category).sum(axis=1) <= max(rules.most_per_category, n_pinned)]
    return free


def best_reward(problem: Problem) -> float:
    displays = possible_displays(problem)
    return float((np.append(problem.weights(), 0.0)[displays] * problem.kappa).sum(axis=1).max())


def arranged(problem: Problem) -> Ints:
    display = np.empty(problem.kappa.size, np.int64)
    arrange_among(*problem, display)
    return display


def misses(arrange: Arrange, valued: bool, limited: bool) -> int:
    """In how many problems the display is not possible, or is worse than the best possible one."""
    count = 0
    for problem in problems(valued, limited):
        display = arrange(problem)
        possible = (possible_displays(problem) == display).all(axis=1).any()
        count += not possible or problem.reward(display) < best_reward(problem) - 1e-12
    return count


RULES = pytest.mark.parametrize(("valued", "limited"), [(True, False), (False, True), (True, True)])


@RULES
def test_no_possible_display_earns_more(valued: bool, limited: bool) -> None:
    assert misses(arranged, valued, limited) == 0


@RULES
def test_a_display_by_simpler_rules_earns_less(valued: bool, limited: bool) -> None:
    """Negative controls: without the values, or with the items above the limit left out afterwards."""

    def ignoring_values(problem: Problem) -> Ints:
        return arranged(problem._replace(rules=problem.rules._replace(values=np.empty(0))))

    def cut_afterwards(problem: Problem) -> Ints:
        categories, most, taken = problem.rules.categories, problem.rules.most_per_category, list[int]()
        display = arranged(problem._replace(rules=problem.rules._replace(most_per_category=NO_LIMIT)))
        for position in np.argsort(problem.pinned == EMPTY, kind="stable"):
            category = categories[display[position]] if display[position] != EMPTY else NO_CATEGORY
            if problem.pinned[position] == EMPTY and category != NO_CATEGORY and taken.count(category) >= most:
                display[position] = EMPTY
            taken.append(int(category))
        return display

    if valued:
        assert misses(ignoring_values, valued, limited) > 100
    if limited:
        assert misses(cut_afterwards, valued, limited) > 50


@RULES
def test_positions_stay_empty_only_if_no_item_may_be_shown(valued: bool, limited: bool) -> None:
    for problem in problems(valued, limited):
        pins = problem.pinned[problem.pinned != EMPTY].tolist()
        n_shown = min(most_shown(problem.allowed, pins, problem.rules), problem.kappa.size)
        assert (arranged(problem) != EMPTY).sum() == n_shown
        assert n_shown == (possible_displays(problem) != EMPTY).sum(axis=1).max()


def test_equal_values_and_wide_limits_change_nothing() -> None:
    for problem in problems(valued=False, limited=True):
        plain = arranged(problem._replace(rules=NO_RULES))
        values = np.full(problem.theta.size, 2.5)
        assert np.array_equal(plain, arranged(problem._replace(rules=ItemRules(values, np.empty(0, np.int64), 1))))
        wide = problem.rules._replace(most_per_category=99)
        assert np.array_equal(plain, arranged(problem._replace(rules=wide)))


@pytest.mark.parametrize(
    ("pinned", "most", "display"),
    [
        pytest.param([EMPTY] * 3, 1, [0, 3, 4], id="one of each category, and items without one"),
        pytest.param([EMPTY] * 3, 2, [0, 1, 3], id="two of each category"),
        pytest.param([EMPTY, EMPTY, 2], 1, [3, 4, 2], id="a pin fills its category"),
        pytest.param([EMPTY, 1, 2], 1, [3, 1, 2], id="pins exceed the limit"),
    ],
)
def test_limits_by_example(pinned: list[int], most: int, display: list[int]) -> None:
    """Items 0, 1 and 2 have a category, 3 and 4 have none."""
    rules = ItemRules(np.empty(0), np.array([7, 7, 7, NO_CATEGORY, NO_CATEGORY]), most)
    theta, kappa = np.array([0.9, 0.8, 0.7, 0.6, 0.5]), np.array([1.0, 0.8, 0.6])
    assert arranged(Problem(theta, kappa, np.ones(5, np.bool_), np.array(pinned), rules)).tolist() == display


def test_an_infinite_score_and_the_value_zero_are_compared() -> None:
    rules = ItemRules(np.array([0.0, 1.0, 0.0]), np.empty(0, np.int64), NO_LIMIT)
    problem = Problem(np.array([np.inf, 0.1, 0.5]), np.ones(2), np.ones(3, np.bool_), np.full(2, EMPTY), rules)
    assert arranged(problem).tolist() == [1, 0]
