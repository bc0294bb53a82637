"""Fit many queries in one compiled call: their stacked counts, the estimates, and what the counts determine."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, Counts
from slotwise.inference.components import label_components
from slotwise.inference.estimation.curvature import Objective, Workspace, workspace
from slotwise.inference.estimation.newton import initialise, log_likelihood, maximise, most_visible
from slotwise.inference.estimation.standard_errors import log_errors
from slotwise.inference.estimation.svd import svd
from slotwise.jit import kernel

# The state of an estimate. In the last two states the value is imputed, because there are no counts (UNOBSERVED) or
# because the counts do not determine the value (UNDETERMINED).
INTERIOR, AT_ZERO, AT_ONE, UNOBSERVED, UNDETERMINED = 0, 1, 2, 3, 4


class Batch(NamedTuple):
    """Queries with the same number of positions, and the results of their fits. Rows are the items of all queries."""

    clicks: Floats  # all items x L
    skips: Floats
    offsets: Ints  # Q + 1: the row of each query's first item, and one past the last row
    theta: Floats  # all items
    theta_error: Floats
    item_component: Ints
    item_state: Ints
    kappa: Floats  # Q x L
    kappa_error: Floats
    position_component: Ints
    position_state: Ints
    log_likelihood: Floats  # Q
    passes: Ints
    converged: NDArray[np.bool_]
    identifiable: NDArray[np.bool_]

    @classmethod
    def of(cls, queries: Sequence[Counts]) -> "Batch":
        """Stack the counts of the queries, and allocate arrays for the results."""
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


class QueryRows(NamedTuple):
    """The rows of a batch that belong to one query."""

    clicks: Floats  # N x L
    skips: Floats
    theta: Floats  # N
    theta_error: Floats
    item_component: Ints
    item_state: Ints
    kappa: Floats  # L
    kappa_error: Floats
    position_component: Ints
    position_state: Ints


@kernel(inline=True)
def query_rows(batch: Batch, query: int) -> QueryRows:
    """Views of the arrays of one query."""
    begin, end = batch.offsets[query], batch.offsets[query + 1]
    return QueryRows(
        batch.clicks[begin:end],
        batch.skips[begin:end],
        batch.theta[begin:end],
        batch.theta_error[begin:end],
        batch.item_component[begin:end],
        batch.item_state[begin:end],
        batch.kappa[query],
        batch.kappa_error[query],
        batch.position_component[query],
        batch.position_state[query],
    )


def fit_em(batch: Batch, prior: float) -> None:
    """Estimate every query in one compiled call."""
    _maximise_all(batch, prior, workspace(int(np.diff(batch.offsets).max()), batch.kappa.shape[1]))


def fit_svd(batch: Batch, fill: int) -> None:
    """Estimate queries of the same shape in one call of numpy."""
    sizes = np.diff(batch.offsets)
    for size in np.unique(sizes):
        members = np.flatnonzero(sizes == size)
        rows = batch.offsets[members][:, None] + np.arange(size)
        theta, kappa = svd(batch.clicks[rows], batch.skips[rows], fill)
        batch.theta[rows], batch.kappa[members] = np.minimum(theta, 1.0), np.minimum(kappa, 1.0)  # probabilities
    batch.theta_error[:] = np.nan
    batch.kappa_error[:] = np.nan


def assess(batch: Batch) -> None:
    """Fill in states, components, identifiability and likelihood.

    Impute the values that the counts do not determine.
    """
    _assess_all(batch, np.ones(max(batch.theta.size, batch.kappa.shape[1])))


@kernel
def _maximise_all(batch: Batch, prior: float, work: Workspace) -> None:
    """For each query: maximise with EM and Newton, compute standard errors, and fix the scale."""
    passes, converged = batch.passes, batch.converged
    item_clicks, position_clicks = np.empty(batch.theta.size), np.empty(batch.kappa.shape[1])
    for query in range(passes.size):
        rows = query_rows(batch, query)
        clicks, skips, theta, kappa = rows.clicks, rows.skips, rows.theta, rows.kappa
        # the estimators read neither the transposed skips nor the number of displays
        counts = CountArrays(clicks, skips, skips, item_clicks[: theta.size], position_clicks, position_clicks)
        _sum_clicks(counts)
        initialise(counts, prior, theta, kappa)
        label_components(clicks, skips, theta, kappa, rows.item_component, rows.position_component)
        objective = Objective(counts, prior, rows.item_component, rows.position_component)
        passes[query], converged[query] = maximise(objective, theta, kappa, work)
        log_errors(objective, theta, kappa, work, rows.theta_error, rows.kappa_error)
        _rescale(rows)


@kernel(inline=True)
def _sum_clicks(counts: CountArrays) -> None:
    clicks, item_clicks, position_clicks = counts.clicks, counts.item_clicks, counts.position_clicks
    for position in range(position_clicks.size):
        position_clicks[position] = 0.0
    for item in range(item_clicks.size):
        item_clicks[item] = 0.0
        for position in range(position_clicks.size):
            item_clicks[item] += clicks[item, position]
            position_clicks[position] += clicks[item, position]


@kernel(inline=True)
def _rescale(rows: QueryRows) -> None:
    """Scale each component so that its largest kappa is 1. The products theta kappa do not change.

    The standard errors of logarithms become standard errors of values.
    """
    theta, item_component, theta_error = rows.theta, rows.item_component, rows.theta_error
    kappa, position_component, kappa_error = rows.kappa, rows.position_component, rows.kappa_error
    for component in range(kappa.size):
        top = most_visible(component, position_component, kappa)
        if top < 0:
            continue
        scale = kappa[top]
        for position in range(kappa.size):
            if position_component[position] == component:
                kappa[position] /= scale
        for item in range(theta.size):
            if item_component[item] == component:
                theta[item] *= scale
    for item in range(theta.size):
        theta_error[item] *= theta[item]
    for position in range(kappa.size):
        kappa_error[position] *= kappa[position]


@kernel
def _assess_all(batch: Batch, ones: Floats) -> None:
    likelihoods, identifiable = batch.log_likelihood, batch.identifiable
    for query in range(likelihoods.size):
        rows = query_rows(batch, query)
        clicks, skips, theta, kappa = rows.clicks, rows.skips, rows.theta, rows.kappa
        item_component, position_component = rows.item_component, rows.position_component
        # items and positions without clicks link nothing, so there may be more components than the displays suggest
        n_clicked = label_components(clicks, skips, theta, kappa, item_component, position_component)
        _set_states(rows)
        n_determined = _impute(rows.item_state, theta, rows.theta_error, 0.5)
        n_determined += _impute(rows.position_state, kappa, rows.kappa_error, 1.0)
        n_observed = label_components(
            clicks, skips, ones[: theta.size], ones[: kappa.size], item_component, position_component
        )
        identifiable[query] = n_observed == 1 and n_clicked == 1 and n_determined == theta.size + kappa.size
        likelihoods[query] = log_likelihood(clicks, skips, theta, kappa)


@kernel(inline=True)
def _set_states(rows: QueryRows) -> None:
    """Set the state of every estimate.

    A position is undetermined if it showed only items whose theta is 0. An item is undetermined if it was shown only at
    positions whose kappa is 0.
    """
    clicks, skips, theta, kappa = rows.clicks, rows.skips, rows.theta, rows.kappa
    theta_error, kappa_error, position_component = rows.theta_error, rows.kappa_error, rows.position_component
    item_state, position_state = rows.item_state, rows.position_state
    for position in range(kappa.size):
        position_state[position] = UNOBSERVED
        for item in range(theta.size):
            if clicks[item, position] + skips[item, position] > 0.0:
                if theta[item] > 0.0 or kappa[position] > 0.0:
                    position_state[position] = _bound_state(kappa[position], kappa_error[position])
                elif position_state[position] == UNOBSERVED:
                    position_state[position] = UNDETERMINED
    for item in range(theta.size):
        item_state[item] = UNOBSERVED
        for position in range(kappa.size):
            if clicks[item, position] + skips[item, position] > 0.0:
                if position_state[position] != AT_ZERO:
                    item_state[item] = _bound_state(theta[item], theta_error[item])
                elif item_state[item] == UNOBSERVED:
                    item_state[item] = UNDETERMINED
    for component in range(kappa.size):
        top = most_visible(component, position_component, kappa)
        if top >= 0 and position_state[top] == AT_ONE:
            position_state[top] = INTERIOR  # its kappa is 1 by convention


@kernel(inline=True)
def _bound_state(value: float, error: float) -> int:
    if value <= 0.0:
        return AT_ZERO
    return AT_ONE if value > 1.0 - 1e-12 and np.isnan(error) else INTERIOR


@kernel(inline=True)
def _impute(state: Ints, values: Floats, errors: Floats, default: float) -> int:
    """Set undetermined and unobserved values to the mean of the determined values, or to `default` if there are none.

    The error of an imputed value is infinite. Returns the number of determined values.
    """
    total, count = 0.0, 0
    for k in range(state.size):
        if state[k] < UNOBSERVED:
            total += values[k]
            count += 1
    for k in range(state.size):
        if state[k] >= UNOBSERVED:
            values[k] = total / count if count > 0 else default
            errors[k] = np.inf
    return count
