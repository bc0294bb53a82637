"""Counts for which the sampler's law is known exactly, and chains long enough to see it."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import Counts

from .chains import NEVER_SHOWN, Step, record
from .exact import Exact, exact

FIRST, NONE = 1, 0  # `free_from` for kappa_1 fixed to 1, and for every kappa free


@dataclass(frozen=True, eq=False)
class Case:
    """Counts, and how to walk: each kept draw is `passes` sweeps at every width after the one before."""

    clicks: Floats
    skips: Floats
    free_from: int
    widths: tuple[float, ...]
    passes: int
    draws: int = 4000

    @cached_property
    def law(self) -> Exact:
        return exact(self.clicks, self.skips, self.free_from)

    def chain(self, step: Step, seed: int, draws: int | None = None) -> tuple[Floats, Floats]:
        """Thinned draws of theta and kappa, from a start at the posterior means: no burn-in is needed."""
        rows = draws or self.draws
        theta = np.tile([marginal.mean for marginal in self.law.theta], (rows, 1))
        kappa = np.tile([marginal.mean for marginal in self.law.kappa], (rows, 1))
        self.walk(step, seed, theta, kappa, restart=False)
        return theta, kappa

    def walk(self, step: Step, seed: int, theta: Floats, kappa: Floats, restart: bool) -> None:
        """Fill the rows of theta and kappa: see `record`."""
        tally = Counts(self.clicks, self.skips).tally()
        rng = np.random.default_rng(seed)
        widths = np.array(self.widths)
        record(int(step), tally, self.free_from, widths, self.passes, NEVER_SHOWN, restart, rng, theta, kappa)


def shown(times: float, theta: tuple[float, ...], kappa: tuple[float, ...]) -> tuple[Floats, Floats]:
    """Clicks and skips of every item shown so many times at every position, all as expected."""
    clicks = np.round(times * np.outer(theta, kappa))
    return clicks, times - clicks


def _counts(clicks: list[list[float]], skips: list[list[float]]) -> tuple[Floats, Floats]:
    return np.array(clicks, dtype=np.float64), np.array(skips, dtype=np.float64)


NOTHING_1X2 = np.zeros((1, 2)), np.zeros((1, 2))
NOTHING_3X3 = np.zeros((3, 3)), np.zeros((3, 3))
FEW = _counts([[2, 1, 0], [4, 0, 1]], [[1, 3, 2], [2, 2, 5]])
ONE_NEVER_SHOWN = _counts([[8, 3], [2, 4], [0, 0]], [[12, 17], [18, 16], [0, 0]])
NEAR_ZERO = _counts([[3, 1], [2, 2], [1, 0]], [[97, 99], [98, 98], [99, 100]])
NEAR_ONE = _counts([[100, 95, 20], [97, 88, 24]], [[0, 5, 80], [3, 12, 76]])
HUNDREDS = _counts([[120, 80, 30]], [[180, 220, 270]])
MILLION = shown(1e6, (0.3, 0.15, 0.6), (1.0, 0.6, 0.3))
MILLION_NEAR_ZERO = _counts([[1, 3], [5, 2]], [[1e6, 1e6], [1e6, 1e6]])
MILLION_NEAR_ONE = _counts([[1e6, 1e6], [1e6, 1e6]], [[1, 3], [0, 2]])

CASES = {
    "nothing shown, kappa_1 = 1": Case(*NOTHING_1X2, FIRST, (0.3, 0.5), 5, 10_000),
    "nothing shown": Case(*NOTHING_1X2, NONE, (0.3, 0.5), 5, 10_000),
    "nothing shown of 3 x 3, kappa_1 = 1": Case(*NOTHING_3X3, FIRST, (0.3, 100.0), 5),
    "nothing shown of 3 x 3": Case(*NOTHING_3X3, NONE, (0.3, 100.0), 5),
    "few, kappa_1 = 1": Case(*FEW, FIRST, (0.3, 0.7), 6, 20_000),
    "few": Case(*FEW, NONE, (0.3, 0.7), 6, 20_000),
    "one never shown, kappa_1 = 1": Case(*ONE_NEVER_SHOWN, FIRST, (1.0, 0.3, 0.1), 15),
    "one never shown": Case(*ONE_NEVER_SHOWN, NONE, (1.0, 0.3, 0.1), 30),
    "near zero, kappa_1 = 1": Case(*NEAR_ZERO, FIRST, (1.0, 0.1, 0.02), 15),
    "near zero": Case(*NEAR_ZERO, NONE, (1.0, 0.3, 0.1), 80, 3000),
    "near one, kappa_1 = 1": Case(*NEAR_ONE, FIRST, (0.3, 0.05, 0.02), 15),
    "near one": Case(*NEAR_ONE, NONE, (0.3, 0.05, 0.02), 15),
    "hundreds, kappa_1 = 1": Case(*HUNDREDS, FIRST, (0.3, 0.1, 0.03), 40),
    "hundreds": Case(*HUNDREDS, NONE, (0.3, 0.1), 300, 3000),
    "a million, kappa_1 = 1": Case(*MILLION, FIRST, (1e-3, 5e-4, 3e-4), 40),
    "a million near zero, kappa_1 = 1": Case(*MILLION_NEAR_ZERO, FIRST, (0.3, 3e-6, 1e-6), 20),
    "a million near one, kappa_1 = 1": Case(*MILLION_NEAR_ONE, FIRST, (3e-6, 1e-6), 40),
    "a million near one": Case(*MILLION_NEAR_ONE, NONE, (3e-6, 1e-6), 40),
}
