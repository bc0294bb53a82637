"""The assignment inside kernels, compared with scipy's."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from slotwise.policies._assignment import assign, assignment_space


@pytest.mark.parametrize("ties", [False, True])
def test_no_assignment_has_a_larger_sum(ties: bool) -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        n_items = int(rng.integers(1, 12))
        n_positions = int(rng.integers(1, n_items + 1))
        scores = rng.random((n_items, n_positions))
        scores = scores.round(1) if ties else scores
        display = np.empty(n_positions, np.int64)
        assign(scores, assignment_space(n_items, n_positions), display)
        assert len(set(display.tolist())) == n_positions
        best = scores[linear_sum_assignment(scores, maximize=True)].sum()
        assert scores[display, np.arange(n_positions)].sum() == pytest.approx(best, abs=1e-12)
