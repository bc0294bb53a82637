"""Fit queries with the same positions together: common kappas, and thetas of each query."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import Counts
from slotwise.inference.components import label_components
from slotwise.inference.estimation.batch_fit import UNOBSERVED, Batch, assess, fit_em
from slotwise.inference.excluded_queries import kappa_tests_by_exclusion
from slotwise.inference.fit_warnings import name_list, position_warnings, quoted
from slotwise.inference.goodness_of_fit import MIN_WARNED_SIZE, discoveries
from slotwise.inference.kappa_test import KappaTests
from slotwise.inference.template import DIFFERENT_KAPPAS, OTHER_KAPPAS, KappaTest, Template
from slotwise.logs.query import Query


class JointFit(NamedTuple):
    """The fit of all queries of a template."""

    batch: Batch  # a row of kappas for each query, although all rows are equal
    linked: int  # queries whose counts alone would not separate theta and kappa
    test: KappaTest | None
    query_tests: list[KappaTest | None]
    warnings: list[str]  # about the positions


def by_positions(queries: Sequence[Query]) -> list[list[int]]:
    """The indices of the queries, grouped by the names of their positions."""
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for k, query in enumerate(queries):
        groups[tuple(query.positions)].append(k)
    return list(groups.values())


def joint_fit(queries: Sequence[Query], estimate: Callable[[Batch], None]) -> JointFit:
    """Fit queries with the same positions as if they were one query that has the items of all."""
    separate = Batch.of([query.counts for query in queries])
    stacked = Counts(separate.clicks, separate.skips)
    joint = Batch.of([stacked])
    estimate(joint)
    offsets = separate.offsets
    _impute_per_query(joint, offsets)
    linked_positions = _linked_positions(joint)
    batch = _divided(joint, separate, linked_positions)
    together, each = _kappa_tests(stacked, offsets)
    linked = int((batch.identifiable & ~_identifiable_alone(separate)).sum())
    warnings = position_warnings(joint, linked_positions, [quoted(name) for name in queries[0].positions])
    return JointFit(batch, linked, together, each, warnings)


class KappaComparison(NamedTuple):
    """Whether queries with the same positions have the same kappas."""

    test: KappaTest | None  # of all queries together
    differ: bool  # whether it finds a difference that is significant and large enough to matter
    stand_out: list[bool]  # the same for each query, compared with the others


def compare_kappas(queries: Sequence[Counts]) -> KappaComparison:
    """Test whether queries have the same kappas, without fitting anything else."""
    separate = Batch.of(queries)
    together, each = _kappa_tests(Counts(separate.clicks, separate.skips), separate.offsets)
    return KappaComparison(together, _differing([together])[0], _differing(each))


def _kappa_tests(stacked: Counts, offsets: Ints) -> tuple[KappaTest | None, list[KappaTest | None]]:
    """The test of all queries together, and that of each query. They need the likeliest fit, without a prior."""
    likeliest = Batch.of([stacked])
    fit_em(likeliest, 0.0)
    assess(likeliest)
    together, each = kappa_tests_by_exclusion(likeliest, offsets)
    return _listed(together)[0], _listed(each)


def templates(fits: Sequence[tuple[JointFit | None, list[str]]]) -> list[Template | None]:
    """The template of each joint fit, whose queries have these names. Without a joint fit there is None.

    The tests of all templates together, and those of all queries together, control the rate of false discoveries.
    """
    joints = [joint for joint, _ in fits if joint]
    differ = iter(_differing([joint.test for joint in joints]))
    stand_out = iter(_differing([test for joint in joints for test in joint.query_tests]))
    rows: list[Template | None] = []
    for joint, names in fits:
        if joint is None:
            rows.append(None)
            continue
        differing = [name for name in names if next(stand_out)]
        warnings = list(joint.warnings)
        if next(differ) and joint.test is not None:
            warnings.append(_different_kappas_text(joint.test, differing, len(names)))
        rows.append(Template(len(names), joint.linked, joint.test, differing, warnings))
    return rows


def _differing(tests: Sequence[KappaTest | None]) -> list[bool]:
    """Which tests find a difference that is significant and large enough to matter."""
    p_value = np.array([np.nan if test is None else test.p_value for test in tests])
    size = np.array([0.0 if test is None else test.size for test in tests])
    return [bool(flag) for flag in discoveries(p_value) & (size >= MIN_WARNED_SIZE)]


def _different_kappas_text(test: KappaTest, differing: Sequence[str], n: int) -> str:
    """The warning of a template whose queries have different kappas."""
    text = f"{DIFFERENT_KAPPAS} (p = {test.p_value:.1g}), by {100 * test.size:.0f} % on average"
    if not differing:
        return f"{text}; no single query stands out"
    verb = "stand" if len(differing) > 1 else "stands"
    return f"{text}; {len(differing):,} of {n:,} {verb} out: {name_list('query', map(quoted, differing), 'queries')}"


def differing_text(query: Query, test: KappaTest, kappa: Floats) -> str:
    """The warning of a query whose kappas differ from `kappa`. It names the position that differs most."""
    alone = Batch.of([query.counts])
    fit_em(alone, 0.0)
    assess(alone)
    own = alone.kappa[0]
    determined = (alone.position_state[0] < UNOBSERVED) & (kappa > 0.0)
    ratio = np.log(np.maximum(own, 1e-3) / np.where(determined, kappa, 1.0))
    worst = int(np.argmax(np.where(determined, np.abs(ratio) * np.sqrt(query.counts.clicks.sum(axis=0) + 1.0), -1.0)))
    return (
        f"{OTHER_KAPPAS} (p = {test.p_value:.1g}), by {100 * test.size:.0f} %; fitted alone, "
        f"position {quoted(query.positions[worst])} has kappa {own[worst]:.3g} instead of {kappa[worst]:.3g}"
    )


def _impute_per_query(joint: Batch, offsets: Ints) -> None:
    """Set each theta that counts do not determine to the mean of its own query, if the query has another theta."""
    known = joint.item_state < UNOBSERVED
    if known.all():
        return
    query_of = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    n_known = np.bincount(query_of, known, offsets.size - 1)
    total = np.bincount(query_of, np.where(known, joint.theta, 0.0), offsets.size - 1)
    replaced = ~known & (n_known[query_of] > 0.0)
    joint.theta[replaced] = (total / np.maximum(n_known, 1.0))[query_of[replaced]]


def _divided(joint: Batch, separate: Batch, linked_positions: bool) -> Batch:
    """The joint fit in the form of a batch with all queries. The arrays of the items are those of the joint fit."""
    n = separate.passes.size
    known = np.logical_and.reduceat(joint.item_state < UNOBSERVED, separate.offsets[:-1])
    return separate._replace(
        theta=joint.theta,
        theta_error=joint.theta_error,
        item_component=joint.item_component,
        item_state=joint.item_state,
        kappa=np.repeat(joint.kappa, n, axis=0),
        kappa_error=np.repeat(joint.kappa_error, n, axis=0),
        position_component=np.repeat(joint.position_component, n, axis=0),
        position_state=np.repeat(joint.position_state, n, axis=0),
        log_likelihood=np.full(n, np.nan),
        passes=np.repeat(joint.passes, n),
        converged=np.repeat(joint.converged, n),
        identifiable=known & linked_positions,
    )


def _linked_positions(joint: Batch) -> bool:
    """Whether the clicks link all positions, so that their kappas can be compared."""
    labels = joint.item_component.copy(), joint.position_component[0].copy()
    n_clicked = label_components(joint.clicks, joint.skips, joint.theta, joint.kappa[0], *labels)
    known = joint.position_state[0] < UNOBSERVED
    return bool(n_clicked == 1 and np.unique(joint.position_component[0]).size == 1 and known.all())


def _identifiable_alone(separate: Batch) -> NDArray[np.bool_]:
    """Which queries have counts that determine theta and kappa. It depends only on which cells have clicks or skips."""
    separate.theta[:] = separate.clicks.any(axis=1)
    separate.kappa[:] = np.logical_or.reduceat(separate.clicks > 0.0, separate.offsets[:-1], axis=0)
    separate.theta_error[:], separate.kappa_error[:] = 0.0, 0.0
    assess(separate)
    return separate.identifiable


def _listed(tests: KappaTests) -> list[KappaTest | None]:
    rows = zip(*(column.tolist() for column in tests), strict=True)
    return [KappaTest(*row) if row[2] == row[2] else None for row in rows]  # NaN: not tested
