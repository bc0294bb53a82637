"""Find the queries of a template whose kappas differ, without blaming the others.

A query with other kappas and many clicks changes the common kappas, so that the other queries seem to differ too.
Therefore the query that differs most is excluded, the remaining ones are fitted and tested again, and so on until none
of them differs. Finally each excluded query is compared with the remaining ones.
"""

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import Counts
from slotwise.inference.estimation.batch_fit import AT_ONE, AT_ZERO, INTERIOR, Batch, assess, fit_em
from slotwise.inference.goodness_of_fit import MIN_WARNED_SIZE, discoveries
from slotwise.inference.kappa_test import KappaTests, kappa_tests, outside_tests

_STEPS = 30  # at most; each excludes half of the queries that differ
_NEWTON_STEPS = 50


def kappa_tests_by_exclusion(joint: Batch, offsets: Ints) -> tuple[KappaTests, KappaTests]:
    """The test of all queries together, and the test of each query against those that are not excluded.

    At least half of the queries remain. `joint` and `offsets` are those of `kappa_tests`.
    """
    common, queries = kappa_tests(joint, offsets)
    included = np.ones(offsets.size - 1, np.bool_)
    for _ in range(_STEPS):
        differ = discoveries(queries.p_value) & (np.nan_to_num(queries.size) >= MIN_WARNED_SIZE)
        found = np.flatnonzero(included & differ)
        worst = found[np.lexsort((-queries.statistic[found], queries.p_value[found]))][: (found.size + 1) // 2]
        if worst.size == 0 or included.sum() - worst.size < max(2, included.size / 2):
            break
        included[worst] = False
        queries = _tests_with(joint, offsets, included)
    return common, queries


def _tests_with(joint: Batch, offsets: Ints, included: NDArray[np.bool_]) -> KappaTests:
    """Fit the included queries, compare each with the other ones, and compare the excluded queries with them."""
    sizes = np.diff(offsets)
    inside, inside_offsets = _rows(joint, np.repeat(included, sizes)), _offsets(sizes[included])
    fit_em(inside, 0.0)
    assess(inside)
    outside, outside_offsets = _rows(joint, np.repeat(~included, sizes)), _offsets(sizes[~included])
    _fit_thetas(outside, inside)
    tests = KappaTests(*(np.empty(included.size) for _ in KappaTests._fields))
    parts = kappa_tests(inside, inside_offsets)[1], outside_tests(inside, inside_offsets, outside, outside_offsets)
    for column, included_values, excluded_values in zip(tests, *parts, strict=True):
        column[included], column[~included] = included_values, excluded_values
    return tests


def _rows(joint: Batch, selected: NDArray[np.bool_]) -> Batch:
    return Batch.of([Counts(joint.clicks[selected], joint.skips[selected])])


def _offsets(sizes: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _fit_thetas(batch: Batch, fitted: Batch) -> None:
    """Set the kappas of the batch to those of another fit, and each theta to its maximum given these kappas."""
    batch.kappa[:], batch.position_state[:] = fitted.kappa, fitted.position_state
    used = fitted.position_state[0] == INTERIOR
    kappa, skips = fitted.kappa[0, used], batch.skips[:, used]
    clicks = batch.clicks[:, used].sum(axis=1)
    batch.theta[:] = _thetas(clicks, skips, kappa)
    batch.item_state[:] = np.where(batch.theta >= 1.0, AT_ONE, np.where(clicks > 0.0, INTERIOR, AT_ZERO))


def _thetas(clicks: Floats, skips: Floats, kappa: Floats) -> Floats:
    """The maximum of clicks log theta + sum skips log(1 - theta kappa) by Newton's method in log theta, up to 1."""
    theta = clicks / np.maximum(
        clicks + skips @ kappa, 1e-300
    )  # below the maximum, from where Newton does not overshoot
    for _ in range(_NEWTON_STEPS):
        chance = np.minimum(theta[:, None] * kappa, 1.0 - 1e-12)
        odds = skips * chance / (1.0 - chance)
        gradient, curvature = clicks - odds.sum(axis=1), (odds / (1.0 - chance)).sum(axis=1)
        step = gradient / np.maximum(np.maximum(curvature, np.abs(gradient)), 1e-300)  # between -1 and 1
        theta = np.minimum(theta * np.exp(step), 1.0)
    return np.asarray(theta)
