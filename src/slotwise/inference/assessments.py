"""How reliable the estimates of each query are: what its counts determine, what tests found, and named warnings."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import format_value
from slotwise.inference.estimation.batch_fit import UNOBSERVED, Batch
from slotwise.inference.fit_warnings import (
    FEW_ITEM_CLICKS,
    FEW_POSITION_CLICKS,
    ITEM_TEXTS,
    POSITION_TEXTS,
    StateTexts,
    few_clicks,
    item_warnings,
    needs_warning,
    query_warnings,
    quoted,
)
from slotwise.inference.goodness_of_fit import MIN_WARNED_SIZE, discoveries
from slotwise.inference.query_fit import POOR_FIT, GoodnessOfFit
from slotwise.inference.template import KappaTest, Template
from slotwise.inference.template_fits import JointFit, differing_text
from slotwise.logs.query import Query

# with bayes, the prior determines what the counts do not determine, and no estimate is on the boundary
_PRIOR_ITEM_TEXTS = {UNOBSERVED: "never shown; theta has its prior distribution"}
_PRIOR_POSITION_TEXTS = {UNOBSERVED: "never used; kappa has its prior distribution"}


class Assessment(NamedTuple):
    """How reliable the estimates of one query are."""

    identifiable: bool
    goodness_of_fit: GoodnessOfFit | None
    warnings: list[str]
    template: Template | None = None
    kappa_test: KappaTest | None = None


class FittedBatch(NamedTuple):
    """Queries fitted together."""

    members: list[int]
    batch: Batch
    goodness: list[GoodnessOfFit | None]
    joint: JointFit | None = None


def poor_fits(batches: Sequence[FittedBatch], n: int) -> NDArray[np.bool_]:
    """Which queries a PBM does not fit.

    Their deviation is large, and it is significant at a controlled rate of false discoveries.
    """
    p_value, size = np.full(n, np.nan), np.zeros(n)
    for fitted in batches:
        for k, goodness in zip(fitted.members, fitted.goodness, strict=True):
            if goodness is not None:
                p_value[k], size[k] = goodness.p_value, goodness.size
    return np.asarray(discoveries(p_value) & (size >= MIN_WARNED_SIZE))


def assessments(
    fitted: FittedBatch, queries: Sequence[Query], poor: NDArray[np.bool_], bayes: bool
) -> Iterator[Assessment]:
    """The assessment of each query of a batch, without the warnings of the sampler."""
    batch = fitted.batch
    warned = (needs_warning(batch) | _has_few_clicks(batch)).tolist()
    identifiable = batch.identifiable.tolist()
    texts = (_PRIOR_ITEM_TEXTS, _PRIOR_POSITION_TEXTS) if bayes else (ITEM_TEXTS, POSITION_TEXTS)
    for row, (k, goodness) in enumerate(zip(fitted.members, fitted.goodness, strict=True)):
        warnings = [*_named_warnings(batch, row, queries[k], *texts)] if warned[row] else []
        if poor[k] and goodness is not None:
            warnings.append(_poor_fit_text(goodness))
        yield Assessment(identifiable[row], goodness, warnings)


def template_assessments(
    fitted: FittedBatch, queries: Sequence[Query], poor: NDArray[np.bool_], template: Template
) -> Iterator[Assessment]:
    """The assessment of each query of a template."""
    batch, joint, differing = fitted.batch, fitted.joint, set(template.differing)
    warned = (needs_warning(batch) | _has_few_clicks(batch)).tolist()
    identifiable = batch.identifiable.tolist()
    for row, (k, goodness) in enumerate(zip(fitted.members, fitted.goodness, strict=True)):
        query, test = queries[k], joint.query_tests[row] if joint else None
        warnings = item_warnings(batch, row, [quoted(name) for name in query.items]) if warned[row] else []
        if poor[k] and goodness is not None:
            warnings.append(_poor_fit_text(goodness))
        if test is not None and query.name in differing:
            warnings.append(differing_text(query, test, batch.kappa[row]))
        yield Assessment(identifiable[row], goodness, warnings, template, test)


def _has_few_clicks(batch: Batch) -> NDArray[np.bool_]:
    """For each query: whether any of its items or positions has few clicks."""
    items = np.logical_or.reduceat(batch.clicks.sum(axis=1) < FEW_ITEM_CLICKS, batch.offsets[:-1])
    positions = np.add.reduceat(batch.clicks, batch.offsets[:-1], axis=0) < FEW_POSITION_CLICKS
    return np.asarray(items | positions.any(axis=1))


def _named_warnings(
    batch: Batch, row: int, query: Query, item_texts: StateTexts, position_texts: StateTexts
) -> Iterator[str]:
    items, positions = [quoted(name) for name in query.items], [quoted(name) for name in query.positions]
    yield from query_warnings(batch, row, items, positions, item_texts, position_texts)
    rows = slice(batch.offsets[row], batch.offsets[row + 1])
    clicks, item_state, position_state = batch.clicks[rows], batch.item_state[rows], batch.position_state[row]
    yield from few_clicks("item", items, clicks.sum(axis=1), item_state, item_texts, FEW_ITEM_CLICKS)
    yield from few_clicks(
        "position", positions, clicks.sum(axis=0), position_state, position_texts, FEW_POSITION_CLICKS
    )


def _poor_fit_text(goodness: GoodnessOfFit) -> str:
    cell = f"{format_value(goodness.item)} at {format_value(goodness.position)}"
    return (
        f"{POOR_FIT} (p = {goodness.p_value:.1g}): click rates are off by "
        f"{100 * goodness.size:.0f} %, most of all {cell}: {goodness.observed:.3g} instead of {goodness.fitted:.3g}"
    )
