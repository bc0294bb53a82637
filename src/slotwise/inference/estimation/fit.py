"""The function `fit` estimates a position-based model from counts, with standard errors and warnings."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput, Floats, Ints, one_of
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts
from slotwise.inference.estimation.batch_fit import Batch, assess, fit_em, fit_svd
from slotwise.inference.estimation.svd import Fill
from slotwise.inference.fit_warnings import needs_warning, query_warnings
from slotwise.notebook import Estimates, format_numbers, html_estimates, plural


class Intervals(NamedTuple):
    """Lower and upper ends: N x 2 for theta, L x 2 for kappa."""

    theta: Floats
    kappa: Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(PBM):
    """A PBM estimated from counts, with its uncertainty.

    It can be simulated like any other PBM if it has at least as many items as positions. Only a fitted PBM may have
    fewer items than positions.

    >>> model = fit(Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]]))
    >>> model.identifiable, model.warnings
    (True, [])
    >>> model.intervals(level=0.9).theta.round(2)
    array([[0.33, 0.49],
           [0.15, 0.27]])
    """

    theta_error: Floats  #: standard errors: NaN at the bounds 0 and 1 and with svd, infinite for imputed values
    kappa_error: Floats  #: 0 at the most visible position, whose kappa is 1 by convention
    method: str
    log_likelihood: float  #: without the prior
    passes: int  #: EM passes and Newton steps
    components: tuple[Ints, Ints]  #: the component of each item (-1: never shown) and of each position
    identifiable: bool
    warnings: list[str]

    def intervals(self, level: float = 0.9) -> Intervals:
        """Confidence intervals exp(log x ± z error / x), capped at 1. Without a standard error, they are [0, 1]."""
        z = NormalDist().inv_cdf((1.0 + check_level(level)) / 2.0)
        return Intervals(interval(self.theta, self.theta_error, z), interval(self.kappa, self.kappa_error, z))

    def __repr__(self) -> str:
        warned = f", {plural(len(self.warnings), 'warning')}" if self.warnings else ""
        return f"Fit({self.method}: theta={format_numbers(self.theta)}, kappa={format_numbers(self.kappa)}{warned})"

    def _repr_html_(self) -> str:
        theta, kappa = self.intervals()
        n_items, n_positions = self.theta.size, self.kappa.size
        return html_estimates(
            f"fit by {self.method}: {plural(n_items, 'item')}, {plural(n_positions, 'position')}",
            0.9,
            Estimates([str(k) for k in range(n_positions)], self.kappa, kappa),
            Estimates([str(k) for k in range(n_items)], self.theta, theta),
            self.warnings,
        )


def check_level(level: float) -> float:
    """Return `level`, the probability of an interval. Raises BadInput unless the level is between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise BadInput(f"level = {level!r} is not between 0 and 1, such as 0.9")
    return level


def interval(value: Floats, error: Floats, z: float) -> Floats:
    """The interval exp(log x ± z error / x) of each x, capped at 1. If the error is not finite, it is [0, 1]."""
    finite = np.isfinite(error)
    # exp is finite up to about 709, so the exponent is limited to 700; the interval is [0, 1] well before that
    factor = np.exp(np.minimum(z * np.where(finite, error, 0.0) / np.where(finite, value, 1.0), 700.0))
    low, high = np.where(finite, value / factor, 0.0), np.where(finite, np.minimum(value * factor, 1.0), 1.0)
    return np.stack([low, high], axis=1)


def fit(counts: Counts, method: str = "em", fill: str = "one", prior: float = 0.0) -> Fit:
    """The PBM that fits the counts best.

    `em` maximises the likelihood. With `prior` > 0 it maximises the posterior density, where every theta and kappa has
    a Beta(prior + 1, prior + 1) prior. The largest kappa is scaled to 1. `svd` is the paper's rank-one approximation,
    with kappa_1 = 1. For `svd`, `fill` is the assumed click rate of an item at a position where it was never shown:
    "one", or the "mean" rate.

    >>> model = fit(Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]]))
    >>> model.theta.round(3), model.kappa.round(3)
    (array([0.4, 0.2]), array([1. , 0.5]))
    """
    return fit_many([counts], method, fill, prior)[0]


def fit_many(queries: Iterable[Counts], method: str = "em", fill: str = "one", prior: float = 0.0) -> list[Fit]:
    """Fit many queries in one compiled call. They may have different numbers of items and positions.

    >>> pair = Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]])
    >>> triple = Counts(clicks=[[30], [20], [10]], skips=[[70], [80], [90]])
    >>> [model.theta.round(3).tolist() for model in fit_many([pair, triple])]
    [[0.4, 0.2], [0.3, 0.2, 0.1]]
    """
    queries = list(queries)
    for k, counts in enumerate(queries):
        if not isinstance(counts, Counts):
            raise BadInput(f"query {k} is {type(counts).__name__}; it must be Counts(clicks, skips)")
    estimate = estimator(method, fill, prior)
    fits: dict[int, Fit] = {}
    for members in by_position_count(queries):
        batch = Batch.of([queries[k] for k in members])
        estimate(batch)
        fits.update(zip(members, _fits(batch, method), strict=True))
    return [fits[k] for k in range(len(queries))]


def estimator(method: str, fill: str, prior: float) -> Callable[[Batch], None]:
    """Return a function that fits and assesses a batch. Raises BadInput if a setting is not valid."""
    one_of("method", method, ["em", "svd"])
    fill_number = Fill[one_of("fill", fill, [each.name.lower() for each in Fill]).upper()]
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0.0 <= prior < np.inf:
        raise BadInput(f"prior = {prior!r} is not a finite number of at least 0")

    def estimate(batch: Batch) -> None:
        if method == "em":
            fit_em(batch, float(prior))
        else:
            fit_svd(batch, fill_number)
        assess(batch)

    return estimate


def by_position_count(queries: Sequence[Counts]) -> list[list[int]]:
    """The indices of the queries, grouped by the number of positions."""
    groups: dict[int, list[int]] = defaultdict(list)
    for k, counts in enumerate(queries):
        groups[counts.clicks.shape[1]].append(k)
    return list(groups.values())


def _fits(batch: Batch, method: str) -> list[Fit]:
    """One Fit per query. Its arrays are views of the batch."""
    warned = needs_warning(batch)
    fits = []
    for query in range(batch.passes.size):
        rows = slice(batch.offsets[query], batch.offsets[query + 1])
        fits.append(
            Fit(
                theta=batch.theta[rows],
                kappa=batch.kappa[query],
                theta_error=batch.theta_error[rows],
                kappa_error=batch.kappa_error[query],
                method=method,
                log_likelihood=float(batch.log_likelihood[query]),
                passes=int(batch.passes[query]),
                components=(batch.item_component[rows], batch.position_component[query]),
                identifiable=bool(batch.identifiable[query]),
                warnings=_warnings(batch, query) if warned[query] else [],
            )
        )
    return fits


def _warnings(batch: Batch, query: int) -> list[str]:
    """The warnings of a query whose items and positions have no names. They use indices instead."""
    n_items, n_positions = batch.offsets[query + 1] - batch.offsets[query], batch.kappa.shape[1]
    return query_warnings(batch, query, [str(k) for k in range(n_items)], [str(k) for k in range(n_positions)])
