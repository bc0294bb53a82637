"""How well a sampler does on given counts: effective samples, acceptance, agreement of chains. By ArviZ."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from slotwise.checks import BadInput, Floats, known, number, whole
from slotwise.counts import Counts
from slotwise.inference.sampling.chain import Chain, Sampler, Target
from slotwise.inference.sampling.posterior import BURN_IN, Named, check_room, gathered, target_of, unnamed

SAMPLERS = {sampler.name.lower(): sampler for sampler in Sampler}
AGREE, APART = 1.01, 1.1  # R-hats below which chains are taken to agree, and from which on they do not
ACCEPTANCE_SWEEPS = 200


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What chains of one sampler did; the arrays have a number for each variable: every theta, then every kappa."""

    sampler: str
    names: list[str]
    draws: Floats  # chains x draws of each x variables, scaled as they are reported
    ess_bulk: Floats  # NaN for what is 1 by convention
    ess_tail: Floats
    r_hat: Floats
    mean: Floats
    error: Floats  # Monte Carlo standard error of the mean
    ranks: Floats  # as draws: of each variable among the draws of all chains
    accepted: dict[str, float]  # share of the steps of each kind that moved
    sweeps: int  # of all chains, after the burn-in
    burn_in: int
    seconds: float  # of one core, for these sweeps

    @property
    def worst(self) -> int:
        """The variable with the smallest effective sample size."""
        return int(np.nanargmin(self.ess)) if np.isfinite(self.ess).any() else 0

    @property
    def ess(self) -> Floats:
        """The smaller of bulk and tail."""
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
        return self._most_apart < AGREE

    @property
    def verdict(self) -> str:
        """In words that go on from "the chains": whether they agree."""
        if self.agree:
            return f"agree (every R-hat is below {AGREE})"
        if self._most_apart < APART:
            worth = f"worth {self.ess[self.worst]:,.0f} independent draws"
            return f"may or may not agree (an R-hat of {self._most_apart:.3f}): {worth}, more of them would tell"
        return "do not agree: these draws tell little"

    @property
    def _most_apart(self) -> float:
        told = self.r_hat[np.isfinite(self.r_hat)]
        return float(told.max()) if told.size else math.inf


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
    named: Named | None = None,
    progress: Callable[[int], None] | None = None,
) -> Diagnosis:
    """Run chains of `mixing`, of the paper's `random_walk` or of its suggestion, `log_odds`, and judge them.

    The walks take steps of width / sqrt(t), t the number of displays, and know the uniform prior only. Every chain
    starts anywhere and burns in for half as many sweeps as it then records, at least 500.
    """
    arviz = _arviz()
    kind = SAMPLERS[known("sampler", sampler, SAMPLERS)]
    if kind is not Sampler.MIXING and prior != "uniform":
        raise BadInput(f"prior = {prior!r} needs the sampler 'mixing'; {sampler} has the uniform prior only")
    if not 0.0 < number("width", width) < np.inf:
        raise BadInput(f"width = {width!r} is not a positive number")
    target = target_of(counts, prior, reference)
    labels = named or unnamed(target)
    n_chains, spacing = whole("chains", chains, least=2), whole("thin", thin, least=1)
    each = -(-whole("draws", draws, least=4 * n_chains) // n_chains)
    check_room(each * n_chains, target)
    seeds = np.random.SeedSequence(whole("seed", seed, least=0)).spawn(n_chains)
    burn_in = max(BURN_IN, each * spacing // 2)
    running, seconds = [], 0.0
    for k, one in enumerate(seeds):
        chain = Chain(target, kind, float(width), np.random.default_rng(one))
        chain.burn_in(burn_in)  # also compiles, so that only sampling is timed below
        begun = time.thread_time()
        chain.record(each, spacing)
        seconds += time.thread_time() - begun
        running.append(chain)
        if progress:
            progress(k + 1)
    spent = each * spacing * n_chains
    found = gathered(target, running, each * n_chains, spent, spent, 0.0, labels)
    return Diagnosis(
        sampler=sampler,
        names=found.names,
        draws=found.by_chain,
        **_statistics(arviz, found.by_chain),
        accepted=_accepted(target, kind, running[0], width),
        sweeps=spent,
        burn_in=burn_in * n_chains,
        seconds=seconds,
    )


def _statistics(arviz: Any, draws: Floats) -> dict[str, Any]:
    axes = {"chain_axis": 0, "draw_axis": 1}
    moved = np.ptp(draws, axis=(0, 1)) > 0.0  # a variable that never moves is worth nothing, not everything
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "ess_bulk": arviz.ess(draws, method="bulk", **axes),
            "ess_tail": arviz.ess(draws, method="tail", prob=(0.05, 0.95), **axes),
            "r_hat": arviz.rhat(draws, method="rank", **axes),
            "error": arviz.mcse(draws, method="mean", **axes),
        }
    told = {name: np.where(moved, values, np.nan) for name, values in found.items()}
    from scipy.stats import rankdata  # type: ignore[import-untyped] # slow to load

    # not ArviZ's ranks, which break ties at random: the same seed gives the same picture
    ranks = rankdata(draws.reshape(-1, draws.shape[2]), axis=0).reshape(draws.shape)
    return told | {"mean": draws.mean(axis=(0, 1)), "ranks": ranks}


def _accepted(target: Target, kind: Sampler, chain: Chain, width: float) -> dict[str, float]:
    """From where a chain stands now."""
    probe = Chain(target, kind, float(width), np.random.default_rng(0))
    probe.now_theta[:], probe.now_kappa[:], probe.now_beta[:] = chain.now_theta, chain.now_kappa, chain.now_beta
    return probe.accepted(ACCEPTANCE_SWEEPS)


def _arviz() -> Any:
    try:
        return import_module("arviz_stats.base").array_stats
    except ImportError:
        raise BadInput("diagnose needs ArviZ; install it with: pip install 'slotwise[diagnostics]'") from None
