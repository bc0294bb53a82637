"""A chain on the observed items and positions. All other thetas and kappas are drawn from their prior.

Given a and b, a theta without counts is Beta(a, b) and a kappa without counts is uniform, whatever the data are. So
these values can be drawn directly. As coordinates of the chain, they would slow down mixing if a and b are learnt: all
thetas depend on a and b, which depend on all thetas.
"""

import numpy as np

from slotwise.checks import Floats
from slotwise.counts import Counts
from slotwise.inference.sampling.chain import Chain, Draws, Sampler, Target
from slotwise.inference.sampling.learnt_prior import Learnt


class ChainOnObserved:
    """A chain whose draws have the law of a `Chain` on all items and positions.

    If all items and positions are observed, a `Chain` gives exactly the same draws.
    """

    def __init__(self, target: Target, rng: np.random.Generator) -> None:
        observed = (target.counts.clicks + target.counts.skips) > 0.0
        self._items, self._positions = np.array(observed.any(axis=1)), np.array(observed.any(axis=0))
        self._positions[: target.free_from] = True  # the reference position fixes the scale, even if it is not observed
        self._target, self._rng = target, rng
        self._chain = Chain(self._observed_target(), Sampler.MIXING, 1.0, rng) if self._items.any() else None
        self.draws = Draws.empty(0, target.shape)
        self.sweeps = 0

    def stop(self) -> None:
        """Stop the current recording early. Another thread may call this."""
        if self._chain is not None:
            self._chain.stopped = True

    def burn_in(self, sweeps: int) -> None:
        """Update the state without recording it. The steps work from any starting point."""
        if self._chain is not None:
            self._chain.burn_in(sweeps)
            self.sweeps += sweeps

    def record(self, draws: int, thin: int) -> None:
        """Record a draw after every `thin` sweeps. This replaces the earlier record."""
        if self._chain is None:
            self.draws = self._from_prior(draws, self._prior_beta(draws))
            self.draws.kappa[:, : self._target.free_from] = 1.0
            return
        self._chain.record(draws, thin)
        self.sweeps += draws * thin
        self.draws = self._chain.draws
        if not (self._items.all() and self._positions.all()):
            completed = self._from_prior(draws, self.draws.beta)
            completed.theta[:, self._items], completed.kappa[:, self._positions] = self.draws.theta, self.draws.kappa
            self.draws = completed

    def _observed_target(self) -> Target:
        target, counts = self._target, self._target.counts
        if self._items.all() and self._positions.all():
            return target
        cells = np.ix_(self._items, self._positions)
        observed = Counts(counts.clicks[cells], counts.skips[cells], float(counts.displays[0]))
        return Target(observed.arrays(), target.beta, target.learnt, target.free_from)

    def _prior_beta(self, draws: int) -> Floats:
        """Draws of a and b from their prior, for counts without any observed item."""
        beta = np.tile(np.array(self._target.beta), (draws, 1))
        if self._target.learnt is not Learnt.NOTHING:
            first = 0 if self._target.learnt is Learnt.BOTH else 1
            beta[:, first:] = 1.0 / (1.0 - self._rng.random((draws, 2 - first)))  # 1/a and 1/b are in (0, 1]
        return beta

    def _from_prior(self, draws: int, beta: Floats) -> Draws:
        """Draws of every theta and kappa from their prior given a and b."""
        n_items, n_positions = self._target.shape
        theta = self._rng.beta(beta[:, :1], beta[:, 1:], (draws, n_items))
        return Draws(theta, self._rng.random((draws, n_positions)), beta)
