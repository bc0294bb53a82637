"""Warnings of fits. They name the items and positions whose estimates the counts do not determine."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Ints
from slotwise.inference.components import components_warning
from slotwise.inference.estimation.batch_fit import AT_ONE, AT_ZERO, INTERIOR, UNDETERMINED, UNOBSERVED, Batch

MAX_NAMES = 8  # in one warning
StateTexts = dict[int, str]

ITEM_TEXTS = {
    AT_ZERO: "never clicked; theta is 0, on the boundary, without a standard error",
    AT_ONE: "theta is 1, on the boundary, without a standard error",
    UNOBSERVED: "never shown; theta is set to the mean of the other items",
    UNDETERMINED: "shown only at positions without clicks; theta is set to the mean of the other items",
}
POSITION_TEXTS = {
    AT_ZERO: "no clicks; kappa is 0, on the boundary, without a standard error",
    AT_ONE: "kappa is 1, on the boundary, without a standard error",
    UNOBSERVED: "never used; kappa is set to the mean of the other positions",
    UNDETERMINED: "showed only items without clicks; kappa is set to the mean of the other positions",
}


def needs_warning(batch: Batch) -> NDArray[np.bool_]:
    """For each query: whether `query_warnings` returns a warning."""
    warned = np.logical_or.reduceat(batch.item_state != INTERIOR, batch.offsets[:-1])
    warned |= (batch.position_state != INTERIOR).any(axis=1)
    return np.asarray(warned | ~batch.identifiable | ~batch.converged, np.bool_)


def query_warnings(
    batch: Batch,
    query: int,
    items: Sequence[str],
    positions: Sequence[str],
    item_texts: StateTexts = ITEM_TEXTS,
    position_texts: StateTexts = POSITION_TEXTS,
) -> list[str]:
    """Warnings about what the counts of a query do not determine. `items` and `positions` are the names to use."""
    rows = slice(batch.offsets[query], batch.offsets[query + 1])
    warnings = []
    n_components = len(set(batch.position_component[query].tolist()))
    if n_components > 1:
        warnings.append(components_warning(n_components))
    elif not batch.identifiable[query]:
        warnings.append("theta and kappa cannot be separated because the clicks do not connect all items and positions")
    warnings += _state_warnings("item", batch.item_state[rows], items, item_texts)
    warnings += _state_warnings("position", batch.position_state[query], positions, position_texts)
    if not batch.converged[query]:
        warnings.append(f"the fit did not converge in {batch.passes[query]} passes")
    return warnings


def name_list(what: str, names: Iterable[str]) -> str:
    """Names as text, such as 'item a' or 'items a, b'. After the first few names, it says how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - MAX_NAMES:,} more" if len(listed) > MAX_NAMES else ""
    return f"{what}{'s'[: len(listed) > 1]} {', '.join(listed[:MAX_NAMES])}{more}"


def _state_warnings(what: str, states: Ints, names: Sequence[str], texts: StateTexts) -> list[str]:
    members: dict[int, list[str]] = {state: [] for state in sorted(texts)}
    for name, state in zip(names, states.tolist(), strict=True):
        if state in members:
            members[state].append(name)
    return [f"{name_list(what, listed)}: {texts[state]}" for state, listed in members.items() if listed]
