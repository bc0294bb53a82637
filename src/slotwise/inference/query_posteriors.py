"""Compute posterior means and intervals of many queries in parallel threads. Each query has its own budget."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, integer_at_least
from slotwise.inference.fit_warnings import name_list
from slotwise.inference.sampling.posterior import MOST_SWEEPS, Posterior, posterior, target_of
from slotwise.logs.query import Query

MIN_ESS = 400  # a theta or kappa with a smaller effective sample size gets no interval
MAX_CELL_SWEEPS = 300_000_000  # cells x sweeps of a query if no budget is given; one core takes half a minute
Progress = Callable[[int], None]


class QueryEstimate(NamedTuple):
    """Theta and kappa of one query, with their uncertainty."""

    theta: Floats
    theta_error: Floats
    theta_interval: Floats
    kappa: Floats
    kappa_error: Floats
    kappa_interval: Floats
    ess: float
    warnings: list[str]


class SamplingSettings(NamedTuple):
    """The settings of the sampler for every query. They are not yet validated."""

    prior: Any
    draws: int
    budget: int | None  # sweeps for each query
    seed: int
    threads: int | None


def posterior_estimates(
    queries: Sequence[Query], level: float, settings: SamplingSettings, progress: Progress | None
) -> list[QueryEstimate]:
    """The estimates of all queries. They do not depend on the order of the queries or the number of threads."""
    threads, budget = settings.threads, settings.budget
    cores = (os.cpu_count() or 1) if threads is None else integer_at_least("threads", threads, least=1)
    checked = SamplingSettings(
        settings.prior,
        integer_at_least("draws", settings.draws, least=MIN_ESS),
        None if budget is None else integer_at_least("budget", budget, least=1),
        integer_at_least("seed", settings.seed, least=0),
        threads=1 if len(queries) > 1 else cores,
    )
    for query in queries[:1]:
        target_of(query.counts, settings.prior, "none")  # to report an invalid prior before any sampling
    estimates = []
    with ThreadPoolExecutor(cores, thread_name_prefix="slotwise") as pool:
        # an exception here cancels the queries that have not started
        for estimate in pool.map(lambda query: _estimate(query, level, checked), queries):
            estimates.append(estimate)
            if progress:
                progress(len(estimates))
    return estimates


def seed_of(seed: int, name: str) -> int:
    """The seed of a query. It depends only on `seed` and the name of the query."""
    digest = hashlib.sha256(f"{seed} {name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _estimate(query: Query, level: float, settings: SamplingSettings) -> QueryEstimate:
    most = min(MOST_SWEEPS * settings.draws, max(MAX_CELL_SWEEPS // query.counts.clicks.size, 1))
    sampled = posterior(
        query.counts,
        settings.draws,
        settings.prior,
        ess=float(MIN_ESS),
        budget=settings.budget or most,
        seed=seed_of(settings.seed, query.name),
        threads=settings.threads,
    )
    return _summarise(query, sampled, level)


def _summarise(query: Query, sampled: Posterior, level: float) -> QueryEstimate:
    """Posterior means with standard deviations and intervals.

    A value whose effective sample size is too small gets neither a standard deviation nor an interval.
    """
    n_items = len(query.items)
    both = np.concatenate([sampled.theta, sampled.kappa], axis=1)
    convention = (both == 1.0).all(axis=0)  # the most visible position, if it is the same in all draws
    ready = (sampled.effective_sample_sizes >= MIN_ESS) | convention
    unlinked = np.concatenate([np.zeros(n_items, np.bool_), sampled.unlinked])
    error = np.where(ready & ~unlinked, both.std(axis=0), np.nan)
    interval = np.where(ready[:, None], np.concatenate(sampled.intervals(level)), np.nan)
    return QueryEstimate(
        both[:, :n_items].mean(axis=0),
        error[:n_items],
        interval[:n_items],
        both[:, n_items:].mean(axis=0),
        error[n_items:],
        interval[n_items:],
        sampled.ess,
        _ess_warnings(query, ready, sampled),
    )


def _ess_warnings(query: Query, ready: NDArray[np.bool_], sampled: Posterior) -> list[str]:
    if ready.all():
        return []
    n_items, flags = len(query.items), ready.tolist()
    lists = [
        name_list(what, [repr(name) for name, is_ready in zip(names, flags_of_names, strict=True) if not is_ready])
        for what, names, flags_of_names in [
            ("item", query.items, flags[:n_items]),
            ("position", query.positions, flags[n_items:]),
        ]
        if not all(flags_of_names)
    ]
    return [
        f"{' and '.join(lists)}: not ready, the effective sample size is below {MIN_ESS} after {sampled.sweeps:,} "
        "sweeps, so there is no interval; increase the budget"
    ]
