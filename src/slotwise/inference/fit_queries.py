"""fit_queries: theta and kappa of every query of a log, with intervals, warnings by name, and how well a PBM fits."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import BadInput, Floats, Ints, known, shown
from slotwise.counts import Counts
from slotwise.inference.estimation.batch import UNSEEN, Batch
from slotwise.inference.estimation.fit import alike, check_level, estimator, interval
from slotwise.inference.fit_warnings import ITEM_TEXTS, POSITION_TEXTS, Texts, about, cautions, flagged
from slotwise.inference.goodness_of_fit import Misfits, discoveries, misfits
from slotwise.inference.query_fit import Misfit, QueryFit
from slotwise.inference.query_posteriors import Estimate, Progress, estimates
from slotwise.logs.query import Query

METHODS = ("em", "svd", "bayes")
FEW_OF_ITEM, FEW_OF_POSITION = 10, 50  # clicks below which intervals were measured to be rough
WORTH_TELLING = 0.02  # a misfit of rates below that is not warned of, however surely it is there
_PIECE = 20_000  # queries in one compiled call, so that an interrupt is heard and progress is told

# with bayes a stand-in is what the prior says, and nothing is on the boundary
_PRIOR_ITEM_TEXTS = {UNSEEN: "never shown: theta is known from the prior alone"}
_PRIOR_POSITION_TEXTS = {UNSEEN: "never used: kappa is known from the prior alone"}


def fit_queries(
    queries: Iterable[Query],
    method: str = "em",
    level: float = 0.9,
    *,
    fill: str = "one",
    prior: Any = None,
    draws: int = 1000,
    budget: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> list[QueryFit]:
    """Fit every query by itself; the answers come in the order of the queries.

    `em` and `svd` are those of `fit`, with its `fill` and `prior` (None: 0); `svd` gives no errors. `bayes` gives
    posterior means and the quantiles of `draws` draws under `prior` (None: "uniform"), as `posterior` has it, where
    these are worth 400 independent ones before the `budget` of sweeps is spent; `seed` and a query's name decide its
    draws, whatever the other queries and the `threads`. `progress` is called with the number of queries done.

    >>> counts = Counts(clicks=[[400, 200], [200, 100]], skips=[[600, 800], [800, 900]])
    >>> (model,) = fit_queries([Query("hats", ["felt", "straw"], ["top", "side"], counts)])
    >>> model.best, model.kappa_interval.round(2).tolist(), model.warnings
    ({'top': 'felt', 'side': 'straw'}, [[1.0, 1.0], [0.45, 0.55]], [])
    """
    listed, wanted = _checked(queries), check_level(level)
    bayes = known("method", method, METHODS) == "bayes"
    pieces = list(_pieces(listed, "em" if bayes else method, fill, prior, bayes, None if bayes else progress))
    law = "uniform" if prior is None else prior
    drawn = estimates(listed, wanted, law, draws, budget, seed, threads, progress) if bayes else None
    believed = _believed(pieces, len(listed))
    fits: list[Any] = [None] * len(listed)
    for piece in pieces:
        _make(piece, listed, method, wanted, drawn, believed, fits)
    return fits


class _Piece(NamedTuple):
    """Queries fitted together."""

    members: list[int]
    batch: Batch
    misfits: Misfits


def _checked(queries: Iterable[Query]) -> list[Query]:
    listed, seen = list(queries), set()
    for k, query in enumerate(listed):
        if not isinstance(query, Query) or not isinstance(query.counts, Counts):
            raise BadInput(f"query {k} is {shown(query)}; Query(name, items, positions, counts) is needed")
        if query.counts.clicks.shape != (len(query.items), len(query.positions)):
            raise BadInput(
                f"query {query.name!r} names {len(query.items)} items and {len(query.positions)} positions; "
                f"its counts are {query.counts.clicks.shape}"
            )
        if query.name in seen:
            raise BadInput(f"query {query.name!r} is given twice")
        seen.add(query.name)
    return listed


def _pieces(
    queries: Sequence[Query], method: str, fill: str, prior: Any, bayes: bool, progress: Progress | None
) -> Iterator[_Piece]:
    estimate = estimator(method, fill, 0.0 if bayes or prior is None else prior)
    counts, done = [query.counts for query in queries], 0
    for members in alike(counts):
        for start in range(0, len(members), _PIECE):
            part = members[start : start + _PIECE]
            batch = Batch.of([counts[k] for k in part])
            estimate(batch)
            if bayes:
                batch.converged[:] = True  # how em went is nothing to tell then
            yield _Piece(part, batch, misfits([counts[k] for k in part]))
            done += len(part)
            if progress:
                progress(done)


def _believed(pieces: Sequence[_Piece], n: int) -> NDArray[np.bool_]:
    """Which queries do not fit a PBM, the false discoveries among all of them controlled, by a size worth telling."""
    p_value, size = np.full(n, np.nan), np.zeros(n)
    for piece in pieces:
        p_value[piece.members], size[piece.members] = piece.misfits.p_value, piece.misfits.size
    return np.asarray(discoveries(p_value) & (size >= WORTH_TELLING))


def _make(
    piece: _Piece,
    queries: Sequence[Query],
    method: str,
    level: float,
    drawn: Sequence[Estimate] | None,
    believed: NDArray[np.bool_],
    fits: list[Any],
) -> None:
    """Fill in the fits of a piece, each with its share of the arrays."""
    batch, told = piece.batch, _misfit_rows(piece, queries)
    doubtful = (flagged(batch) | _rare(batch)).tolist()
    identifiable = batch.identifiable.tolist()
    estimated = _estimates(batch, level) if drawn is None else (drawn[k] for k in piece.members)
    texts = (ITEM_TEXTS, POSITION_TEXTS) if drawn is None else (_PRIOR_ITEM_TEXTS, _PRIOR_POSITION_TEXTS)
    for at, (k, one) in enumerate(zip(piece.members, estimated, strict=True)):
        query = queries[k]
        warnings = [*_cautions(batch, at, query, *texts)] if doubtful[at] else []
        if believed[k]:
            warnings.append(_misfit_text(told[at]))
        fits[k] = QueryFit(
            theta=one.theta,
            kappa=one.kappa,
            name=query.name,
            items=query.items,
            positions=query.positions,
            method=method,
            level=level,
            theta_error=one.theta_error,
            theta_interval=one.theta_interval,
            kappa_error=one.kappa_error,
            kappa_interval=one.kappa_interval,
            counts=query.counts,
            ess=one.ess,
            identifiable=identifiable[at],
            misfit=told[at],
            warnings=warnings + one.warnings,
        )


def _estimates(batch: Batch, level: float) -> Iterator[Estimate]:
    """What was estimated of each query, with intervals where there are errors."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    theta_ends = _ends(batch.theta, batch.theta_error, z)
    kappa_ends = _ends(batch.kappa.ravel(), batch.kappa_error.ravel(), z).reshape(*batch.kappa.shape, 2)
    first, theta, theta_error = batch.first.tolist(), batch.theta, batch.theta_error
    rows = zip(first[:-1], first[1:], batch.kappa, batch.kappa_error, kappa_ends, strict=True)
    for begin, end, kappa, kappa_error, ends in rows:
        mine = slice(begin, end)
        yield Estimate(theta[mine], theta_error[mine], theta_ends[mine], kappa, kappa_error, ends, np.nan, [])


def _ends(value: Floats, error: Floats, z: float) -> Floats:
    return np.where(np.isfinite(error)[:, None], interval(value, error, z), np.nan)


def _rare(batch: Batch) -> NDArray[np.bool_]:
    """Queries with an item or a position of few clicks."""
    items = np.logical_or.reduceat(batch.clicks.sum(axis=1) < FEW_OF_ITEM, batch.first[:-1])
    positions = np.add.reduceat(batch.clicks, batch.first[:-1], axis=0) < FEW_OF_POSITION
    return np.asarray(items | positions.any(axis=1))


def _cautions(batch: Batch, at: int, query: Query, item_texts: Texts, position_texts: Texts) -> Iterator[str]:
    items, positions = [shown(name) for name in query.items], [shown(name) for name in query.positions]
    yield from cautions(batch, at, items, positions, item_texts, position_texts)
    rows = slice(batch.first[at], batch.first[at + 1])
    clicks = batch.clicks[rows]
    yield from _few("item", items, clicks.sum(axis=1), batch.item_state[rows], item_texts, FEW_OF_ITEM)
    yield from _few(
        "position", positions, clicks.sum(axis=0), batch.position_state[at], position_texts, FEW_OF_POSITION
    )


def _few(what: str, names: list[str], clicks: Floats, states: Ints, texts: Texts, least: int) -> Iterator[str]:
    """Those of few clicks, unless something worse is said of them already."""
    rows = zip(names, clicks.tolist(), states.tolist(), strict=True)
    rare = [name for name, total, state in rows if total < least and state not in texts]
    if rare:
        yield f"{about(what, rare)} clicked fewer than {least} times: known roughly"


def _misfit_rows(piece: _Piece, queries: Sequence[Query]) -> list[Misfit | None]:
    columns = zip(*(column.tolist() for column in piece.misfits), strict=True)
    rows: list[Misfit | None] = []
    for k, (deviance, degrees, p_value, size, item, position, observed, fitted) in zip(
        piece.members, columns, strict=True
    ):
        query = queries[k]
        names = query.items[item], query.positions[position]
        row = Misfit(deviance, degrees, p_value, size, *names, observed, fitted)
        rows.append(row if p_value == p_value else None)
    return rows


def _misfit_text(misfit: Misfit | None) -> str:
    assert misfit is not None
    cell = f"{shown(misfit.item)} at {shown(misfit.position)}: {misfit.observed:.3g} instead of {misfit.fitted:.3g}"
    off = f"click rates are off by {100 * misfit.size:.0f} %, most of all {cell}"
    return f"a position-based model does not hold (p = {misfit.p_value:.1g}): {off}"
