"""A chain on what was shown: only that has a posterior to be explored, the rest keeps its prior.

A theta of which nothing was counted is Beta(a, b) whatever the data, and a kappa uniform, so they are drawn at once. In
a chain they are worse than useless where a and b are learnt: all thetas hold on to a and b, and these to all thetas.
"""

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.sampling.beta_prior import Learnt
from slotwise.inference.sampling.chain import Chain, Sampler, Target


class ShownChain:
    """Draws as a `Chain` on all items and positions would make them, and the very same ones when all were shown."""

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        counted = (target.tally.clicks + target.tally.skips) > 0.0
        self._items, self._positions = np.array(counted.any(axis=1)), np.array(counted.any(axis=0))
        self._positions[: target.free_from] = True  # the reference is part of the scale, shown or not
        self._target, self._rng = target, rng
        self._chain = Chain(self._reduced(), Sampler.MIXING, 1.0, rng) if self._items.any() else None
        self.theta, self.kappa, self.beta = np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 2))
        self.sweeps = 0

    def stop(self) -> None:
        """End a record early, from another thread."""
        if self._chain is not None:
            self._chain.stopped = True

    def burn_in(self, sweeps: int) -> None:
        """Move without a record, in steps that get away from any start."""
        if self._chain is not None:
            self._chain.burn_in(sweeps)
            self.sweeps += sweeps

    def record(self, draws: int, thin: int) -> None:
        """Record a draw after every `thin` sweeps, in place of what was recorded before."""
        if self._chain is None:
            self.beta = self._prior(draws)
            self.theta, self.kappa = self._unseen(draws)
            self.kappa[:, : self._target.free_from] = 1.0
            return
        self._chain.record(draws, thin)
        self.sweeps += draws * thin
        self.theta, self.kappa, self.beta = self._chain.theta, self._chain.kappa, self._chain.beta
        if not (self._items.all() and self._positions.all()):
            theta, kappa = self._unseen(draws)
            theta[:, self._items], kappa[:, self._positions] = self.theta, self.kappa
            self.theta, self.kappa = theta, kappa

    def _reduced(self) -> Target:
        tally, target = self._target.tally, self._target
        if self._items.all() and self._positions.all():
            return target
        there = np.ix_(self._items, self._positions)
        counts = Counts(tally.clicks[there], tally.skips[there], float(tally.displays[0]))
        return Target(counts.arrays(), target.beta, target.learnt, target.free_from)

    def _prior(self, draws: int) -> Floats:
        """a and b when no theta tells anything of them."""
        beta = np.tile(np.array(self._target.beta), (draws, 1))
        if self._target.learnt is not Learnt.NOTHING:
            first = 0 if self._target.learnt is Learnt.BOTH else 1
            beta[:, first:] = 1.0 / (1.0 - self._rng.random((draws, 2 - first)))  # of ]0, 1]
        return beta

    def _unseen(self, draws: int) -> tuple[Floats, Floats]:
        """Every theta and kappa from its prior."""
        n_items, n_positions = self._target.shape
        theta = self._rng.beta(self.beta[:, :1], self.beta[:, 1:], (draws, n_items))
        return theta, self._rng.random((draws, n_positions))
