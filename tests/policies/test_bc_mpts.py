"""BC-MPTS, compared with a plain implementation of its formula."""

from pathlib import Path

import numpy as np
import pytest

import slotwise as sw
from slotwise.checks import BadInput
from slotwise.paper.named_click_models import setting
from slotwise.policies import bc_mpts
from slotwise.policies._policy_module import make_params
from tests.policies.plain_python_replay import best_first, replay

MODEL = sw.PBM([0.6, 0.3, 0.2, 0.1, 0.1], [1.0, 0.5, 0.2])


def plain(s: np.ndarray, f: np.ndarray, t: int, rng: np.random.Generator) -> list[int]:
    theta = []
    for item in range(5):
        looks = sum(MODEL.kappa[p] * (s[item, p] + f[item, p]) for p in range(3))
        theta.append(rng.beta(s[item].sum() + 1, max(looks - s[item].sum(), 0) + 1))
    return best_first(np.array(theta), MODEL.kappa)


def test_it_follows_its_formula() -> None:
    shown = replay(bc_mpts, plain, MODEL, rounds=400)
    assert shown[-1] != shown[0]


def test_it_clamps_after_summing() -> None:
    """An item has more clicks than expected views at one position, and fewer at another: only the sum is clamped."""
    params = make_params(bc_mpts, {}, MODEL.arrays())
    state = bc_mpts.init(params, 5, 3, np.random.default_rng(0))
    state.counts.clicks[0] = [0, 0, 90]  # 90 clicks where 20 views are expected
    state.counts.skips[0] = [200, 0, 10]
    state.counts.item_clicks[0] = 90
    theta, kappa = np.empty(5), np.empty(3)
    rng, draws = np.random.default_rng(1), []
    for _ in range(2000):
        bc_mpts.score(params, state, rng, theta, kappa)
        draws.append(theta[0])
    # 220 views, 90 clicks: Beta(91, 131), mean 0.410. Clamped per position it would be Beta(91, 201), mean 0.312.
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws) - 91 / 222) < 5 * error  # a false alarm once in 1.7 million seeds


@pytest.mark.parametrize("kappa", ["svd", "em"])
def test_without_an_oracle_it_still_learns(kappa: str) -> None:
    free = sw.simulate("bc_mpts", MODEL, rounds=2000, runs=10, params={"kappa": kappa})
    uniform = sw.simulate("uniform", MODEL, rounds=2000, runs=10)
    assert free.mean()[-1] < 0.3 * uniform.mean()[-1]


def test_a_recommender_rejects_the_oracle(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="kappa = 'svd' or 'em'"):
        sw.Recommender(["a", "b"], ["x"], policy="bc_mpts")
    page = sw.Recommender(["a", "b", "c"], ["x", "y"], policy="bc_mpts", params={"kappa": "em"})
    display = page.recommend(pinned={"y": "c"})
    page.learn(display, clicked=["x"])
    page.add("d")
    assert set(page.recommend(excluded=["a", "b"]).values()) == {"c", "d"}
    page.save(tmp_path / "page.json")
    twin = sw.Recommender.load(tmp_path / "page.json")
    assert [twin.recommend() for _ in range(20)] == [page.recommend() for _ in range(20)]


# mean regret at 1e5 and its standard error, from an independent implementation
CHECK_VALUES = {"standard": (83.5, 2.7), "near-zero": (68.7, 1.6), "near-one": (352.0, 56.0)}


@pytest.mark.statistics
@pytest.mark.parametrize("name", CHECK_VALUES)
def test_regret_agrees_with_the_check_values(name: str) -> None:
    """Within four combined standard errors: a false alarm once in 16,000 comparisons of correct implementations."""
    value, value_error = CHECK_VALUES[name]
    result = sw.simulate("bc_mpts", setting(name), runs=200, seed=2)
    mean, error = result.mean()[-1], result.standard_error()[-1]
    print(f"bc_mpts {name}: {mean:.1f} ± {error:.1f}, median {np.median(result.regret[:, -1]):.1f}; check {value}")
    assert abs(mean - value) < 4 * np.hypot(error, value_error)
