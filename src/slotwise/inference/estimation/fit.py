"""fit: from counts to a position-based model, with standard errors and a plain report of what counts cannot tell."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats, Ints, known
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.inference.estimation.batch import Batch, fit_em, fit_svd, report
from slotwise.inference.estimation.svd import Fill
from slotwise.inference.fit_warnings import cautions, flagged


class Intervals(NamedTuple):
    """Lower and upper ends: theta is N x 2, kappa is L x 2."""

    theta: Floats
    kappa: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(PBM):
    """A PBM estimated from counts: an environment like any other, that also says how far to trust it.

    Unlike a PBM typed in by hand it may have fewer items than positions; it then cannot be simulated.
    """

    theta_error: Floats  # standard errors: NaN at the bounds 0 and 1 and with svd, infinite where counts are silent
    kappa_error: Floats  # 0 at the most visible position, whose kappa is 1 by convention
    method: str
    log_likelihood: float  # without the prior's part
    passes: int  # EM passes and Newton steps
    components: tuple[Ints, Ints]  # the part of the item-position graph of each item (-1: never shown) and position
    identifiable: bool
    warnings: list[str]

    def intervals(self, level: float = 0.9) -> Intervals:
        """Confidence intervals exp(log x ± z error / x), cut at 1; [0, 1] for those without a standard error."""
        z = NormalDist().inv_cdf((1.0 + check_level(level)) / 2.0)
        return Intervals(interval(self.theta, self.theta_error, z), interval(self.kappa, self.kappa_error, z))


def check_level(level: float) -> float:
    """`level` itself when it is a probability that an interval can have."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise BadInput(f"level = {level!r} is not between 0 and 1, such as 0.9")
    return level


def interval(value: Floats, error: Floats, z: float) -> Floats:
    """exp(log x ± z error / x) for each x, cut at 1; [0, 1] where there is no finite error."""
    told = np.isfinite(error)
    # an error of hundreds of times the value leaves nothing but [0, 1]: e^700 is as far as numbers go
    factor = np.exp(np.minimum(z * np.where(told, error, 0.0) / np.where(told, value, 1.0), 700.0))
    low, high = np.where(told, value / factor, 0.0), np.where(told, np.minimum(value * factor, 1.0), 1.0)
    return np.stack([low, high], axis=1)


def fit(counts: Counts, method: str = "em", fill: str = "one", prior: float = 0.0) -> Fit:
    """The PBM that explains the counts best.

    `em` maximises the likelihood, or with `prior` > 0 the posterior density under Beta(prior + 1, prior + 1) on every
    theta and kappa, and scales to a largest kappa of 1. `svd` is the paper's rank-one approximation with kappa_1 = 1;
    `fill` says what it takes for the click rate of an item never shown at a position: "one", or the "mean" rate.

    >>> model = fit(Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]]))
    >>> model.theta.round(3), model.kappa.round(3)
    (array([0.4, 0.2]), array([1. , 0.5]))
    """
    return fit_many([counts], method, fill, prior)[0]


def fit_many(queries: Iterable[Counts], method: str = "em", fill: str = "one", prior: float = 0.0) -> list[Fit]:
    """`fit` for many queries at once, in one compiled call; they may differ in items and in positions."""
    queries = list(queries)
    for k, counts in enumerate(queries):
        if not isinstance(counts, Counts):
            raise BadInput(f"query {k} is {type(counts).__name__}; Counts(clicks, skips) are needed")
    estimate = estimator(method, fill, prior)
    fits: dict[int, Fit] = {}
    for members in alike(queries):
        batch = Batch.of([queries[k] for k in members])
        estimate(batch)
        fits.update(zip(members, _fits(batch, method), strict=True))
    return [fits[k] for k in range(len(queries))]


def estimator(method: str, fill: str, prior: float) -> Callable[[Batch], None]:
    """What fills a batch with estimates and with what the counts cannot tell."""
    known("method", method, ["em", "svd"])
    filled = Fill[known("fill", fill, [each.name.lower() for each in Fill]).upper()]
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0.0 <= prior < np.inf:
        raise BadInput(f"prior = {prior!r} is not a finite number of at least 0")

    def estimate(batch: Batch) -> None:
        if method == "em":
            fit_em(batch, float(prior))
        else:
            fit_svd(batch, filled)
        report(batch)

    return estimate


def alike(queries: Sequence[Counts]) -> list[list[int]]:
    """The numbers of the queries, those with as many positions together."""
    groups: dict[int, list[int]] = defaultdict(list)
    for k, counts in enumerate(queries):
        groups[counts.clicks.shape[1]].append(k)
    return list(groups.values())


def _fits(batch: Batch, method: str) -> list[Fit]:
    """One Fit per query, each with its share of the arrays."""
    doubtful = flagged(batch)
    fits = []
    for query in range(batch.passes.size):
        rows = slice(batch.first[query], batch.first[query + 1])
        fits.append(
            Fit(
                theta=batch.theta[rows],
                kappa=batch.kappa[query],
                theta_error=batch.theta_error[rows],
                kappa_error=batch.kappa_error[query],
                method=method,
                log_likelihood=float(batch.log_likelihood[query]),
                passes=int(batch.passes[query]),
                components=(batch.item_part[rows], batch.position_part[query]),
                identifiable=bool(batch.identifiable[query]),
                warnings=_warnings(batch, query) if doubtful[query] else [],
            )
        )
    return fits


def _warnings(batch: Batch, query: int) -> list[str]:
    """With numbers for names."""
    n_items, n_positions = batch.first[query + 1] - batch.first[query], batch.kappa.shape[1]
    return cautions(batch, query, [str(k) for k in range(n_items)], [str(k) for k in range(n_positions)])
