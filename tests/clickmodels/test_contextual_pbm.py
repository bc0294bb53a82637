"""Visitors with a context: frequencies of the combinations, the best display of each, and what policies see of it."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels import contextual_pbm

THETA = [[0.8, 0.1, 0.2, 0.05], [0.1, 0.7, 0.05, 0.3], [0.2, 0.2, 0.9, 0.1]]
LEVELS = [[0, 0], [1, 0], [1, 2]]
SHARES = [0.5, 0.2, 0.3]
VISITORS = sw.ContextualPBM(THETA, [1.0, 0.5], LEVELS, SHARES)


def test_combinations_are_drawn_with_their_shares_and_have_their_best_displays() -> None:
    """4,000 visitors; the shares are within six standard deviations, which fails once in 10^8 seeds."""
    model, rng, best, seen = VISITORS.arrays(), np.random.default_rng(1), np.empty(2, np.int64), np.zeros(3)
    for _ in range(4000):
        contextual_pbm.draw_context(model, rng, best)
        row = LEVELS.index(model.context.levels.tolist())
        seen[row] += 1
        assert best.tolist() == sw.PBM(THETA[row], [1.0, 0.5]).best_display().tolist()
        assert contextual_pbm.expected_reward(model, np.array([3, 0])) == THETA[row][3] + 0.5 * THETA[row][0]
    deviations = np.sqrt(4000 * np.array(SHARES) * (1 - np.array(SHARES)))
    assert (np.abs(seen - 4000 * np.array(SHARES)) < 6 * deviations).all()
    assert model.context.sizes.tolist() == [2, 3]


def test_the_context_is_random_but_the_same_for_all_policies() -> None:
    """The oracle knows the best display of every visitor. A policy without context loses in every round."""
    ignoring = sw.simulate("slot_ts", VISITORS, rounds=2000, runs=2)
    losses = ignoring.mean()[-1] - ignoring.mean()[-20]
    assert losses > 0.1 * (ignoring.rounds[-1] - ignoring.rounds[-20])
    assert sw.simulate("oracle", VISITORS, rounds=200, runs=2).regret.max() == 0.0


def test_visitors_of_one_kind_are_those_of_the_pbm() -> None:
    same = sw.ContextualPBM([THETA[0]] * 3, [1.0, 0.5], LEVELS, SHARES)
    assert same.best_display().tolist() == sw.PBM(THETA[0], [1.0, 0.5]).best_display().tolist()
    regret = sw.simulate("pb_mhb", same, rounds=300, runs=4).mean()[-1]
    assert 0.0 < regret < sw.simulate("uniform", same, rounds=300, runs=4).mean()[-1]


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"levels": [[0, 0]]}, "levels"),
        ({"levels": [[0, 0], [1, -1], [1, 2]]}, "levels"),
        ({"shares": [0.5, 0.2, 0.4]}, "sum is 1"),
        ({"shares": [1.0]}, "3 numbers"),
        ({"features": [[1.0]]}, "features has 1 rows"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, list[float]], problem: str) -> None:
    with pytest.raises(sw.BadInput, match=problem):
        sw.ContextualPBM(THETA, [1.0, 0.5], **wrong)
