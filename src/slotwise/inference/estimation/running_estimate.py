"""Where a policy takes (theta, kappa) from while it plays: the truth, or an estimator with a warm start."""

from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays
from slotwise.inference.estimation.em import em_pass
from slotwise.inference.estimation.svd import click_rates, rank_one
from slotwise.jit import kernel

SVD_ITERATIONS = 2
EM_PASSES = 10
EM_TOLERANCE = 1e-4
EM_PRIOR = 1.0  # Beta(2, 2), so that items never shown stay at 1/2


class Source(IntEnum):
    """Where kappa comes from: told (the paper's semi-oracle), or estimated (the paper's greedy versions)."""

    ORACLE = 0
    SVD = 1
    EM = 2


class State(Protocol):
    """What `refresh` needs of a policy's state."""

    @property
    def counts(self) -> CountArrays:
        """All that was learnt."""

    @property
    def estimate(self) -> "Estimate":
        """The current estimate."""


class Estimator(IntEnum):
    """What theta and kappa are estimated with; the numbers are those of Source."""

    SVD = 1
    EM = 2


def told(source: int, model: Model) -> str | None:
    """What is wrong with a policy's source of kappa, if anything."""
    if source == Source.ORACLE and model.kappa.size == 0:
        return "kappa = 'oracle' needs model, the true PBM; where nobody knows it, say kappa = 'svd' or 'em'"
    return None


class Estimate(NamedTuple):
    """The current (theta, kappa), scaled to kappa_1 = 1, and what the estimators need to go on from.

    All of it can be lost without losing knowledge: it is computed from the counts.
    """

    theta: Floats
    kappa: Floats
    raw_theta: Floats  # EM's own scale, in which its priors are
    raw_kappa: Floats
    rates: Floats  # N x L
    looks: Floats  # L


@kernel
def first_guess(n_items: int, n_positions: int) -> Estimate:
    """Before any count: everything 1/2, every position as visible as the next."""
    return Estimate(
        np.full(n_items, 0.5),
        np.ones(n_positions),
        np.full(n_items, 0.5),
        np.full(n_positions, 0.5),
        np.zeros((n_items, n_positions)),
        np.zeros(n_positions),
    )


@kernel
def told_or_guessed(source: int, model: Model, n_items: int, n_positions: int) -> Estimate:
    """The first guess, with the true kappa for an oracle, whose estimate needs no refreshing."""
    estimate = first_guess(n_items, n_positions)
    if source == Source.ORACLE:
        estimate.kappa[:] = model.kappa
    return estimate


@kernel
def regrown(estimate: Estimate, n_items: int, n_positions: int) -> Estimate:
    """The same guess with room for more."""
    larger = first_guess(n_items, n_positions)
    larger.theta[: estimate.theta.size] = estimate.theta
    larger.kappa[: estimate.kappa.size] = estimate.kappa
    larger.raw_theta[: estimate.theta.size] = estimate.raw_theta
    larger.raw_kappa[: estimate.kappa.size] = estimate.raw_kappa
    return larger


@kernel
def refresh(source: int, fill: int, state: State) -> None:
    """Bring `state.estimate` up to date with `state.counts`.

    Not inlined, and called before a policy takes arrays out of its state: else numba counts references to every array
    in each round of an oracle too, which never comes here.
    """
    counts, estimate = state.counts, state.estimate
    theta, kappa = estimate.theta, estimate.kappa
    if source == Source.SVD:
        click_rates(counts, fill, estimate.rates)
        rank_one(estimate.rates, SVD_ITERATIONS, theta, kappa)
        return
    raw_theta, raw_kappa, looks = estimate.raw_theta, estimate.raw_kappa, estimate.looks
    for _ in range(EM_PASSES):
        if em_pass(counts, EM_PRIOR, raw_theta, raw_kappa, looks) < EM_TOLERANCE:
            break
    scale = raw_kappa[0]  # never 0: the prior keeps it off
    for item in range(theta.size):
        theta[item] = min(raw_theta[item] * scale, 1.0)
    for position in range(kappa.size):
        kappa[position] = min(raw_kappa[position] / scale, 1.0)
