"""A Markov chain on the posterior of a PBM: where it stands, its randomness, and which sampler moves it."""

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.components import components
from slotwise.inference.sampling import log_odds, metropolis, mixing
from slotwise.inference.sampling.beta_prior import Learnt
from slotwise.inference.sampling.coordinate_step import redraw
from slotwise.inference.sampling.ridges import NOWHERE, Ridges, find_homes, slide
from slotwise.jit import kernel

PIECE = 3_000_000  # items x positions x sweeps that one compiled call takes at most


class Sampler(IntEnum):
    """What moves a chain."""

    MIXING = 0
    RANDOM_WALK = 1
    LOG_ODDS = 2


@dataclass(frozen=True)
class Target:
    """The posterior to be sampled: counts, prior and reference."""

    tally: CountArrays
    beta: tuple[float, float]  # a and b of the prior of theta, or where they start
    learnt: Learnt
    free_from: int  # 1 when kappa_1 = 1 is fixed

    @property
    def shape(self) -> tuple[int, int]:
        """Items and positions."""
        n_items, n_positions = self.tally.clicks.shape
        return n_items, n_positions


class Chain:
    """One chain, from a start anywhere, so that chains which agree did not agree from the start."""

    def __init__(self, target: Target, sampler: Sampler, width: float, rng: np.random.Generator) -> None:
        self.target, self.sampler, self.rng = target, sampler, rng
        n_items, n_positions = target.shape
        items, positions = components(target.tally)
        self.ridges = Ridges(np.full(n_items, NOWHERE), items, positions)
        self.now_theta, self.now_kappa = rng.random(n_items), rng.random(n_positions)
        self.now_kappa[: target.free_from] = 1.0
        self.now_beta = np.array(target.beta)
        self.sigma = width / math.sqrt(1.0 + float(target.tally.displays[0]))
        self.theta, self.kappa, self.beta = self._rows(0)
        self.stopped = False  # set from outside, ends a record early

    def burn_in(self, sweeps: int) -> None:
        """Move without a record, in steps that get away from any start."""
        self._record(sweeps, 1, *self._rows(1))

    def record(self, draws: int, thin: int) -> None:
        """Record a draw after every `thin` sweeps, in place of what was recorded before."""
        self.theta, self.kappa, self.beta = self._rows(draws)
        self._record(thin, mixing.RARELY, self.theta, self.kappa, self.beta)

    def accepted(self, sweeps: int) -> dict[str, float]:
        """The share of each kind of step that moved, over so many sweeps."""
        target, theta, kappa = self.target, self.now_theta, self.now_kappa
        if self.sampler is Sampler.MIXING:
            moved = np.zeros(2)
            beta, free_from = self.now_beta, target.free_from
            _accepted(target.tally, theta, kappa, beta, free_from, self.ridges, sweeps, self.rng, moved)
            return {"matched": float(moved[0]), "slide": float(moved[1])}
        steps = theta.size + kappa.size - target.free_from
        self.record(sweeps, 1)
        shifts = [(np.diff(values, axis=0) != 0.0).sum() for values in (self.theta, self.kappa)]
        return {"walk": float(sum(shifts)) / (steps * max(sweeps - 1, 1))}

    def _rows(self, draws: int) -> tuple[Floats, Floats, Floats]:
        n_items, n_positions = self.target.shape
        return np.empty((draws, n_items)), np.empty((draws, n_positions)), np.empty((draws, 2))

    def _record(self, thin: int, slice_every: int, thetas: Floats, kappas: Floats, betas: Floats) -> None:
        """In pieces of a fraction of a second, so that an interrupt is heard in between."""
        most = max(PIECE // self.target.tally.clicks.size, 1)  # sweeps
        rows = max(most // thin, 1)
        for start in range(0, len(thetas), rows):
            left, end = thin, start + rows
            while left > most and not self.stopped:  # one row is a long way
                self._move(most, slice_every, *self._rows(1))
                left -= most
            if self.stopped:
                return
            self._move(left, slice_every, thetas[start:end], kappas[start:end], betas[start:end])

    def _move(self, thin: int, slice_every: int, thetas: Floats, kappas: Floats, betas: Floats) -> None:
        target, theta, kappa, beta = self.target, self.now_theta, self.now_kappa, self.now_beta
        tally, free_from = target.tally, target.free_from
        if self.sampler is Sampler.MIXING:
            fixed = (beta, target.learnt.value, free_from, self.ridges)
            _record_mixing(tally, theta, kappa, *fixed, slice_every, thin, self.rng, thetas, kappas, betas)
        else:
            odds = self.sampler is Sampler.LOG_ODDS
            _record_walk(odds, tally, theta, kappa, free_from, self.sigma, thin, self.rng, thetas, kappas)
            betas[:] = beta


@kernel
def _record_mixing(
    tally: CountArrays,
    theta: Floats,
    kappa: Floats,
    beta: Floats,
    learnt: int,
    free_from: int,
    ridges: Ridges,
    slice_every: int,
    thin: int,
    rng: np.random.Generator,
    thetas: Floats,
    kappas: Floats,
    betas: Floats,
) -> None:
    for draw in range(thetas.shape[0]):
        mixing.sample(tally, theta, kappa, beta, learnt, free_from, ridges, 1, slice_every, thin, rng)
        thetas[draw] = theta
        kappas[draw] = kappa
        betas[draw] = beta


@kernel
def _record_walk(
    odds: bool,
    tally: CountArrays,
    theta: Floats,
    kappa: Floats,
    free_from: int,
    sigma: float,
    thin: int,
    rng: np.random.Generator,
    thetas: Floats,
    kappas: Floats,
) -> None:
    for draw in range(thetas.shape[0]):
        if odds:
            log_odds.sample(tally, theta, kappa, free_from, sigma, thin, rng)
        else:
            metropolis.sample(tally, theta, kappa, free_from, sigma, thin, rng)
        thetas[draw] = theta
        kappas[draw] = kappa


@kernel
def _accepted(
    tally: CountArrays,
    theta: Floats,
    kappa: Floats,
    beta: Floats,
    free_from: int,
    ridges: Ridges,
    sweeps: int,
    rng: np.random.Generator,
    moved: Floats,
) -> None:
    """Fill `moved` with the share of matched steps, and of slides, that changed something."""
    clicks, skips = tally.clicks, tally.skips
    more_clicks, more_skips = beta[0] - 1.0, beta[1] - 1.0
    find_homes(clicks, ridges.homes)
    before, slides = np.empty(theta.size + kappa.size), 0
    for _ in range(sweeps):
        before[: theta.size], before[theta.size :] = theta, kappa
        redraw(theta, 0, 1, tally.item_clicks, skips, kappa, more_clicks, more_skips, mixing.RARELY, rng)
        redraw(kappa, free_from, 1, tally.position_clicks, tally.skips_by_position, theta, 0.0, 0.0, mixing.RARELY, rng)
        moved[0] += (theta != before[: theta.size]).sum() + (kappa != before[theta.size :]).sum()
        for position in range(kappa.size):
            if (ridges.homes == position).any():
                slides += 1
                before[: theta.size], before[theta.size :] = theta, kappa
                arrays = (clicks, skips, theta, kappa, ridges.homes, ridges.items, ridges.positions)
                slide(position, kappa.size, free_from, *arrays, more_clicks, more_skips, rng)
                moved[1] += (theta != before[: theta.size]).any() or (kappa != before[theta.size :]).any()
    moved[0] /= sweeps * (theta.size + kappa.size - free_from)
    moved[1] = moved[1] / slides if slides > 0 else np.nan
