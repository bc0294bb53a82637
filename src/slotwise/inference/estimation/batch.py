"""Many queries fitted in one compiled call: their items one below the other, and what is found out about them."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, Counts
from slotwise.inference.estimation.curvature import Work, workspace
from slotwise.inference.estimation.information import log_errors
from slotwise.inference.estimation.newton import log_likelihood, maximise, most_visible, start
from slotwise.inference.estimation.svd import svd
from slotwise.jit import kernel

# what an estimate is: between 0 and 1, or at one of them; or a stand-in, for want of displays or of any clicks nearby
INSIDE, AT_ZERO, AT_ONE, UNSEEN, SILENT = 0, 1, 2, 3, 4


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


def fit_em(batch: Batch, prior: float) -> None:
    """Every query in one compiled call."""
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


def fit_svd(batch: Batch, fill: int) -> None:
    """Queries of the same shape go through one call of numpy."""
    sizes = np.diff(batch.first)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        rows = batch.first[members][:, None] + np.arange(size)
        batch.theta[rows], batch.kappa[members] = svd(batch.clicks[rows], batch.skips[rows], fill)
    batch.theta_error[:] = np.nan
    batch.kappa_error[:] = np.nan


def report(batch: Batch) -> None:
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
        tally = CountArrays(clicks, skips, skips, item_clicks[begin:end], position_clicks, position_clicks)
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
def _sum_clicks(tally: CountArrays) -> None:
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
