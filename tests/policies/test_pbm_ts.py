"""PBM-TS: the displays that it makes from its draws. tests/inference/sampling has the tests of the draws."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels.pbm import Model
from slotwise.policies import pbm_ts
from slotwise.policies._policy_module import make_params

MODEL = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [1.0, 0.2, 0.5])


def test_it_shows_the_best_display_under_its_draw() -> None:
    rng = np.random.default_rng(0)
    params = make_params(pbm_ts, {}, MODEL.arrays())
    state = pbm_ts.init(params, 5, 3, rng)
    display = np.empty(3, np.int64)
    for _ in range(100):
        pbm_ts.choose(params, state, rng, display)
        order = np.argsort(-state.theta)[:3]
        assert [display[0], display[2], display[1]] == order.tolist()
        pbm_ts.update(params, state, display, (rng.random(3) < 0.3).astype(np.int64))


@pytest.mark.parametrize("kappa", [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1e-9, 1e-9, 1e-9]])
def test_positions_with_kappa_0_give_finite_draws(kappa: list[float]) -> None:
    """Draws are finite even with clicks at a position whose kappa is 0, which the model excludes."""
    rng = np.random.default_rng(1)
    params = make_params(pbm_ts, {"model": Model(np.zeros(4), np.array(kappa))}, None)
    state = pbm_ts.init(params, 4, 3, rng)
    for clicks in ([0, 0, 0], [1, 1, 1], [0, 1, 0]):
        for _ in range(20):
            pbm_ts.update(params, state, np.array([0, 1, 2]), np.array(clicks))
    theta, kappa_out = np.empty(4), np.empty(3)
    for _ in range(200):
        pbm_ts.score(params, state, rng, theta, kappa_out)
        assert ((theta >= 0) & (theta <= 1)).all()


@pytest.mark.parametrize("kappa", ["svd", "em"])
def test_without_an_oracle_it_still_learns(kappa: str) -> None:
    free = sw.simulate("pbm_ts", MODEL, rounds=1000, runs=10, params={"kappa": kappa})
    uniform = sw.simulate("uniform", MODEL, rounds=1000, runs=10)
    assert free.mean()[-1] < 0.4 * uniform.mean()[-1]


def test_it_is_as_good_as_bc_mpts() -> None:
    """Both know kappa. Over 10 paired runs, the difference of their regrets is smaller than either regret."""
    ours, theirs = (sw.simulate(policy, MODEL, rounds=2000, runs=10) for policy in ("pbm_ts", "bc_mpts"))
    gap = ours.difference(theirs)
    assert abs(gap.mean[-1]) < 5 * gap.standard_error[-1] + 0.25 * theirs.mean()[-1]
