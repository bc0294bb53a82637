"""The theta and kappa that a policy uses during a run: those of the true model, or of a warm-started estimator."""

from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels.pbm import Model
from slotwise.copying import copy
from slotwise.counts import CountArrays
from slotwise.inference.estimation.em import em_pass
from slotwise.inference.estimation.svd import Fill, click_rates, rank_one
from slotwise.jit import kernel

SVD_ITERATIONS = 100  # the largest number; late in a run, three or four are enough to converge
EM_PASSES = 10
EM_TOLERANCE = 1e-4
EM_PRIOR = 1.0  # Beta(2, 2), which keeps unobserved items at 1/2


class KappaSource(IntEnum):
    """Where kappa comes from: the true model (the paper's semi-oracle) or an estimator (greedy, in the paper)."""

    ORACLE = 0
    SVD = 1
    EM = 2


class Estimator(IntEnum):
    """The estimator of theta and kappa."""

    SVD = KappaSource.SVD.value
    EM = KappaSource.EM.value


class EstimatingState(Protocol):
    """The fields that `refresh` needs in a policy's state."""

    @property
    def counts(self) -> CountArrays: ...

    @property
    def estimate(self) -> "RunningEstimate": ...


class RunningEstimate(NamedTuple):
    """The current (theta, kappa), scaled to kappa_1 = 1, and the warm start of the estimators.

    The estimate can always be recomputed from the counts. A position that is more visible than the first has a kappa
    above 1. Positions are ranked by kappa without a cap.
    """

    theta: Floats
    kappa: Floats
    capped_kappa: Floats  # kappa capped at 1, for laws that need a probability
    raw_theta: Floats  # on EM's own scale, because its priors apply to that scale
    raw_kappa: Floats
    rates: Floats  # N x L
    examinations: Floats  # L


def kappa_source_error(source: int, model: Model) -> str | None:
    """An error message if a policy's source of kappa is invalid, else None."""
    if source == KappaSource.ORACLE and model.kappa.size == 0:
        return "kappa = 'oracle' needs model, the true PBM; if it is not known, choose kappa = 'svd' or 'em'"
    return None


@kernel
def initial_estimate(n_items: int, n_positions: int) -> RunningEstimate:
    """The estimate without counts: every theta is 1/2, and all positions are equally visible."""
    return RunningEstimate(
        np.full(n_items, 0.5),
        np.ones(n_positions),
        np.ones(n_positions),
        np.full(n_items, 0.5),
        np.full(n_positions, 0.5),
        np.zeros((n_items, n_positions)),
        np.zeros(n_positions),
    )


@kernel
def initial_estimate_from(source: int, model: Model, n_items: int, n_positions: int) -> RunningEstimate:
    """The initial estimate. An oracle has the true kappa, which is never refreshed."""
    estimate = initial_estimate(n_items, n_positions)
    if source == KappaSource.ORACLE:
        copy(model.kappa, estimate.kappa)
        copy(model.kappa, estimate.capped_kappa)
    return estimate


@kernel
def grown_estimate(estimate: RunningEstimate, n_items: int, n_positions: int) -> RunningEstimate:
    """The same estimate, extended to more items and positions."""
    larger = initial_estimate(n_items, n_positions)
    copy(estimate.theta, larger.theta[: estimate.theta.size])
    copy(estimate.kappa, larger.kappa[: estimate.kappa.size])
    copy(estimate.capped_kappa, larger.capped_kappa[: estimate.kappa.size])
    copy(estimate.raw_theta, larger.raw_theta[: estimate.theta.size])
    copy(estimate.raw_kappa, larger.raw_kappa[: estimate.kappa.size])
    return larger


@kernel
def refresh(source: int, fill: int, pseudo_count: float, state: EstimatingState) -> None:
    """Update `state.estimate` from `state.counts`. `fill` and `pseudo_count` are settings of the SVD.

    This kernel is not inlined, and policies call it before they take arrays out of their state. Otherwise numba would
    count references to every array in each round, even for an oracle, which never calls this kernel.
    """
    counts, estimate = state.counts, state.estimate
    theta, kappa, capped_kappa = estimate.theta, estimate.kappa, estimate.capped_kappa
    if source == KappaSource.SVD:
        click_rates(counts, fill, pseudo_count, estimate.rates)
        rank_one(estimate.rates, SVD_ITERATIONS, fill == Fill.AUTHORS, theta, kappa)
    else:
        raw_theta, raw_kappa, examinations = estimate.raw_theta, estimate.raw_kappa, estimate.examinations
        for _ in range(EM_PASSES):
            if em_pass(counts, EM_PRIOR, raw_theta, raw_kappa, examinations) < EM_TOLERANCE:
                break
        scale = raw_kappa[0]  # positive because of the prior
        for item in range(theta.size):
            theta[item] = raw_theta[item] * scale
        for position in range(kappa.size):
            kappa[position] = raw_kappa[position] / scale
    for position in range(kappa.size):
        capped_kappa[position] = min(kappa[position], 1.0)
