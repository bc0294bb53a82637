"""fit: from counts to a position-based model, with standard errors and a plain report of what counts cannot tell."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import BadInput, Floats, Ints, known
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts, Tally
from slotwise.inference.em import Work, log_errors, log_likelihood, maximise, most_visible, start, workspace
from slotwise.inference.svd import Fill, svd
from slotwise.jit import kernel

# what an estimate is: between 0 and 1, or at one of them; or a stand-in, for want of displays or of any clicks nearby
INSIDE, AT_ZERO, AT_ONE, UNSEEN, SILENT = 0, 1, 2, 3, 4
ITEM_WARNINGS = {
    AT_ZERO: "never clicked: theta is on the boundary, 0, without an error",
    AT_ONE: "on the boundary: theta is 1, without an error",
    UNSEEN: "never shown: theta is the mean of the others",
    SILENT: "shown only at positions without clicks: theta is the mean of the others",
}
POSITION_WARNINGS = {
    AT_ZERO: "without clicks: kappa is on the boundary, 0, without an error",
    AT_ONE: "on the boundary: kappa is 1, without an error",
    UNSEEN: "never used: kappa is the mean of the others",
    SILENT: "showed only items that are never clicked: kappa is the mean of the others",
}


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
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
            raise BadInput(f"level = {level!r} is not between 0 and 1, such as 0.9")
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        return Intervals(_interval(self.theta, self.theta_error, z), _interval(self.kappa, self.kappa_error, z))


def _interval(value: Floats, error: Floats, z: float) -> Floats:
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
    known("method", method, ["em", "svd"])
    filled = Fill[known("fill", fill, [each.name.lower() for each in Fill]).upper()]
    if isinstance(prior, bool) or not isinstance(prior, int | float) or not 0.0 <= prior < np.inf:
        raise BadInput(f"prior = {prior!r} is not a finite number of at least 0")
    fits: dict[int, Fit] = {}
    for members in _alike(queries, lambda counts: counts.clicks.shape[1]):
        batch = Batch.of([queries[k] for k in members])
        if method == "em":
            _fit_em(batch, float(prior))
        else:
            _fit_svd(batch, filled)
        _report(batch)
        fits.update(zip(members, _fits(batch, method), strict=True))
    return [fits[k] for k in range(len(queries))]


def _alike(queries: Sequence[Counts], key: Callable[[Counts], object]) -> list[list[int]]:
    groups: dict[object, list[int]] = defaultdict(list)
    for k, counts in enumerate(queries):
        groups[key(counts)].append(k)
    return list(groups.values())


class Batch(NamedTuple):
    """Queries with the same positions, their items one below the other, and what is found out about them."""

    clicks: Floats  # all items x L
    skips: Floats
    first: Ints  # the row of each query's first item, and one past the last
    theta: Floats  # all items
    theta_error: Floats
    item_part: Ints
    item_state: Ints
    kappa: Floats  # Q x L
    kappa_error: Floats
    position_part: Ints
    position_state: Ints
    log_likelihood: Floats  # Q
    passes: Ints
    converged: NDArray[np.bool_]
    identifiable: NDArray[np.bool_]

    @classmethod
    def of(cls, queries: Sequence[Counts]) -> "Batch":
        """The queries' counts, and room for the answers."""
        sizes = [counts.clicks.shape[0] for counts in queries]
        n, n_rows, n_positions = len(queries), sum(sizes), queries[0].clicks.shape[1]
        return cls(
            np.concatenate([counts.clicks for counts in queries]),
            np.concatenate([counts.skips for counts in queries]),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.empty(n_rows),
            np.empty(n_rows),
            np.empty(n_rows, np.int64),
            np.empty(n_rows, np.int64),
            np.empty((n, n_positions)),
            np.empty((n, n_positions)),
            np.empty((n, n_positions), np.int64),
            np.empty((n, n_positions), np.int64),
            np.empty(n),
            np.zeros(n, np.int64),
            np.ones(n, np.bool_),
            np.empty(n, np.bool_),
        )


def _fit_em(batch: Batch, prior: float) -> None:
    _maximise_all(
        batch.clicks,
        batch.skips,
        batch.first,
        prior,
        workspace(int(np.diff(batch.first).max()), batch.kappa.shape[1]),
        batch.theta,
        batch.theta_error,
        batch.item_part,
        batch.kappa,
        batch.kappa_error,
        batch.position_part,
        batch.passes,
        batch.converged,
    )


def _fit_svd(batch: Batch, fill: int) -> None:
    """Queries of the same shape go through one call of numpy."""
    sizes = np.diff(batch.first)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        rows = batch.first[members][:, None] + np.arange(size)
        batch.theta[rows], batch.kappa[members] = svd(batch.clicks[rows], batch.skips[rows], fill)
    batch.theta_error[:] = np.nan
    batch.kappa_error[:] = np.nan


def _report(batch: Batch) -> None:
    """What the counts can and cannot tell, and stand-ins for what they cannot."""
    _report_all(
        batch.clicks,
        batch.skips,
        batch.first,
        np.ones(max(batch.theta.size, batch.kappa.shape[1])),
        batch.theta,
        batch.theta_error,
        batch.item_part,
        batch.item_state,
        batch.kappa,
        batch.kappa_error,
        batch.position_part,
        batch.position_state,
        batch.log_likelihood,
        batch.identifiable,
    )


@kernel
def _maximise_all(
    all_clicks: Floats,
    all_skips: Floats,
    first: Ints,
    prior: float,
    work: Work,
    all_theta: Floats,
    all_theta_error: Floats,
    all_item_part: Ints,
    all_kappa: Floats,
    all_kappa_error: Floats,
    all_position_part: Ints,
    passes: Ints,
    converged: NDArray[np.bool_],
) -> None:
    """EM and Newton, standard errors and scale, query by query: plain arrays, since tuples of them cost in a loop."""
    item_clicks, position_clicks = np.empty(all_theta.size), np.empty(all_kappa.shape[1])
    for query in range(passes.size):
        begin, end = first[query], first[query + 1]
        clicks, skips = all_clicks[begin:end], all_skips[begin:end]
        theta, theta_error, item_part = all_theta[begin:end], all_theta_error[begin:end], all_item_part[begin:end]
        kappa, kappa_error = all_kappa[query], all_kappa_error[query]
        position_part = all_position_part[query]
        # the estimators read neither the transposed skips nor the number of displays
        tally = Tally(clicks, skips, skips, item_clicks[begin:end], position_clicks, position_clicks)
        _sum_clicks(tally)
        start(tally, prior, theta, kappa)
        parts(clicks, skips, theta, kappa, item_part, position_part)
        passes[query], converged[query] = maximise(tally, prior, item_part, position_part, theta, kappa, work)
        log_errors(tally, prior, item_part, position_part, theta, kappa, work, theta_error, kappa_error)
        _rescale(item_part, position_part, theta, kappa)
        for item in range(theta.size):
            theta_error[item] *= theta[item]
        for position in range(kappa.size):
            kappa_error[position] *= kappa[position]


@kernel
def _sum_clicks(tally: Tally) -> None:
    clicks, item_clicks, position_clicks = tally.clicks, tally.item_clicks, tally.position_clicks
    for position in range(position_clicks.size):
        position_clicks[position] = 0.0
    for item in range(item_clicks.size):
        item_clicks[item] = 0.0
        for position in range(position_clicks.size):
            item_clicks[item] += clicks[item, position]
            position_clicks[position] += clicks[item, position]


@kernel
def _report_all(
    all_clicks: Floats,
    all_skips: Floats,
    first: Ints,
    ones: Floats,
    all_theta: Floats,
    all_theta_error: Floats,
    all_item_part: Ints,
    all_item_state: Ints,
    all_kappa: Floats,
    all_kappa_error: Floats,
    all_position_part: Ints,
    all_position_state: Ints,
    likelihoods: Floats,
    identifiable: NDArray[np.bool_],
) -> None:
    for query in range(likelihoods.size):
        begin, end = first[query], first[query + 1]
        clicks, skips = all_clicks[begin:end], all_skips[begin:end]
        theta, theta_error = all_theta[begin:end], all_theta_error[begin:end]
        kappa, kappa_error = all_kappa[query], all_kappa_error[query]
        item_part, item_state = all_item_part[begin:end], all_item_state[begin:end]
        position_part, position_state = all_position_part[query], all_position_state[query]
        # what is never clicked links nothing: the rest may fall into more parts than were shown
        n_linked = parts(clicks, skips, theta, kappa, item_part, position_part)
        _states(clicks, skips, theta, theta_error, kappa, kappa_error, position_part, item_state, position_state)
        n_known = _stand_in(item_state, theta, theta_error, 0.5)
        n_known += _stand_in(position_state, kappa, kappa_error, 1.0)
        n_parts = parts(clicks, skips, ones[: theta.size], ones[: kappa.size], item_part, position_part)
        identifiable[query] = n_parts == 1 and n_linked == 1 and n_known == theta.size + kappa.size
        likelihoods[query] = log_likelihood(clicks, skips, theta, kappa)


@kernel
def parts(clicks: Floats, skips: Floats, theta: Floats, kappa: Floats, item_part: Ints, position_part: Ints) -> int:
    """Label the connected parts of the item-position graph, items and positions at 0 left out; their number.

    A part is named after its first position; an item that belongs to none has -1.
    """
    n_items, n_positions = clicks.shape
    count = 0
    for position in range(n_positions):
        position_part[position] = position
    for _ in range(n_positions):  # each round carries a label one position further at least
        changed = False
        for item in range(n_items):
            least = n_positions
            if theta[item] > 0.0:
                for position in range(n_positions):
                    if clicks[item, position] + skips[item, position] > 0.0 and kappa[position] > 0.0:
                        least = min(least, position_part[position])
                for position in range(n_positions):
                    if clicks[item, position] + skips[item, position] > 0.0 and kappa[position] > 0.0:
                        changed |= position_part[position] != least
                        position_part[position] = least
            item_part[item] = least if least < n_positions else -1
        if not changed:
            break
    for position in range(n_positions):
        count += position_part[position] == position and kappa[position] > 0.0
    return count


@kernel
def _rescale(item_part: Ints, position_part: Ints, theta: Floats, kappa: Floats) -> None:
    """The largest kappa of each part becomes 1, its thetas go the other way, and every product stays."""
    for part in range(kappa.size):
        top = most_visible(part, position_part, kappa)
        if top < 0:
            continue
        scale = kappa[top]
        for position in range(kappa.size):
            if position_part[position] == part:
                kappa[position] /= scale
        for item in range(theta.size):
            if item_part[item] == part:
                theta[item] *= scale


@kernel
def _states(
    clicks: Floats,
    skips: Floats,
    theta: Floats,
    theta_error: Floats,
    kappa: Floats,
    kappa_error: Floats,
    position_part: Ints,
    item_state: Ints,
    position_state: Ints,
) -> None:
    """Tell estimates inside ]0, 1[ from those at its ends, and both from what the counts are silent on.

    They are silent on what was never shown; on a position that showed nothing but items at 0; and on an item shown
    nowhere but at positions known to be at 0.
    """
    for position in range(kappa.size):
        position_state[position] = UNSEEN
        for item in range(theta.size):
            if clicks[item, position] + skips[item, position] > 0.0:
                if theta[item] > 0.0 or kappa[position] > 0.0:
                    position_state[position] = _place(kappa[position], kappa_error[position])
                elif position_state[position] == UNSEEN:
                    position_state[position] = SILENT
    for item in range(theta.size):
        item_state[item] = UNSEEN
        for position in range(kappa.size):
            if clicks[item, position] + skips[item, position] > 0.0:
                if position_state[position] != AT_ZERO:
                    item_state[item] = _place(theta[item], theta_error[item])
                elif item_state[item] == UNSEEN:
                    item_state[item] = SILENT
    for part in range(kappa.size):
        top = most_visible(part, position_part, kappa)
        if top >= 0 and position_state[top] == AT_ONE:
            position_state[top] = INSIDE  # it is 1 by convention


@kernel(inline=True)
def _place(value: float, error: float) -> int:
    if value <= 0.0:
        return AT_ZERO
    return AT_ONE if value > 1.0 - 1e-12 and np.isnan(error) else INSIDE


@kernel
def _stand_in(state: Ints, values: Floats, errors: Floats, otherwise: float) -> int:
    """Give what the counts are silent on the mean of the rest and an infinite error; the number of the rest."""
    total, count = 0.0, 0
    for k in range(state.size):
        if state[k] < UNSEEN:
            total += values[k]
            count += 1
    for k in range(state.size):
        if state[k] >= UNSEEN:
            values[k] = total / count if count > 0 else otherwise
            errors[k] = np.inf
    return count


def _fits(batch: Batch, method: str) -> list[Fit]:
    """One Fit per query, each with its share of the arrays."""
    flagged = _flagged(batch)
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
                warnings=_warnings(batch, query) if flagged[query] else [],
            )
        )
    return fits


def _flagged(batch: Batch) -> NDArray[np.bool_]:
    """Queries with anything to warn about."""
    doubtful = np.logical_or.reduceat(batch.item_state != INSIDE, batch.first[:-1])
    doubtful |= (batch.position_state != INSIDE).any(axis=1)
    return np.asarray(doubtful | ~batch.identifiable | ~batch.converged, np.bool_)


def _warnings(batch: Batch, query: int) -> list[str]:
    rows = slice(batch.first[query], batch.first[query + 1])
    found = []
    n_parts = len(set(batch.position_part[query].tolist()))
    if n_parts > 1:
        found.append(f"items and positions fall into {n_parts} parts never shown together: compare within a part only")
    elif not batch.identifiable[query]:
        found.append("what was clicked does not link all items and positions: theta and kappa cannot be told apart")
    found += _named("item", batch.item_state[rows], ITEM_WARNINGS)
    found += _named("position", batch.position_state[query], POSITION_WARNINGS)
    if not batch.converged[query]:
        found.append(f"did not converge in {batch.passes[query]} passes")
    return found


def _named(what: str, states: Ints, texts: dict[int, str]) -> list[str]:
    """The warnings, each with the numbers of those it is about."""
    about: dict[int, list[str]] = defaultdict(list)
    for number, state in enumerate(states.tolist()):
        if state != INSIDE:
            about[state].append(str(number))
    plural = {True: what, False: f"{what}s"}
    return [f"{plural[len(about[k]) == 1]} {', '.join(about[k])} {texts[k]}" for k in sorted(about)]
