"""comb_ucb, compared with a plain-Python reading of CUCB."""

import math

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import slotwise as sw
from slotwise.clickmodels import pbm
from slotwise.policies import comb_ucb

MODEL = sw.PBM([0.7, 0.5, 0.3, 0.2, 0.1], [1.0, 0.4, 0.7])


def bounds(clicks: np.ndarray, skips: np.ndarray, t: int, rng: np.random.Generator) -> np.ndarray:
    found = np.zeros_like(clicks)
    for (item, position), s in np.ndenumerate(clicks):
        views = s + skips[item, position]
        if views == 0:
            found[item, position] = 2.0 + rng.random()
        else:
            found[item, position] = min(1.0, s / views + math.sqrt(1.5 * math.log(t) / views))
    return found


def test_displays_have_the_largest_sum_of_bounds() -> None:
    """Bounds tie at 1, so several displays may be right: the sums are compared, not the displays."""
    rng, visitors, plain_rng = (np.random.default_rng(seed) for seed in (1, 2, 3))
    params = comb_ucb.Params()
    state = comb_ucb.init(params, 5, 3, rng)
    display, clicks, shown = np.empty(3, np.int64), np.empty(3, np.int64), set()
    for t in range(1, 1501):
        plain_rng.bit_generator.state = rng.bit_generator.state
        expected = bounds(state.counts.clicks, state.counts.skips, t, plain_rng)
        comb_ucb.choose(params, state, rng, display)
        best = expected[linear_sum_assignment(expected, maximize=True)].sum()
        assert expected[display, np.arange(3)].sum() == pytest.approx(best, abs=1e-12)
        pbm.click(MODEL.arrays(), display, visitors, clicks)
        comb_ucb.update(params, state, display, clicks)
        shown.add(tuple(display.tolist()))
    assert len(shown) > 20
