"""Particle Thompson sampling, compared with a plain-Python reading and with the exact posterior."""

import math
from typing import Any, ClassVar

import numpy as np
import pytest

import slotwise as sw
from slotwise.clickmodels._click_model import RATING_UNIT
from slotwise.policies import particle_ts
from tests.policies.plain_policy import largest, replay

RNG = np.random.default_rng(6)
MODEL = sw.Ratings(RNG.normal(size=(4, 2)), RNG.normal(size=(6, 2)))
NOISE, N_PARTICLES = 0.5, 5


class PlainGaussian:
    """The law of one vector, with an explicit precision, and its last draw."""

    def __init__(self, drawn: np.ndarray) -> None:
        self.precision, self.sums, self.drawn = np.eye(2), np.zeros(2), drawn

    def copy(self) -> "PlainGaussian":
        other = PlainGaussian(self.drawn.copy())
        other.precision, other.sums = self.precision.copy(), self.sums.copy()
        return other

    @property
    def covariance(self) -> np.ndarray:
        return np.linalg.inv(self.precision)

    def observe(self, other: np.ndarray, rating: float) -> None:
        self.precision = self.precision + np.outer(other, other) / NOISE**2
        self.sums = self.sums + rating * other / NOISE**2

    def draw(self, rng: np.random.Generator) -> None:
        lower = np.linalg.cholesky(self.precision)
        normal = np.array([rng.standard_normal(), rng.standard_normal()])
        self.drawn = self.covariance @ self.sums + np.linalg.inv(lower.T) @ normal


class PlainParticles:
    """Algorithm 1 of the paper. It starts with the vectors of the compiled policy."""

    state: ClassVar[Any] = None
    who: ClassVar[list[int]] = []

    def __init__(self, *_: int) -> None:
        visitors, items = self.state.visitors.drawn, self.state.items.drawn
        self.particles = [
            ([PlainGaussian(v.copy()) for v in visitors[p]], [PlainGaussian(v.copy()) for v in items[p]])
            for p in range(N_PARTICLES)
        ]
        self.weights = np.full(N_PARTICLES, 1 / N_PARTICLES)
        self.last: tuple[int, int, float] | None = None

    def choose(self, _: int, rng: np.random.Generator) -> list[int]:
        if self.last is not None:
            self.learn(*self.last, rng)
        particle = min(int((np.cumsum(self.weights) <= rng.random()).sum()), N_PARTICLES - 1)
        visitors, items = self.particles[particle]
        visitors[self.who[-1]].draw(rng)
        self.scores = [float(visitors[self.who[-1]].drawn @ item.drawn) for item in items]
        return largest(self.scores, 1)

    def update(self, display: list[int], clicks: list[int]) -> None:
        self.last = (self.who[-1], display[0], clicks[0] * RATING_UNIT)

    def learn(self, visitor: int, item: int, rating: float, rng: np.random.Generator) -> None:
        densities = []
        for visitors, items in self.particles:
            law, vector = visitors[visitor], items[item].drawn
            spread = NOISE**2 + vector @ law.covariance @ vector
            missed = rating - vector @ law.covariance @ law.sums
            densities.append(math.exp(-0.5 * missed**2 / spread) / math.sqrt(spread))
        self.weights = self.weights * densities / (self.weights * densities).sum()
        if 1.0 / (self.weights**2).sum() < 0.5 * N_PARTICLES:
            self.resample(rng)
        for visitors, items in self.particles:
            visitors[visitor].observe(items[item].drawn, rating)
            visitors[visitor].draw(rng)
            items[item].observe(visitors[visitor].drawn, rating)
            items[item].draw(rng)

    def resample(self, rng: np.random.Generator) -> None:
        """Points at equal distances. A particle that is chosen keeps its place; its copies take the free ones."""
        points = (rng.random() + np.arange(N_PARTICLES)) / N_PARTICLES
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights), points, side="right"), N_PARTICLES - 1).tolist()
        free = [p for p in range(N_PARTICLES) if p not in chosen]
        for p in sorted(set(chosen)):
            for _ in range(chosen.count(p) - 1):
                self.particles[free.pop(0)] = tuple([law.copy() for law in laws] for laws in self.particles[p])
        self.weights = np.full(N_PARTICLES, 1 / N_PARTICLES)

    def values(self, display: list[int]) -> list[float]:
        return [self.scores[item] for item in display]


def test_displays_follow_the_pseudo_code(monkeypatch: pytest.MonkeyPatch) -> None:
    made = particle_ts.init

    class Watched:
        """The policy, with an `init` that shows its state to the plain one."""

        Params, State = particle_ts.Params, particle_ts.State
        choose, update = staticmethod(particle_ts.choose), staticmethod(particle_ts.update)
        __name__ = particle_ts.__name__

        @staticmethod
        def init(*arguments: Any) -> Any:
            PlainParticles.state = made(*arguments)
            return PlainParticles.state

    def see(truth: Any) -> None:
        PlainParticles.who[:] = [int(truth.context.levels[0])]

    displays = replay(Watched, PlainParticles, MODEL, rounds=400, see_visitor=see, particles=N_PARTICLES)  # type: ignore[arg-type]
    assert len({display[0] for display in displays}) > 3


def ratings_of(params: particle_ts.Params, rng: np.random.Generator, ratings: list[float]) -> particle_ts.State:
    """The state after a visitor rated the only item several times."""
    state = particle_ts.init(params, 1, 1, rng)
    for rating in ratings:
        particle_ts.learn(params, state, rng, 0, 0, rating)
    return state


@pytest.mark.parametrize(("ratings", "exactly"), [([0.9], True), ([0.9, 0.4, 0.7, 0.8], False)])
def test_many_particles_have_the_law_of_the_posterior_after_one_rating(ratings: list[float], exactly: bool) -> None:
    """One visitor and one item with one factor. The mean of u v under 4,000 particles is that of the posterior.

    The reference is a sum over a grid. The limit is five standard errors of the mean, from 20 sets of particles. After
    several ratings the algorithm is an approximation, because the law of each vector keeps old draws of the other. The
    difference is then small, but the test finds it.
    """
    grid = np.linspace(-5, 5, 401)
    u, v = np.meshgrid(grid, grid)
    density = np.exp(-0.5 * (u**2 + v**2) - 0.5 * sum((r - u * v) ** 2 for r in ratings) / NOISE**2)
    exact = float((u * v * density).sum() / density.sum())
    params = particle_ts.Params(4000, 1, NOISE, 1.0, 1.0)
    means = []
    for seed in range(20):
        state = ratings_of(params, np.random.default_rng(seed), ratings)
        products = state.visitors.drawn[:, 0, 0] * state.items.drawn[:, 0, 0]
        means.append(float(state.weights @ products))
    error = np.std(means, ddof=1) / np.sqrt(20)
    difference = abs(np.mean(means) - exact)
    assert (difference < 5 * error) == exactly
    assert difference < 0.1 * exact


def test_it_learns_from_clicks_too() -> None:
    """10 runs, five standard errors below uniform. Each visitor of a ContextualPBM is a combination of levels."""
    theta = np.clip(0.5 + 0.4 * np.outer([1, -1, 0.5], [1, 0.2, -1, -0.3]), 0, 1)
    visitors = sw.ContextualPBM(theta, [1.0])
    ours = sw.simulate("particle_ts", visitors, rounds=4000, runs=10, params={"particles": 10})
    gap = ours.difference(sw.simulate("uniform", visitors, rounds=4000, runs=10))
    assert gap.mean[-1] + 5 * gap.standard_error[-1] < 0
    ignoring = ours.difference(sw.simulate("slot_ts", visitors, rounds=4000, runs=10))
    assert ignoring.mean[-1] + 5 * ignoring.standard_error[-1] < 0


@pytest.mark.parametrize("wrong", [{"particles": 0}, {"factors": 0}, {"noise": 0.0}, {"item_scale": math.inf}])
def test_invalid_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(sw.BadInput, match=f"^{next(iter(wrong))} = "):
        sw.simulate("particle_ts", MODEL, rounds=10, runs=1, params=wrong)
