"""Cautions: what to know before using estimates, in plain words that name the items and positions they are about."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Ints
from slotwise.inference.estimation.batch import AT_ONE, AT_ZERO, INSIDE, SILENT, UNSEEN, Batch

MOST_NAMES = 8  # in one warning
Texts = dict[int, str]

ITEM_TEXTS = {
    AT_ZERO: "never clicked: theta is on the boundary, 0, without an error",
    AT_ONE: "on the boundary: theta is 1, without an error",
    UNSEEN: "never shown: theta is the mean of the others",
    SILENT: "shown only at positions without clicks: theta is the mean of the others",
}
POSITION_TEXTS = {
    AT_ZERO: "without clicks: kappa is on the boundary, 0, without an error",
    AT_ONE: "on the boundary: kappa is 1, without an error",
    UNSEEN: "never used: kappa is the mean of the others",
    SILENT: "showed only items that are never clicked: kappa is the mean of the others",
}


def flagged(batch: Batch) -> NDArray[np.bool_]:
    """Queries with anything to warn about."""
    doubtful = np.logical_or.reduceat(batch.item_state != INSIDE, batch.first[:-1])
    doubtful |= (batch.position_state != INSIDE).any(axis=1)
    return np.asarray(doubtful | ~batch.identifiable | ~batch.converged, np.bool_)


def cautions(
    batch: Batch,
    query: int,
    items: Sequence[str],
    positions: Sequence[str],
    item_texts: Texts = ITEM_TEXTS,
    position_texts: Texts = POSITION_TEXTS,
) -> list[str]:
    """What the counts of a query cannot tell; `items` and `positions` are what to call them."""
    rows = slice(batch.first[query], batch.first[query + 1])
    found = []
    n_parts = len(set(batch.position_part[query].tolist()))
    if n_parts > 1:
        found.append(f"items and positions fall into {n_parts} parts never shown together: compare within a part only")
    elif not batch.identifiable[query]:
        found.append("what was clicked does not link all items and positions: theta and kappa cannot be told apart")
    found += _by_state("item", batch.item_state[rows], items, item_texts)
    found += _by_state("position", batch.position_state[query], positions, position_texts)
    if not batch.converged[query]:
        found.append(f"did not converge in {batch.passes[query]} passes")
    return found


def about(what: str, names: Iterable[str]) -> str:
    """'item a', 'items a, b', and no more names than one reads."""
    listed = list(names)
    more = f" and {len(listed) - MOST_NAMES:,} more" if len(listed) > MOST_NAMES else ""
    return f"{what}{'s'[: len(listed) > 1]} {', '.join(listed[:MOST_NAMES])}{more}"


def _by_state(what: str, states: Ints, names: Sequence[str], texts: Texts) -> list[str]:
    concerned: dict[int, list[str]] = {state: [] for state in sorted(texts)}
    for name, state in zip(names, states.tolist(), strict=True):
        if state in concerned:
            concerned[state].append(name)
    return [f"{about(what, listed)} {texts[state]}" for state, listed in concerned.items() if listed]
