"""A Markov chain on the posterior of a PBM: its current state, its random generator, and its sampler."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.copying import copy
from slotwise.counts import CountArrays
from slotwise.inference.components import components
from slotwise.inference.sampling import log_odds_random_walk, mixing_sampler, truncated_random_walk
from slotwise.inference.sampling.coordinate_step import Scan, redraw
from slotwise.inference.sampling.coordinates import BetaFactor, ChainState, given_kappa, given_theta
from slotwise.inference.sampling.learnt_prior import Learnt
from slotwise.inference.sampling.random_walk_sweeps import RandomWalk
from slotwise.inference.sampling.ridges import NO_POSITION, PositionScan, Ridges, find_main_positions, slide
from slotwise.jit import kernel

BATCH_SIZE = 3_000_000  # the limit of items x positions x sweeps in one compiled call


class Sampler(IntEnum):
    """The samplers that can update a chain."""

    MIXING = 0
    RANDOM_WALK = 1
    LOG_ODDS = 2


@dataclass(frozen=True)
class Target:
    """The posterior to be sampled: counts, prior and reference."""

    counts: CountArrays
    beta: tuple[float, float]  # a and b of the prior of theta, or their initial values if they are learnt
    learnt: Learnt
    free_from: int  # index of the first kappa that is not fixed: 1 if kappa_1 = 1 is fixed, else 0

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of items and of positions."""
        n_items, n_positions = self.counts.clicks.shape
        return n_items, n_positions


class Draws(NamedTuple):
    """Recorded states of a chain. Each row is one state."""

    theta: Floats  # draws x N
    kappa: Floats  # draws x L
    beta: Floats  # draws x 2

    @classmethod
    def empty(cls, draws: int, shape: tuple[int, int]) -> "Draws":
        """Uninitialised arrays."""
        n_items, n_positions = shape
        return cls(np.empty((draws, n_items)), np.empty((draws, n_positions)), np.empty((draws, 2)))


class Chain:
    """One chain. It starts at a random point, so chains do not agree merely because they start at the same point."""

    def __init__(self, target: Target, sampler: Sampler, width: float, rng: np.random.Generator) -> None:
        self.target, self.sampler, self.rng = target, sampler, rng
        n_items, n_positions = target.shape
        self.ridges = Ridges(np.full(n_items, NO_POSITION), *components(target.counts))
        self.state = ChainState(rng.random(n_items), rng.random(n_positions), np.array(target.beta))
        self.state.kappa[: target.free_from] = 1.0
        self.sigma = width / math.sqrt(1.0 + float(target.counts.displays[0]))
        self.draws = Draws.empty(0, target.shape)
        self.stopped = False  # another thread sets this to end a recording early

    def burn_in(self, sweeps: int) -> None:
        """Update the state without recording it. The steps work from any starting point."""
        self._record(sweeps, 1, Draws.empty(1, self.target.shape))

    def record(self, draws: int, thin: int) -> None:
        """Record a draw after every `thin` sweeps. This replaces the earlier record."""
        self.draws = Draws.empty(draws, self.target.shape)
        self._record(thin, mixing_sampler.SLICE_EVERY, self.draws)

    def accepted(self, sweeps: int) -> dict[str, float]:
        """The acceptance rate of each kind of step over this number of sweeps.

        The mixing sampler has two kinds of steps: `matched` steps change one coordinate by a proposal that matches its
        conditional law, and `slide` steps move along a ridge.
        """
        target, state = self.target, self.state
        if self.sampler is Sampler.MIXING:
            matched, slides = _acceptance_rates(target.counts, self.ridges, state, target.free_from, sweeps, self.rng)
            return {"matched": matched, "slide": slides}
        steps = state.theta.size + state.kappa.size - target.free_from
        self.record(sweeps, 1)
        changes = [(np.diff(values, axis=0) != 0.0).sum() for values in (self.draws.theta, self.draws.kappa)]
        return {"walk": float(sum(changes)) / (steps * max(sweeps - 1, 1))}

    def _record(self, thin: int, slice_every: int, draws: Draws) -> None:
        """Fill `draws` in compiled calls of less than a second each. An interrupt takes effect between two calls."""
        most_sweeps = max(BATCH_SIZE // self.target.counts.clicks.size, 1)
        rows = max(most_sweeps // thin, 1)
        for start in range(0, len(draws.theta), rows):
            sweeps, end = thin, start + rows
            while sweeps > most_sweeps and not self.stopped:  # one row needs several calls
                self._run(most_sweeps, slice_every, Draws.empty(1, self.target.shape))
                sweeps -= most_sweeps
            if self.stopped:
                return
            self._run(sweeps, slice_every, Draws(*(array[start:end] for array in draws)))

    def _run(self, thin: int, slice_every: int, draws: Draws) -> None:
        """Fill `draws` in one compiled call."""
        target, state = self.target, self.state
        if self.sampler is Sampler.MIXING:
            schedule = mixing_sampler.Schedule(thin, 1, slice_every, target.free_from, target.learnt.value)
            _record_mixing(target.counts, self.ridges, state, schedule, self.rng, draws)
        else:
            walk = RandomWalk(self.sigma, thin, target.free_from)
            _record_walk(self.sampler is Sampler.LOG_ODDS, target.counts, state, walk, self.rng, draws)


@kernel
def _record_mixing(
    counts: CountArrays,
    ridges: Ridges,
    state: ChainState,
    schedule: mixing_sampler.Schedule,
    rng: np.random.Generator,
    draws: Draws,
) -> None:
    for row in range(draws.theta.shape[0]):
        mixing_sampler.sample(counts, ridges, state, schedule, rng)
        _copy(state, draws, row)


@kernel
def _record_walk(
    on_log_odds: bool,
    counts: CountArrays,
    state: ChainState,
    walk: RandomWalk,
    rng: np.random.Generator,
    draws: Draws,
) -> None:
    theta, kappa = state.theta, state.kappa
    for row in range(draws.theta.shape[0]):
        if on_log_odds:
            log_odds_random_walk.sample(counts, theta, kappa, walk, rng)
        else:
            truncated_random_walk.sample(counts, theta, kappa, walk, rng)
        _copy(state, draws, row)


@kernel(inline=True)
def _copy(state: ChainState, draws: Draws, row: int) -> None:
    copy(state.theta, draws.theta[row])
    copy(state.kappa, draws.kappa[row])
    copy(state.beta, draws.beta[row])


@kernel
def _acceptance_rates(
    counts: CountArrays,
    ridges: Ridges,
    state: ChainState,
    free_from: int,
    sweeps: int,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """The share of matched steps and the share of slides that changed a value. Without slides, their share is NaN."""
    theta, kappa, beta = state.theta, state.kappa, state.beta
    clicks, skips, main_positions = counts.clicks, counts.skips, ridges.main_positions
    of_theta, of_kappa = given_kappa(counts, kappa), given_theta(counts, theta)
    prior, uniform = BetaFactor(beta[0] - 1.0, beta[1] - 1.0), BetaFactor(0.0, 0.0)
    find_main_positions(clicks, main_positions)
    theta_before, kappa_before = np.empty_like(theta), np.empty_like(kappa)
    changed_steps, slides, changed_slides = 0, 0, 0
    for _ in range(sweeps):
        copy(theta, theta_before)
        copy(kappa, kappa_before)
        redraw(theta, of_theta, prior, Scan(0, 1, mixing_sampler.SLICE_EVERY), rng)
        redraw(kappa, of_kappa, uniform, Scan(free_from, 1, mixing_sampler.SLICE_EVERY), rng)
        changed_steps += (theta != theta_before).sum() + (kappa != kappa_before).sum()
        for position in range(kappa.size):
            if (main_positions == position).any():
                slides += 1
                copy(theta, theta_before)
                copy(kappa, kappa_before)
                scan, components_of = PositionScan(position, kappa.size, free_from), (ridges.items, ridges.positions)
                slide(scan, clicks, skips, theta, kappa, main_positions, *components_of, prior, rng)
                changed_slides += (theta != theta_before).any() or (kappa != kappa_before).any()
    steps = sweeps * (theta.size + kappa.size - free_from)
    return changed_steps / steps, changed_slides / slides if slides > 0 else np.nan
