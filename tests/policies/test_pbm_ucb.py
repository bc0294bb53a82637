"""PBM-UCB, compared with a plain implementation of its index."""

import math

import numpy as np
import pytest

import slotwise as sw
from slotwise.policies import pbm_ucb
from tests.policies.plain_python_replay import best_first, replay

MODEL = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [1.0, 0.2, 0.5])


def plain_with(epsilon: float):
    def plain(s: np.ndarray, f: np.ndarray, t: int, rng: np.random.Generator) -> list[int]:
        bounds = []
        for item in range(5):
            looks = float(MODEL.kappa @ (s[item] + f[item]))
            if looks == 0:
                bounds.append(1e9 + rng.random())
                continue
            delta = (1 + epsilon) * math.log(t)
            spread = math.sqrt((s[item] + f[item]).sum() / looks) * math.sqrt(delta / (2 * looks))
            bounds.append(s[item].sum() / looks + spread)
        return best_first(np.array(bounds), MODEL.kappa)

    return plain


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_it_follows_its_index(epsilon: float) -> None:
    shown = replay(pbm_ucb, plain_with(epsilon), MODEL, rounds=400, epsilon=epsilon)
    assert {item for display in shown[:3] for item in display} == set(range(5))  # every item is shown early


def test_a_wrong_epsilon_is_named() -> None:
    with pytest.raises(sw.BadInput, match=r"epsilon = -1\.0"):
        sw.simulate("pbm_ucb", MODEL, params={"epsilon": -1})
