"""Information-directed sampling: information and mixtures against plain implementations of the formulas."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
import pytest

from slotwise.arrange import NO_CATEGORY, NO_LIMIT, NO_RULES, ItemRules
from slotwise.checks import Floats
from slotwise.policies._candidate_displays import Leaders, choose_mixture, rank_by
from slotwise.policies._information import Outlook, best_mixture, cells_of, information


def plain_information(chances: Floats, labels: Floats) -> float:
    """The analysis of variance: between-group variance less what few draws add to it, over p(1-p)."""
    groups = [chances[labels == label] for label in np.unique(labels)]
    if not 1 < len(groups) < len(chances):
        return 0.0
    between = sum(len(group) * (group.mean() - chances.mean()) ** 2 for group in groups)
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (len(chances) - len(groups))
    p = chances.mean()
    return float(max(between - (len(groups) - 1) * within, 0.0) / len(chances) / (p * (1 - p)))


@pytest.mark.parametrize("n_labels", [1, 2, 5, 20])
def test_information_is_the_corrected_variance_between_labels(n_labels: int) -> None:
    rng = np.random.default_rng(n_labels)
    for _ in range(20):
        labels = rng.integers(n_labels, size=20)
        chances = 0.1 + 0.02 * labels + 0.02 * rng.random(20)
        found = information(chances, labels, np.empty(20), np.empty(20))
        assert found == pytest.approx(plain_information(chances, labels), abs=1e-12)


def test_labels_that_tell_nothing_have_no_information_on_average() -> None:
    """2,000 sets of 30 draws with labels at random. Before the correction is cut off at 0 its mean is 0, and after it
    well below the information of labels that matter; without the correction it would be three times as large."""
    rng = np.random.default_rng(1)
    work = np.empty(4), np.empty(4)
    chances = rng.random((2000, 30)) * 0.2 + 0.1
    none = np.mean([information(row, rng.integers(4, size=30), *work) for row in chances])
    order = np.mean([information(row, np.argsort(np.argsort(row)) * 4 // 30, *work) for row in chances])
    assert none < 0.05 * order


def test_the_mixture_with_the_least_ratio() -> None:
    """Against a grid of probabilities, for 300 random pairs of displays."""
    rng = np.random.default_rng(2)
    grid = np.linspace(0, 1, 2001)
    for _ in range(300):
        d, g = np.sort(rng.random(2)), rng.random(2)
        chance, ratio = best_mixture(Outlook(d[0], g[0]), Outlook(d[1], g[1]))
        ratios = (d[0] + grid * (d[1] - d[0])) ** 2 / (g[0] + grid * (g[1] - g[0]))
        assert ratio <= ratios.min() + 1e-12
        assert chance == pytest.approx(grid[ratios.argmin()], abs=1e-3)


def test_without_information_there_is_no_reason_to_mix() -> None:
    assert best_mixture(Outlook(0.1, 0.0), Outlook(0.2, 0.0)) == (0.0, np.inf)
    assert best_mixture(Outlook(0.0, 0.1), Outlook(0.2, 0.1)) == (0.0, 0.0)


def test_ranks() -> None:
    rng = np.random.default_rng(4)
    for n in (3, 5, 9):
        values, ranked = rng.integers(4, size=n).astype(float), np.empty(3, np.int64)
        rank_by(values, ranked)
        assert ranked.tolist() == sorted(range(n), key=lambda k: (-values[k], k))[:3]


RULES = {
    "no rules": NO_RULES,
    "values": ItemRules(np.array([1.1, 1.05, 1.0, 0.9, 0.85]), np.empty(0, np.int64), NO_LIMIT),
    "a limit": ItemRules(np.empty(0), np.array([0, 0, NO_CATEGORY, 1, 1]), 1),
    "values and a limit": ItemRules(np.array([11.0, 10.5, 10.0, 9.0, 8.5]), np.array([0, 1, 0, 1, 1]), 2),
}


def plain_best(theta: Floats, kappa: Floats, rules: ItemRules) -> list[int]:
    """The display with the largest sum of value x theta x kappa, among those within the limit."""
    weights = theta * rules.values if rules.values.size else theta
    possible = [display for display in permutations(range(theta.size), kappa.size) if fits(display, rules)]
    return list(max(possible, key=lambda display: float((weights[list(display)] * kappa).sum())))


def fits(display: Sequence[int], rules: ItemRules) -> bool:
    if not rules.has_limit:
        return True
    numbers = Counter(rules.categories[list(display)].tolist())
    return all(number <= rules.most_per_category for category, number in numbers.items() if category != NO_CATEGORY)


def plain_choice(theta: Floats, kappa: Floats, rules: ItemRules) -> tuple[list[int], float]:
    """The display to mix with the greedy one, and how often it is shown."""
    draws, (n_items, n_positions) = len(theta), (theta.shape[1], kappa.shape[1])
    best = np.array([plain_best(theta[m], kappa[m], rules) for m in range(draws)])
    values = rules.values[:, None] if rules.values.size else np.ones((n_items, 1))
    p = theta[:, :, None] * kappa[:, None, :]
    known = np.zeros((n_items, n_positions))
    for item in range(n_items):
        where = np.array([[*display, item].index(item) for display in best.tolist()])
        for position in range(n_positions):
            cell = p[:, item, position]
            known[item, position] = max(plain_information(cell, labels) for labels in (where, best[:, position]))
    most = np.mean([(values * p[m])[best[m], range(n_positions)].sum() for m in range(draws)])

    def outlook(display: list[int]) -> tuple[float, float]:
        cells = display, range(n_positions)
        return max(most - (values * p.mean(axis=0))[cells].sum(), 0.0), known[cells].sum()

    greedy = plain_best(theta.mean(axis=0), kappa.mean(axis=0), rules)
    d0, g0 = outlook(greedy)
    least, chosen = (d0**2 / g0 if g0 > 0 else np.inf), (greedy, 0.0)
    others = [display for display in neighbours(greedy, kappa.mean(axis=0), n_items) if fits(display, rules)]
    for display in [*best.tolist(), *others]:
        d1, g1 = outlook(display)
        for chance in np.linspace(0, 1, 201):
            regret, learnt = d0 + chance * (d1 - d0), g0 + chance * (g1 - g0)
            if learnt > 0 and regret**2 / learnt < least:
                least, chosen = regret**2 / learnt, (display, chance)
    return chosen


def neighbours(greedy: list[int], kappa: Floats, n_items: int) -> list[list[int]]:
    """Each other item inserted at each rank or in place of a leader, and each swap of two leaders."""
    places = sorted(range(len(kappa)), key=lambda place: -kappa[place])
    leaders = [greedy[place] for place in places]
    ranked = []
    for item in set(range(n_items)) - set(leaders):
        for rank in range(len(leaders)):
            ranked.append([*leaders[:rank], item, *leaders[rank:-1]])
            ranked.append([*leaders[:rank], item, *leaders[rank + 1 :]])
    for a, b in combinations(range(len(leaders)), 2):
        swapped = leaders.copy()
        swapped[a], swapped[b] = swapped[b], swapped[a]
        ranked.append(swapped)
    return [[row[places.index(place)] for place in range(len(kappa))] for row in ranked]


@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_the_mixture_is_that_of_a_plain_implementation(rules: ItemRules) -> None:
    """40 random ensembles. The plain implementation tries 201 probabilities for each candidate."""
    rng = np.random.default_rng(6)
    mixed = 0
    for _ in range(40):
        theta = 0.3 + 0.1 * np.arange(5) * rng.random() + 0.1 * rng.random((24, 5))
        kappa = [0.2, 0.5, 0.3] + 0.2 * rng.random() * rng.random((24, 3))
        leaders, greedy = Leaders(np.empty(3, np.int64), np.empty(3, np.int64)), np.empty(3, np.int64)
        rank_by(kappa.mean(axis=0), leaders.places)
        greedy[:] = plain_best(theta.mean(axis=0), kappa.mean(axis=0), rules)
        leaders.items[:] = greedy[leaders.places]
        best = np.array([plain_best(*draw, rules) for draw in zip(theta, kappa, strict=True)])
        values = rules.values if rules.values.size else np.ones(5)
        best_reward = ((values * theta)[np.arange(24)[:, None], best] * kappa).sum(axis=1).mean()
        display, cells = np.empty(3, np.int64), cells_of(theta, kappa, best, rules.values)
        chance = choose_mixture(cells, best, best_reward, leaders, rules, display)
        expected = plain_choice(theta, kappa, rules)
        assert chance == pytest.approx(expected[1], abs=5e-3)
        assert display.tolist() == expected[0]
        mixed += 0.0 < chance < 1.0
    assert mixed > 2
