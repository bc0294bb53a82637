"""Every policy on degenerate models: no NaN, no endless loop, a valid display in every round."""

import numpy as np
import pytest

import slotwise as sw
from slotwise.policies._policy_module import find, make_params, problem_with_visitors

PAGES = {
    "as many items as positions": sw.PBM([0.4, 0.3, 0.2], [1.0, 0.5, 0.2]),
    "one position": sw.PBM([0.4, 0.3, 0.2], [1.0]),
    "one item": sw.PBM([0.4], [1.0]),
    "no clicks": sw.PBM([0.0, 0.0, 0.0, 0.0], [1.0, 0.5]),
    "only clicks": sw.PBM([1.0, 1.0, 1.0, 1.0], [1.0, 1.0]),
    "all alike": sw.PBM([0.3, 0.3, 0.3, 0.3], [0.5, 0.5]),
    "first position invisible": sw.PBM([0.4, 0.3, 0.2, 0.1], [0.0, 1.0]),
}
VERSIONS = [(name, {}) for name in sw.policies() if problem_with_visitors(find(name), PAGES["one item"]) is None]
VERSIONS += [
    (name, {"kappa": source}) for name in ("bc_mpts", "pbm_ts", "pbm_ucb", "pbm_pie") for source in ("svd", "em")
]
VERSIONS += [(name, {"estimator": "em"}) for name in ("greedy", "epsilon_greedy")]
VERSIONS += [(name, {"fill": fill}) for name in ("greedy", "epsilon_greedy") for fill in ("mean", "authors")]
VERSIONS += [("epsilon_greedy", {"replace": "display"})]


def finite(state: object) -> bool:
    """Whether no number of a state, at any depth, is NaN or infinite; unused capacity may hold anything."""
    for name, value in state._asdict().items():  # type: ignore[attr-defined]
        if name in {"rates", "looks"}:
            continue
        if not (finite(value) if hasattr(value, "_asdict") else np.isfinite(value).all()):
            return False
    return True


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("name", "params"), VERSIONS, ids=lambda value: str(value))
def test_a_degenerate_model(name: str, params: dict[str, str], page: str) -> None:
    model, module = PAGES[page], find(name)
    rng = np.random.default_rng(3)
    settings = make_params(module, params, model.arrays())
    state = module.init(settings, model.theta.size, model.kappa.size, rng)
    display = np.empty(model.kappa.size, np.int64)
    for _ in range(40):
        module.choose(settings, state, rng, display)
        assert len(set(display.tolist())) == model.kappa.size
        assert display.min() >= 0
        assert display.max() < model.theta.size
        clicks = (rng.random(model.kappa.size) < model.theta[display] * model.kappa).astype(np.int64)
        module.update(settings, state, display, clicks)
    assert finite(state)
    assert sw.simulate(name, model, rounds=200, runs=1, params=params).regret[0, -1] >= -1e-9
