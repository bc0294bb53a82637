"""The function `fit_queries` fits every query of a log. A fit has intervals, a goodness of fit, and warnings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import Any

import numpy as np

from slotwise.checks import BadInput, Floats, format_value, one_of
from slotwise.counts import Counts
from slotwise.inference.assessments import Assessment, FittedBatch, assessments, poor_fits, template_assessments
from slotwise.inference.click_model_comparison import check_clicks, compare_click_models
from slotwise.inference.estimation.batch_fit import Batch
from slotwise.inference.estimation.fit import by_position_count, check_level, estimator, interval
from slotwise.inference.goodness_of_fit import BatchGoodnessOfFit, goodness_of_fit
from slotwise.inference.query_fit import GoodnessOfFit, QueryFit
from slotwise.inference.query_posteriors import Progress, QueryEstimate, SamplingSettings, posterior_estimates
from slotwise.inference.template_fits import by_positions, joint_fit, templates
from slotwise.logs.query import Query
from slotwise.logs.sessions import QuerySessions

METHODS = ("em", "svd", "bayes")
_BATCH_SIZE = 20_000  # queries in one compiled call; an interrupt or a progress report waits until the call ends


def fit_queries(
    queries: Iterable[Query | QuerySessions],
    method: str = "em",
    level: float = 0.9,
    *,
    clicks: str | None = None,
    fill: str = "one",
    prior: Any = None,
    draws: int = 1000,
    budget: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
    template: bool = False,
) -> list[QueryFit]:
    """Fit every query on its own. The fits are in the order of the queries.

    With `template`, queries with the same positions share their kappas, which are estimated from all of these queries.
    Every query still has its own thetas. Tests say whether the kappas differ: see `QueryFit.template`.

    The methods `em` and `svd` are those of `fit`, with the same `fill` and `prior`; a `prior` of None means 0. `svd`
    gives no standard errors. The method `bayes` gives posterior means and quantiles of `draws` draws. Its `prior` is
    that of `posterior`; None means "uniform". A value gets an interval if its effective sample size reaches 400 within
    the `budget` of sweeps. The random numbers of a query depend only on `seed` and the query's name, not on other
    queries or `threads`. `progress` is called with the number of queries done.

    With `clicks`, a click model is fitted to the sessions of `read_sessions` as well: "pbm", "cascade", "dcm", "sdbn",
    "dbn", "ubm", or "auto", which compares all of them. See `QueryFit.comparison`.

    >>> counts = Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> (model,) = fit_queries([Query("hats", ["felt", "straw"], ["top", "side"], counts)])
    >>> model.best, model.kappa_interval.round(2).tolist(), model.warnings
    ({'top': 'felt', 'side': 'straw'}, [[1.0, 1.0], [0.45, 0.55]], [])
    """
    given, checked_level = list(queries), check_level(level)
    listed = _checked([query.query() if isinstance(query, QuerySessions) else query for query in given])
    sessions = None if clicks is None else _sessions(given, clicks)
    bayes = one_of("method", method, METHODS) == "bayes"
    if bayes and template:
        raise BadInput("a template cannot be fitted by bayes; use em or svd")
    estimate = estimator("em" if bayes else method, fill, 0.0 if bayes or prior is None else prior)
    if template:
        batches = list(_fitted_templates(listed, estimate, progress))
    else:
        batches = list(_fitted_batches(listed, estimate, None if bayes else progress))
    sampled = None
    if bayes:
        settings = SamplingSettings("uniform" if prior is None else prior, draws, budget, seed, threads)
        sampled = posterior_estimates(listed, checked_level, settings, progress)
        for fitted in batches:
            fitted.batch.converged[:] = True  # the convergence of em does not concern the posterior
    poor = poor_fits(batches, len(listed))
    shared = templates([(fitted.joint, [listed[k].name for k in fitted.members]) for fitted in batches])
    fits: list[Any] = [None] * len(listed)
    for fitted, shared_by in zip(batches, shared, strict=True):
        estimates = _estimates(fitted.batch, checked_level) if sampled is None else [sampled[k] for k in fitted.members]
        if shared_by is None:
            assessed = assessments(fitted, listed, poor, bayes)
        else:
            assessed = template_assessments(fitted, listed, poor, shared_by)
        for k, estimated, assessment in zip(fitted.members, estimates, assessed, strict=True):
            fits[k] = _query_fit(listed[k], method, checked_level, estimated, assessment)
    if clicks is None or sessions is None:
        return fits
    compared = (compare_click_models(each, clicks, checked_level) for each in sessions)
    return [replace(fit, comparison=comparison) for fit, comparison in zip(fits, compared, strict=True)]


def _sessions(queries: Sequence[object], clicks: str) -> list[QuerySessions]:
    check_clicks(clicks)
    for query in queries:
        if not isinstance(query, QuerySessions):
            raise BadInput(
                f"clicks = {clicks!r} needs sessions, but query {format_value(getattr(query, 'name', query))} has only "
                "counts; read the log with read_sessions"
            )
    return [query for query in queries if isinstance(query, QuerySessions)]


def _query_fit(query: Query, method: str, level: float, estimate: QueryEstimate, assessment: Assessment) -> QueryFit:
    values = {**query._asdict(), **estimate._asdict(), **assessment._asdict()}  # the names are those of QueryFit
    values["warnings"] = assessment.warnings + estimate.warnings
    return QueryFit(method=method, level=level, **values)


def _checked(queries: Iterable[Query]) -> list[Query]:
    listed, names = list(queries), set()
    for k, query in enumerate(listed):
        if not isinstance(query, Query) or not isinstance(query.counts, Counts):
            raise BadInput(f"query {k} is {format_value(query)}; it must be Query(name, items, positions, counts)")
        if query.counts.clicks.shape != (len(query.items), len(query.positions)):
            raise BadInput(
                f"query {query.name!r} names {len(query.items)} items and {len(query.positions)} positions; "
                f"its counts are {query.counts.clicks.shape}"
            )
        if query.name in names:
            raise BadInput(f"query {query.name!r} is given twice")
        names.add(query.name)
    return listed


def _fitted_batches(
    queries: Sequence[Query], estimate: Callable[[Batch], None], progress: Progress | None
) -> Iterator[FittedBatch]:
    counts, done = [query.counts for query in queries], 0
    for group in by_position_count(counts):
        for start in range(0, len(group), _BATCH_SIZE):
            members = group[start : start + _BATCH_SIZE]
            batch = Batch.of([counts[k] for k in members])
            estimate(batch)
            tested = goodness_of_fit([counts[k] for k in members])
            yield FittedBatch(members, batch, _named_cells(tested, [queries[k] for k in members]))
            done += len(members)
            if progress:
                progress(done)


def _fitted_templates(
    queries: Sequence[Query], estimate: Callable[[Batch], None], progress: Progress | None
) -> Iterator[FittedBatch]:
    done = 0
    for members in by_positions(queries):
        grouped, goodness = [queries[k] for k in members], []
        joint = joint_fit(grouped, estimate)
        for start in range(0, len(grouped), _BATCH_SIZE):
            some = grouped[start : start + _BATCH_SIZE]
            goodness += _named_cells(goodness_of_fit([query.counts for query in some]), some)
        yield FittedBatch(members, joint.batch, goodness, joint)
        done += len(members)
        if progress:
            progress(done)


def _estimates(batch: Batch, level: float) -> Iterator[QueryEstimate]:
    """The estimate of each query, with intervals where there are finite errors."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    theta_interval = _intervals(batch.theta, batch.theta_error, z)
    kappa_interval = _intervals(batch.kappa.ravel(), batch.kappa_error.ravel(), z).reshape(*batch.kappa.shape, 2)
    offsets, theta, theta_error = batch.offsets.tolist(), batch.theta, batch.theta_error
    columns = zip(offsets[:-1], offsets[1:], batch.kappa, batch.kappa_error, kappa_interval, strict=True)
    for begin, end, kappa, kappa_error, ends in columns:
        rows = slice(begin, end)
        yield QueryEstimate(theta[rows], theta_error[rows], theta_interval[rows], kappa, kappa_error, ends, np.nan, [])


def _intervals(value: Floats, error: Floats, z: float) -> Floats:
    return np.where(np.isfinite(error)[:, None], interval(value, error, z), np.nan)


def _named_cells(tested: BatchGoodnessOfFit, queries: Sequence[Query]) -> list[GoodnessOfFit | None]:
    """The goodness of fit of each query, with the item and position of its worst cell. None if it was not tested."""
    rows: list[GoodnessOfFit | None] = []
    columns = zip(*(column.tolist() for column in tested), strict=True)
    for query, (deviance, degrees, p_value, size, item, position, observed, fitted) in zip(
        queries, columns, strict=True
    ):
        names = query.items[item], query.positions[position]
        row = GoodnessOfFit(deviance, degrees, p_value, size, *names, observed, fitted)
        rows.append(row if p_value == p_value else None)  # NaN: not tested
    return rows
