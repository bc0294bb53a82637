"""Information-directed sampling: information and mixtures against plain implementations of the formulas."""

from itertools import combinations

import numpy as np
import pytest

from slotwise.checks import Floats
from slotwise.inference.sampling.ensemble import empty_ensemble
from slotwise.policies._candidate_displays import Leaders, choose_mixture, rank_by
from slotwise.policies._information import Outlook, best_mixture, cells_of, information
from tests.policies.plain_python_replay import best_first


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


def plain_choice(theta: Floats, kappa: Floats) -> tuple[list[int], float]:
    """The display to mix with the greedy one, and how often it is shown."""
    draws, (n_items, n_positions) = len(theta), (theta.shape[1], kappa.shape[1])
    best = np.array([best_first(theta[m], kappa[m]) for m in range(draws)])
    p = theta[:, :, None] * kappa[:, None, :]
    known = np.zeros((n_items, n_positions))
    for item in range(n_items):
        where = np.array([[*display, item].index(item) for display in best.tolist()])
        for position in range(n_positions):
            cell = p[:, item, position]
            known[item, position] = max(plain_information(cell, labels) for labels in (where, best[:, position]))
    most = np.mean([p[m, best[m], range(n_positions)].sum() for m in range(draws)])

    def outlook(display: list[int]) -> tuple[float, float]:
        cells = display, range(n_positions)
        return max(most - p.mean(axis=0)[cells].sum(), 0.0), known[cells].sum()

    greedy = best_first(theta.mean(axis=0), kappa.mean(axis=0))
    d0, g0 = outlook(greedy)
    least, chosen = (d0**2 / g0 if g0 > 0 else np.inf), (greedy, 0.0)
    for display in [*best.tolist(), *neighbours(greedy, kappa.mean(axis=0), n_items)]:
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


def test_the_mixture_is_that_of_a_plain_implementation() -> None:
    """40 random ensembles. The plain implementation tries 201 probabilities for each candidate."""
    rng = np.random.default_rng(6)
    mixed = 0
    for _ in range(40):
        ensemble = empty_ensemble(24, 5, 3)
        ensemble.theta[:] = 0.3 + 0.1 * np.arange(5) * rng.random() + 0.1 * rng.random((24, 5))
        ensemble.kappa[:] = [0.2, 0.5, 0.3] + 0.2 * rng.random() * rng.random((24, 3))
        leaders = Leaders(np.empty(3, np.int64), np.empty(3, np.int64))
        rank_by(ensemble.theta.mean(axis=0), leaders.items)
        rank_by(ensemble.kappa.mean(axis=0), leaders.places)
        best = np.array([best_first(*draw) for draw in zip(ensemble.theta, ensemble.kappa, strict=True)])
        best_clicks = (ensemble.theta[np.arange(24)[:, None], best] * ensemble.kappa).sum(axis=1).mean()
        display = np.empty(3, np.int64)
        chance = choose_mixture(cells_of(ensemble.theta, ensemble.kappa, best), best, best_clicks, leaders, display)
        expected = plain_choice(ensemble.theta, ensemble.kappa)
        assert chance == pytest.approx(expected[1], abs=5e-3)
        assert display.tolist() == expected[0]
        mixed += 0.0 < chance < 1.0
    assert mixed > 2
