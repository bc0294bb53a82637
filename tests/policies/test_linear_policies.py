"""The policies with features, compared with plain-Python readings of their pseudo-code."""

import math
from importlib import import_module
from typing import Any, ClassVar

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels._click_model import ClickModel
from slotwise.policies import _linear_model
from slotwise.policies._policy_module import make_params
from tests.policies.plain_policy import largest, replay

RNG = np.random.default_rng(8)
FEATURES = RNG.dirichlet(np.ones(3), 8)
WEIGHTS = [0.7, 0.3, 0.1]
KAPPA = [0.9, 0.5, 0.3]
CASCADE = sw.LinearCascade(FEATURES, WEIGHTS, 3, spread=0.7)
PBM = sw.LinearPBM(FEATURES, WEIGHTS, KAPPA, spread=0.7)


class Plain:
    """A regression with an explicit inverse. `now` has the features that the visitor of the round sees."""

    now: ClassVar[list[np.ndarray]] = []
    sigma, ridge = 0.5, 1.0

    def __init__(self, _: int, n_positions: int) -> None:
        self.n_positions = n_positions
        self.precision, self.sums = self.ridge * np.eye(3), np.zeros(3)

    @property
    def x(self) -> np.ndarray:
        return self.now[-1]

    @property
    def mean(self) -> np.ndarray:
        return np.linalg.inv(self.precision) @ self.sums

    def choose(self, _: int, rng: np.random.Generator) -> list[int]:
        self.scores = self.score(rng).tolist()
        return largest(self.scores, self.n_positions)

    def values(self, display: list[int]) -> list[float]:
        return [self.scores[item] for item in display]

    def weight(self, _: int) -> float:
        return 1.0 / self.sigma**2

    def update(self, display: list[int], clicks: list[int]) -> None:
        last = clicks.index(1) if 1 in clicks else len(clicks) - 1
        for position, item in enumerate(display[: last + 1]):
            self.precision = self.precision + self.weight(position) * np.outer(self.x[item], self.x[item])
            self.sums = self.sums + self.weight(position) * clicks[position] * self.x[item]

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """N(mean, precision^-1), by the factor that the paper leaves open: the inverse of L^T."""
        lower = np.linalg.cholesky(self.precision)
        return self.mean + np.linalg.inv(lower.T) @ np.array([rng.standard_normal() for _ in range(3)])

    def widths(self) -> np.ndarray:
        return np.sqrt(np.einsum("ij,jk,ik->i", self.x, np.linalg.inv(self.precision), self.x))

    def score(self, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError


class PlainTs(Plain):
    def score(self, rng: np.random.Generator) -> np.ndarray:
        return self.x @ self.drawn(rng)


class PlainUcb(Plain):
    def score(self, _: np.random.Generator) -> np.ndarray:
        return np.minimum(1.0, self.x @ self.mean + 1.0 * self.widths())


class PlainC3(Plain):
    def weight(self, position: int) -> float:
        return (0.8**position) ** 2

    def score(self, _: np.random.Generator) -> np.ndarray:
        growth = np.linalg.det(self.precision) / (self.ridge**3 * 0.05**2)
        beta = math.sqrt(math.log(growth)) + math.sqrt(self.ridge)
        return np.minimum(1.0, self.x @ self.mean + beta * self.widths())


class PlainPbm(Plain):
    kappa: ClassVar[list[float]] = KAPPA

    def score(self, rng: np.random.Generator) -> np.ndarray:
        return self.x @ self.drawn(rng)

    def update(self, display: list[int], clicks: list[int]) -> None:
        for item, kappa, click in zip(display, self.kappa, clicks, strict=True):
            seen = kappa * self.x[item]
            self.precision = self.precision + np.outer(seen, seen) / self.sigma**2
            self.sums = self.sums + click * seen / self.sigma**2


PLAIN: dict[str, tuple[type[Plain], ClickModel, dict[str, Any]]] = {
    "cascade_lin_ts": (PlainTs, CASCADE, {}),
    "cascade_lin_ucb": (PlainUcb, CASCADE, {}),
    "c3_ucb": (PlainC3, CASCADE, {"discount": 0.8}),
    "lin_ts_pbm": (PlainPbm, PBM, {"kappa": "oracle"}),
}


def replayed(name: str, plain: type[Plain], rounds: int = 800) -> list[list[int]]:
    _, model, params = PLAIN[name]
    module = import_module(f"slotwise.policies.{name}")
    Plain.now.clear()

    def see(truth: Any) -> None:
        Plain.now[:] = [truth.features.copy()]

    return replay(module, plain, model, rounds, see_visitor=see, **params)


@pytest.mark.parametrize("name", PLAIN)
def test_displays_follow_the_pseudo_code(name: str) -> None:
    displays = replayed(name, PLAIN[name][0])
    assert len(set(map(tuple, displays))) > 10  # it explored, so the comparison means something


def test_the_comparison_detects_a_wrong_weight() -> None:
    class Wrong(PlainC3):
        def weight(self, position: int) -> float:
            return 0.8**position

    with pytest.raises(AssertionError, match="round"):
        replayed("c3_ucb", Wrong)


def test_draws_of_the_weights_have_the_law_of_the_posterior() -> None:
    """Mean and covariance of 40,000 draws within six standard errors, which fails once in 10^7 seeds."""
    model, rng = _linear_model.no_data(3, 2.0), np.random.default_rng(5)
    for item in (0, 3, 5, 5):
        _linear_model.observe_item(model, FEATURES, item, 0.8, 4.0, 1.0)
    _linear_model.fit(model)
    rows = 2.0 * 0.8 * FEATURES[[0, 3, 5, 5]]
    covariance = np.linalg.inv(2.0 * np.eye(3) + rows.T @ rows)
    assert model.mean == pytest.approx(covariance @ rows.sum(axis=0) * 2.0)
    assert _linear_model.log_determinant(model) == pytest.approx(-np.log(np.linalg.det(covariance)))
    draws, weights = np.empty((40_000, 3)), np.empty(3)
    for row in draws:
        _linear_model.draw_weights(model, rng, weights)
        row[:] = weights
    deviations = np.sqrt(np.diag(covariance))
    assert (np.abs(draws.mean(axis=0) - model.mean) < 6 * deviations / 200).all()
    scale = np.sqrt((np.outer(deviations, deviations) ** 2 + covariance**2) / 40_000)
    assert (np.abs(np.cov(draws.T) - covariance) < 6 * scale).all()
    assert (np.abs(np.cov(draws.T) - np.diag(deviations**2)) > 6 * scale).any()  # independent draws would fail


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_learnt_kappas_approach_those_of_the_visitors(spread: float) -> None:
    """After 30,000 random displays, each kappa is within 0.06 of the truth, relative to the first. That is four
    standard errors of the worst, found on 20 other seeds. The seed is fixed."""
    policy = import_module("slotwise.policies.lin_ts_pbm")
    visitors = sw.LinearPBM(FEATURES, WEIGHTS, KAPPA, spread)
    truth, rng, best = visitors.arrays(), np.random.default_rng(3), np.empty(3, np.int64)
    params = make_params(policy, {}, truth)
    state, clicks = policy.init(params, 8, 3, rng), np.empty(3, np.int64)
    for _ in range(30_000):
        visitors.kernels.draw_context(truth, rng, best)
        display = rng.permutation(8)[:3]
        visitors.kernels.click(truth, display, rng, clicks)
        policy.update(params, state, display, clicks)
    assert state.kappa / state.kappa[0] == pytest.approx(np.array(KAPPA) / KAPPA[0], abs=0.06)


def test_learning_kappa_costs_little_and_features_gain_much() -> None:
    """10 paired runs, five standard errors: by chance this fails less than once in a thousand seeds."""
    results = {
        kappa: sw.simulate("lin_ts_pbm", PBM, rounds=4000, runs=10, params={"kappa": kappa})
        for kappa in ("learnt", "oracle")
    }
    ignoring = sw.simulate("slot_ts", PBM, rounds=4000, runs=10)
    for result in results.values():
        gap = result.difference(ignoring)
        assert gap.mean[-1] + 5 * gap.standard_error[-1] < 0
    with pytest.raises(sw.BadInput, match="kappa = oracle needs a click model with kappas"):
        sw.simulate("lin_ts_pbm", CASCADE, rounds=10, runs=1, params={"kappa": "oracle"})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("cascade_lin_ts", {"sigma": 0.0}),
        ("cascade_lin_ucb", {"c": -1.0}),
        ("c3_ucb", {"discount": 1.5}),
        ("c3_ucb", {"ridge": 0.0}),
        ("c3_ucb", {"delta": 1.0}),
        ("lin_ts_pbm", {"sigma": math.inf}),
    ],
)
def test_invalid_settings_are_refused(name: str, wrong: dict[str, float]) -> None:
    with pytest.raises(sw.BadInput, match=f"^{next(iter(wrong))} = "):
        sw.simulate(name, PBM, rounds=10, runs=1, params=wrong)
