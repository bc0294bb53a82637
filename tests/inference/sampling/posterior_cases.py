"""Counts with an exactly known posterior, and the chain length that each sampler needs to reproduce it."""

import itertools
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.components import components
from slotwise.inference.sampling.mixing_sampler import SLICE_EVERY
from tests.inference.sampling.exact_posterior import Exact, exact
from tests.inference.sampling.reference_chains import ChainRun, Step, record

FIRST, NONE = 1, 0  # `free_from` for kappa_1 fixed to 1, and for every kappa free


@dataclass(frozen=True, eq=False)
class Data:
    """Counts, the Beta prior of theta, and whether kappa_1 = 1."""

    clicks: Floats
    skips: Floats
    free_from: int
    prior: tuple[float, float] = (1.0, 1.0)

    @cached_property
    def law(self) -> Exact:
        return exact(self.clicks, self.skips, self.free_from, prior=self.prior)


@dataclass(frozen=True, eq=False)
class Case:
    """How a sampler runs: between two draws it makes `passes` sweeps at each width."""

    data: Data
    widths: tuple[float, ...]
    passes: int
    draws: int = 4000
    in_components: bool = False  # pass the connected components to the sampler; otherwise it assumes a connected design

    @property
    def law(self) -> Exact:
        return self.data.law

    @property
    def free_from(self) -> int:
        return self.data.free_from

    def chain(self, step: Step, seed: int, draws: int | None = None) -> tuple[Floats, Floats]:
        """Thinned draws of theta and kappa. The chain starts at the posterior means, so it needs no burn-in."""
        rows = draws or self.draws
        theta = np.tile([marginal.mean for marginal in self.law.theta], (rows, 1))
        kappa = np.tile([marginal.mean for marginal in self.law.kappa], (rows, 1))
        self.walk(step, seed, theta, kappa, restart=False)
        return theta, kappa

    def walk(self, step: Step, seed: int, theta: Floats, kappa: Floats, restart: bool) -> None:
        """Fill the rows of theta and kappa, as `record` does."""
        counts = Counts(self.data.clicks, self.data.skips).arrays()
        labels = components(counts) if self.in_components else None
        beta = np.tile(self.data.prior, (len(theta), 1))
        chain_run = ChainRun(self.free_from, self.widths, self.passes, restart=restart, components=labels)
        record(step, counts, chain_run, np.random.default_rng(seed), theta, kappa, beta)


def expected_counts(displays: float, theta: tuple[float, ...], kappa: tuple[float, ...]) -> tuple[Floats, Floats]:
    """The expected clicks and skips when every item has this number of displays at every position."""
    clicks = np.round(displays * np.outer(theta, kappa))
    return clicks, displays - clicks


def _counts(clicks: list[list[float]], skips: list[list[float]]) -> tuple[Floats, Floats]:
    return np.array(clicks, dtype=np.float64), np.array(skips, dtype=np.float64)


NOTHING_1X2 = np.zeros((1, 2)), np.zeros((1, 2))
NOTHING_3X3 = np.zeros((3, 3)), np.zeros((3, 3))
FEW = _counts([[2, 1, 0], [4, 0, 1]], [[1, 3, 2], [2, 2, 5]])
ONE_UNOBSERVED = _counts([[8, 3], [2, 4], [0, 0]], [[12, 17], [18, 16], [0, 0]])
NEAR_ZERO = _counts([[3, 1], [2, 2], [1, 0]], [[97, 99], [98, 98], [99, 100]])
NEAR_ONE = _counts([[100, 95, 20], [97, 88, 24]], [[0, 5, 80], [3, 12, 76]])
APART = _counts([[5, 0], [0, 3]], [[4, 0], [0, 6]])  # no item connects the two positions
FRACTIONS = 0.37 * FEW[0], 0.37 * FEW[1]
ONE_POSITION = _counts([[3], [1], [0]], [[4], [2], [0]])
HUNDREDS = _counts([[120, 80, 30]], [[180, 220, 270]])
MILLION = expected_counts(1e6, (0.3, 0.15, 0.6), (1.0, 0.6, 0.3))
MILLION_NEAR_ZERO = _counts([[1, 3], [5, 2]], [[1e6, 1e6], [1e6, 1e6]])
MILLION_NEAR_ONE = _counts([[1e6, 1e6], [1e6, 1e6]], [[1, 3], [0, 2]])

DATA = {
    "no counts, kappa_1 = 1": Data(*NOTHING_1X2, FIRST),
    "no counts": Data(*NOTHING_1X2, NONE),
    "no counts of 3 x 3, kappa_1 = 1": Data(*NOTHING_3X3, FIRST),
    "no counts of 3 x 3": Data(*NOTHING_3X3, NONE),
    "few, kappa_1 = 1": Data(*FEW, FIRST),
    "few": Data(*FEW, NONE),
    "one unobserved, kappa_1 = 1": Data(*ONE_UNOBSERVED, FIRST),
    "one unobserved": Data(*ONE_UNOBSERVED, NONE),
    "near zero, kappa_1 = 1": Data(*NEAR_ZERO, FIRST),
    "near zero": Data(*NEAR_ZERO, NONE),
    "near one, kappa_1 = 1": Data(*NEAR_ONE, FIRST),
    "near one": Data(*NEAR_ONE, NONE),
    "hundreds, kappa_1 = 1": Data(*HUNDREDS, FIRST),
    "hundreds": Data(*HUNDREDS, NONE),
    "a million, kappa_1 = 1": Data(*MILLION, FIRST),
    "a million": Data(*MILLION, NONE),
    "a million near zero, kappa_1 = 1": Data(*MILLION_NEAR_ZERO, FIRST),
    "a million near one, kappa_1 = 1": Data(*MILLION_NEAR_ONE, FIRST),
    "a million near one": Data(*MILLION_NEAR_ONE, NONE),
}
# without the cases whose posterior is too wide for a random walk of reasonable length
METROPOLIS_CASES = {
    name: Case(DATA[name], *settings)
    for name, settings in {
        "no counts, kappa_1 = 1": ((0.3, 0.5), 5, 10_000),
        "no counts": ((0.3, 0.5), 5, 10_000),
        "no counts of 3 x 3, kappa_1 = 1": ((0.3, 100.0), 5),
        "no counts of 3 x 3": ((0.3, 100.0), 5),
        "few, kappa_1 = 1": ((0.3, 0.7), 6, 20_000),
        "few": ((0.3, 0.7), 6, 20_000),
        "one unobserved, kappa_1 = 1": ((1.0, 0.3, 0.1), 15),
        "one unobserved": ((1.0, 0.3, 0.1), 30),
        "near zero, kappa_1 = 1": ((1.0, 0.1, 0.02), 15),
        "near zero": ((1.0, 0.3, 0.1), 80, 3000),
        "near one, kappa_1 = 1": ((0.3, 0.05, 0.02), 15),
        "near one": ((0.3, 0.05, 0.02), 15),
        "hundreds, kappa_1 = 1": ((0.3, 0.1, 0.03), 40),
        "hundreds": ((0.3, 0.1), 300, 3000),
        "a million, kappa_1 = 1": ((1e-3, 5e-4, 3e-4), 40),
        "a million near zero, kappa_1 = 1": ((0.3, 3e-6, 1e-6), 20),
        "a million near one, kappa_1 = 1": ((3e-6, 1e-6), 40),
        "a million near one": ((3e-6, 1e-6), 40),
    }.items()
}
LOG_ODDS_CASES = {
    name: Case(DATA[name], *settings)
    for name, settings in {
        "no counts, kappa_1 = 1": ((2.5,), 12, 10_000),
        "no counts": ((2.5,), 12, 10_000),
        "few, kappa_1 = 1": ((1.0, 3.0), 8, 20_000),
        "few": ((1.0, 3.0), 10, 20_000),
        "one unobserved, kappa_1 = 1": ((2.0, 0.5), 25),
        "one unobserved": ((2.0, 0.5), 70),
        "near zero, kappa_1 = 1": ((2.0, 0.5), 30),
        "near one, kappa_1 = 1": ((2.0, 0.5), 25),
        "near one": ((2.0, 0.5), 25),
        "a million, kappa_1 = 1": ((5e-3, 2e-3), 60),
        "a million near zero, kappa_1 = 1": ((2.0, 0.5), 30),
        "a million near one, kappa_1 = 1": ((2.0, 0.5), 60),
    }.items()
}
# the same number of sweeps for all: at a million displays the other two samplers would need 1e5 times as many
MIXING_CASES = {name: Case(data, (SLICE_EVERY,), 8, 20_000) for name, data in DATA.items()} | {
    name: Case(data, (SLICE_EVERY,), 8, 20_000, in_components="in components" in name)
    for name, data in {
        "fractions, kappa_1 = 1": Data(*FRACTIONS, FIRST),
        "fractions": Data(*FRACTIONS, NONE),
        "one position, kappa_1 = 1": Data(*ONE_POSITION, FIRST),
        "one position": Data(*ONE_POSITION, NONE),
        "apart, kappa_1 = 1": Data(*APART, FIRST),
        "apart": Data(*APART, NONE),
        "apart, in components, kappa_1 = 1": Data(*APART, FIRST),
        "apart, in components": Data(*APART, NONE),
        "few, Beta(2, 3), kappa_1 = 1": Data(*FEW, FIRST, (2.0, 3.0)),
        "few, Beta(2, 3)": Data(*FEW, NONE, (2.0, 3.0)),
        "apart, in components, Beta(3, 2)": Data(*APART, NONE, (3.0, 2.0)),
        "near zero, Beta(1.5, 40.5), kappa_1 = 1": Data(*NEAR_ZERO, FIRST, (1.5, 40.5)),
        "near one, Beta(4, 1)": Data(*NEAR_ONE, NONE, (4.0, 1.0)),
    }.items()
}


COUNTS_2X2 = {
    "nothing": ([[0, 0], [0, 0]], [[0, 0], [0, 0]]),
    "clicks": ([[5, 1], [0, 2]], [[0, 0], [0, 0]]),
    "skips": ([[0, 0], [0, 0]], [[3, 1], [0, 4]]),
    "both": ([[2, 1], [0, 1]], [[3, 1], [4, 0]]),
}
ENDS = list(itertools.product((0.0, 1.0), (0.0, 1.0)))


def last_state(
    step: Step,
    clicks: Floats | list[list[int]],
    skips: Floats | list[list[int]],
    free_from: int,
    sigma: float,
    sweeps: int,
    theta_start: float,
    kappa_start: float,
    prior: tuple[float, float] = (1.0, 1.0),
    learnt: bool = False,
) -> tuple[Floats, Floats]:
    """The last state of a chain that starts with the same value for all thetas and the same for all kappas."""
    counts = Counts(clicks, skips).arrays()
    n_items, n_positions = counts.clicks.shape
    theta, kappa, beta = np.full((1, n_items), theta_start), np.full((1, n_positions), kappa_start), np.array([prior])
    record(step, counts, ChainRun(free_from, (sigma,), sweeps, learnt), np.random.default_rng(7), theta, kappa, beta)
    return theta[0], kappa[0]


def near_ends(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Values in [0, 1], often near 0 or 1, or exactly 0 or 1."""
    near = 10 ** rng.uniform(-9, 0, size=shape) * (rng.random(shape) < 0.9)
    return np.where(rng.random(shape) < 0.5, near, 1 - near)
