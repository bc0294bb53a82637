"""Draws of (theta, kappa) in the form in which a page keeps them, and the kernel that records them from a chain."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.mixing_sampler import Schedule, sample
from slotwise.inference.sampling.ridges import Ridges
from slotwise.jit import kernel

Float32s = NDArray[np.float32]


class EnsembleDraws(NamedTuple):
    """M draws. Single precision halves their memory, and the order of two scores hardly ever depends on it.

    The kappas of a draw are not scaled to any sum, because displays depend only on the order of the products.
    """

    theta: Float32s  # M x N
    kappa: Float32s  # M x L
    beta: Floats  # M x 2: an item without counts has a theta from Beta(a, b)
    regression: Floats  # M x (1 + d): then b depends on the features of the item; M x 0 if there are no features

    @classmethod
    def empty(cls, draws: int, n_items: int, n_positions: int, n_parameters: int = 0) -> "EnsembleDraws":
        """Arrays to be filled. An item without counts has a uniform theta."""
        theta, kappa = np.zeros((draws, n_items), np.float32), np.zeros((draws, n_positions), np.float32)
        return cls(theta, kappa, np.ones((draws, 2)), np.zeros((draws, n_parameters)))

    def rows(self, first: int, last: int) -> "EnsembleDraws":
        """The draws with these numbers. They share their memory with all draws."""
        theta, kappa, beta, regression = self
        return EnsembleDraws(theta[first:last], kappa[first:last], beta[first:last], regression[first:last])


@kernel
def record_draws(
    counts: CountArrays,
    ridges: Ridges,
    chain: ChainState,
    schedule: Schedule,
    draws: EnsembleDraws,
    rng: np.random.Generator,
) -> None:
    """Fill the draws from the chain. Between two draws, the chain moves by the sweeps of the schedule."""
    theta, kappa, beta = chain.theta, chain.kappa, chain.beta
    thetas, kappas, betas = draws.theta, draws.kappa, draws.beta
    for draw in range(thetas.shape[0]):
        sample(counts, ridges, chain, schedule, rng)
        for item in range(theta.size):
            thetas[draw, item] = theta[item]
        for position in range(kappa.size):
            kappas[draw, position] = kappa[position]
        betas[draw, 0] = beta[0]
        betas[draw, 1] = beta[1]
