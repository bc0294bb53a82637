"""Posterior means and intervals of many queries, spread over threads, each with a budget of its own."""

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, whole
from slotwise.inference.fit_warnings import about
from slotwise.inference.sampling.posterior import MOST_SWEEPS, Posterior, posterior, target_of
from slotwise.logs.query import Query

WORTH = 400  # independent draws that a number needs for its interval to be told
MOST_WORK = 300_000_000  # cells x sweeps of one query, unless it is given a budget: half a minute of one core
Progress = Callable[[int], None]


class Estimate(NamedTuple):
    """Theta and kappa of one query, and how surely."""

    theta: Floats
    theta_error: Floats
    theta_interval: Floats
    kappa: Floats
    kappa_error: Floats
    kappa_interval: Floats
    ess: float
    warnings: list[str]


class Settings(NamedTuple):
    """What every query is sampled with."""

    level: float
    prior: Any
    draws: int
    budget: int | None
    seed: int
    threads: int  # of one query

    def estimate(self, query: Query) -> Estimate:
        """The posterior of one query, in numbers."""
        budget = self.budget or min(MOST_SWEEPS * self.draws, max(MOST_WORK // query.counts.clicks.size, 1))
        found = posterior(
            query.counts,
            self.draws,
            self.prior,
            ess=float(WORTH),
            budget=budget,
            seed=seed_of(self.seed, query.name),
            threads=self.threads,
        )
        return _told(query, found, self.level)


def estimates(
    queries: Sequence[Query],
    level: float,
    prior: Any,
    draws: int,
    budget: int | None,
    seed: int,
    threads: int | None,
    progress: Progress | None,
) -> list[Estimate]:
    """Every query's, whatever the order of the queries and the number of threads."""
    cores = (os.cpu_count() or 1) if threads is None else whole("threads", threads, least=1)
    settings = Settings(
        level,
        prior,
        whole("draws", draws, least=WORTH),
        None if budget is None else whole("budget", budget, least=1),
        whole("seed", seed, least=0),
        threads=1 if len(queries) > 1 else cores,
    )
    for query in queries[:1]:
        target_of(query.counts, prior, "none")  # a bad prior is said at once
    found = []
    with ThreadPoolExecutor(cores, thread_name_prefix="slotwise") as pool:
        for one in pool.map(settings.estimate, queries):  # left early, it cancels the rest
            found.append(one)
            if progress:
                progress(len(found))
    return found


def seed_of(seed: int, name: str) -> int:
    """A seed for each query that depends on nothing but its name."""
    digest = hashlib.sha256(f"{seed} {name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _told(query: Query, found: Posterior, level: float) -> Estimate:
    """Means; deviations and intervals only of what the draws are worth enough for."""
    n_items = len(query.items)
    both = np.concatenate([found.theta, found.kappa], axis=1)
    convention = (both == 1.0).all(axis=0)  # the most visible position, when it is the same in all draws
    ready = (found.effective >= WORTH) | convention
    error = np.where(ready, both.std(axis=0), np.nan)
    interval = np.where(ready[:, None], np.concatenate(found.intervals(level)), np.nan)
    return Estimate(
        both[:, :n_items].mean(axis=0),
        error[:n_items],
        interval[:n_items],
        both[:, n_items:].mean(axis=0),
        error[n_items:],
        interval[n_items:],
        found.ess,
        _not_ready(query, ready, found),
    )


def _not_ready(query: Query, ready: NDArray[np.bool_], found: Posterior) -> list[str]:
    if ready.all():
        return []
    told = ready.tolist()
    who = [
        about(what, [repr(name) for name, good in zip(names, part, strict=True) if not good])
        for what, names, part in [
            ("item", query.items, told[: len(query.items)]),
            ("position", query.positions, told[len(query.items) :]),
        ]
        if not all(part)
    ]
    return [
        f"not ready: after {found.sweeps:,} sweeps the draws are worth fewer than {WORTH} independent ones for "
        f"{' and '.join(who)}, which get no interval; a larger budget would help"
    ]
