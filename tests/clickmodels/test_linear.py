"""Click models with a linear attraction: what visitors who differ see, and what is refused."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels import linear_cascade, linear_pbm

FEATURES = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.6], [0.2, 0.1]]
WEIGHTS = [0.5, 0.4]


def test_each_visitor_has_a_taste_and_a_best_display() -> None:
    visitors = sw.LinearPBM(FEATURES, WEIGHTS, [0.5, 1.0], spread=1.0)
    model, rng, best, bests = visitors.arrays(), np.random.default_rng(1), np.empty(2, np.int64), set()
    logs = []
    for _ in range(2000):
        linear_pbm.draw_context(model, rng, best)
        taste = model.visitor.taste
        assert taste.max() == 1.0
        assert model.features == pytest.approx(np.array(FEATURES) * taste)
        assert model.theta == pytest.approx(model.features @ WEIGHTS)
        assert best.tolist() == sw.PBM(model.theta, [0.5, 1.0]).best_display().tolist()
        bests.add(tuple(best.tolist()))
        logs.append(np.log(taste[0] / taste[1]))
    assert len(bests) > 1
    assert np.std(logs) == pytest.approx(np.sqrt(2), rel=0.1)  # six standard errors: once in 10^8 seeds


def test_visitors_without_spread_are_those_of_the_pbm_and_of_the_cascade() -> None:
    """The same random numbers are not used, so this compares the values that the simulation works with."""
    for linear, plain in (
        (sw.LinearPBM(FEATURES, WEIGHTS, [0.5, 1.0]), sw.PBM(np.array(FEATURES) @ WEIGHTS, [0.5, 1.0])),
        (sw.LinearCascade(FEATURES, WEIGHTS, 2), sw.Cascade(np.array(FEATURES) @ WEIGHTS, 2)),
    ):
        model, best = linear.arrays(), np.empty(2, np.int64)
        linear.kernels.draw_context(model, np.random.default_rng(1), best)
        assert best.tolist() == plain.best_display().tolist()
        assert linear.kernels.expected_reward(model, best) == pytest.approx(plain.expected_reward(best))


def test_policies_that_need_features_are_refused_without() -> None:
    assert linear_cascade.n_items(sw.LinearCascade(FEATURES, WEIGHTS, 2).arrays()) == 4
    with pytest.raises(sw.BadInput, match=r"^cascade_lin_ts needs features of the items, but the cascade visitors"):
        sw.simulate("cascade_lin_ts", sw.Cascade([0.2, 0.1], 1), rounds=10, runs=1)
    with pytest.raises(sw.BadInput, match=r"^lin_ts_pbm needs features"):
        sw.simulate("lin_ts_pbm", sw.ContextualPBM([[0.2, 0.1]], [1.0]), rounds=10, runs=1)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"weights": [1.0]}, "weights has 1 numbers, but an item has 2 features"),
        ({"weights": [1.5, 0.0]}, r"goes from 0 to 1.5, but \[0, 1\] is needed"),
        ({"spread": -1.0}, "spread = -1 is below 0"),
        ({"spread": np.inf}, "spread = inf"),
        ({"kappa": [1.0] * 5}, "5 positions but only 4 items"),
    ],
)
def test_wrong_arguments_are_refused(wrong: dict[str, object], problem: str) -> None:
    with pytest.raises(sw.BadInput, match=problem):
        sw.LinearPBM(**({"features": FEATURES, "weights": WEIGHTS, "kappa": [1.0, 0.5]} | wrong))
