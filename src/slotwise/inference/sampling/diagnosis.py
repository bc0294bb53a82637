"""Diagnose the convergence of a sampler with ArviZ: effective sample sizes, acceptance rates and R-hat."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from slotwise.checks import BadInput, Floats, integer_at_least, number, one_of
from slotwise.counts import Counts
from slotwise.extras import require
from slotwise.inference.sampling.chain import Chain, Sampler, Target
from slotwise.inference.sampling.posterior import (
    BURN_IN,
    Goal,
    Labels,
    check_size,
    collect,
    index_labels,
    target_of,
)

SAMPLERS = {sampler.name.lower(): sampler for sampler in Sampler}
AGREE, DISAGREE = 1.01, 1.1  # chains agree if every R-hat is below AGREE, and disagree if one is at least DISAGREE
ACCEPTANCE_SWEEPS = 200


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """Diagnostics of the chains of one sampler. An array has one number for each theta, then one for each kappa."""

    sampler: str
    names: list[str]
    draws: Floats  # chains x draws per chain x variables, scaled as in `Posterior`
    ess_bulk: Floats  # NaN for a variable that is 1 by convention
    ess_tail: Floats
    r_hat: Floats
    mean: Floats
    error: Floats  # Monte Carlo standard error of the mean
    ranks: Floats  # the same shape as draws: the ranks of each variable over all chains
    accepted: dict[str, float]  # the acceptance rate of each kind of step
    sweeps: int  # the sweeps of all chains, without the burn-in
    burn_in: int
    seconds: float  # of CPU time for these sweeps

    @property
    def worst(self) -> int:
        """The variable with the smallest effective sample size."""
        return int(np.nanargmin(self.ess)) if np.isfinite(self.ess).any() else 0

    @property
    def ess(self) -> Floats:
        """The smaller of the bulk and the tail effective sample size."""
        return np.asarray(np.fmin(self.ess_bulk, self.ess_tail))

    @property
    def per_sweep(self) -> float:
        """Effective samples of the worst variable per sweep of a chain."""
        return float(self.ess[self.worst]) / self.sweeps

    @property
    def per_second(self) -> float:
        """Effective samples of the worst variable per second of one core."""
        return float(self.ess[self.worst]) / max(self.seconds, 1e-9)

    @property
    def agree(self) -> bool:
        """Whether every R-hat is below 1.01."""
        return self._largest_r_hat < AGREE

    @property
    def verdict(self) -> str:
        """Whether the chains agree, as text that continues a sentence beginning with "the chains"."""
        if self.agree:
            return f"agree (every R-hat is below {AGREE})"
        if self._largest_r_hat < DISAGREE:
            size = f"the effective sample size is {self.ess[self.worst]:,.0f}"
            return f"may or may not agree (the largest R-hat is {self._largest_r_hat:.3f}): {size}, use more draws"
        return "do not agree: these draws do not represent the posterior"

    @property
    def _largest_r_hat(self) -> float:
        values = self.r_hat[np.isfinite(self.r_hat)]
        return float(values.max()) if values.size else math.inf


def diagnose(
    counts: Counts,
    sampler: str = "mixing",
    draws: int = 4000,
    chains: int = 4,
    thin: int = 1,
    prior: str | tuple[float, float] = "uniform",
    reference: str = "none",
    width: float = 100.0,
    seed: int = 0,
    labels: Labels | None = None,
    progress: Callable[[int], None] | None = None,
) -> Diagnosis:
    """Run chains of one sampler and compute their diagnostics.

    The samplers are `mixing`, the paper's `random_walk`, and `log_odds`, which the paper's conclusion suggests. The two
    walks take steps of width / sqrt(t), where t is the number of displays, and support the uniform prior only. Every
    chain starts at a random point. Its burn-in is half as long as its recording, but at least 500 sweeps.
    """
    arviz = _arviz()
    kind = SAMPLERS[one_of("sampler", sampler, SAMPLERS)]
    if kind is not Sampler.MIXING and prior != "uniform":
        raise BadInput(f"prior = {prior!r} needs the sampler 'mixing'; {sampler} supports the uniform prior only")
    if not 0.0 < number("width", width) < np.inf:
        raise BadInput(f"width = {width!r} is not a positive number")
    target = target_of(counts, prior, reference)
    n_chains, n_thin = integer_at_least("chains", chains, least=2), integer_at_least("thin", thin, least=1)
    n_draws = -(-integer_at_least("draws", draws, least=4 * n_chains) // n_chains)
    check_size(n_draws * n_chains, target)
    seeds = np.random.SeedSequence(integer_at_least("seed", seed, least=0)).spawn(n_chains)
    burn_in = max(BURN_IN, n_draws * n_thin // 2)
    running, seconds = [], 0.0
    for k, chain_seed in enumerate(seeds):
        chain = Chain(target, kind, float(width), np.random.default_rng(chain_seed))
        chain.burn_in(burn_in)  # this also compiles, so that only sampling is timed below
        started = time.thread_time()
        chain.record(n_draws, n_thin)
        seconds += time.thread_time() - started
        running.append(chain)
        if progress:
            progress(k + 1)
    sweeps = n_draws * n_thin * n_chains
    goal = Goal(n_draws * n_chains, 0.0, sweeps)
    result = collect(target, running, goal, sweeps, labels or index_labels(target))
    return Diagnosis(
        sampler=sampler,
        names=result.names,
        draws=result.by_chain,
        **_statistics(arviz, result.by_chain),
        accepted=_accepted(target, kind, running[0], width),
        sweeps=sweeps,
        burn_in=burn_in * n_chains,
        seconds=seconds,
    )


def _statistics(arviz: Any, draws: Floats) -> dict[str, Any]:
    axes = {"chain_axis": 0, "draw_axis": 1}
    changes = np.ptp(draws, axis=(0, 1)) > 0.0  # a variable that never changes gets NaN, not a perfect result
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {
            "ess_bulk": arviz.ess(draws, method="bulk", **axes),
            "ess_tail": arviz.ess(draws, method="tail", prob=(0.05, 0.95), **axes),
            "r_hat": arviz.rhat(draws, method="rank", **axes),
            "error": arviz.mcse(draws, method="mean", **axes),
        }
    statistics = {name: np.where(changes, array, np.nan) for name, array in values.items()}
    from scipy.stats import rankdata  # type: ignore[import-untyped] # slow to load

    # ArviZ breaks ties at random; these ranks are the same for the same seed
    ranks = rankdata(draws.reshape(-1, draws.shape[2]), axis=0).reshape(draws.shape)
    return statistics | {"mean": draws.mean(axis=(0, 1)), "ranks": ranks}


def _accepted(target: Target, kind: Sampler, chain: Chain, width: float) -> dict[str, float]:
    """Run a chain from its current state, and return its acceptance rates."""
    copy = Chain(target, kind, float(width), np.random.default_rng(0))
    for values, current in zip(copy.state, chain.state, strict=True):
        values[:] = current
    return copy.accepted(ACCEPTANCE_SWEEPS)


def _arviz() -> Any:
    require("diagnostics", "diagnose")
    return import_module("arviz_stats.base").array_stats
