"""Warnings of fits. They name the items and positions whose estimates the counts do not determine."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints, format_value
from slotwise.inference.components import components_warning
from slotwise.inference.estimation.batch_fit import AT_ONE, AT_ZERO, INTERIOR, UNDETERMINED, UNOBSERVED, Batch

MAX_NAMES = 8  # in one warning
FEW_ITEM_CLICKS, FEW_POSITION_CLICKS = 10, 50  # with fewer clicks, measured intervals are inaccurate
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
    warnings = _component_warnings(batch.position_component[query], bool(batch.identifiable[query]))
    warnings += _state_warnings("item", batch.item_state[rows], items, item_texts)
    warnings += _state_warnings("position", batch.position_state[query], positions, position_texts)
    return warnings + _convergence_warnings(batch, query)


def position_warnings(joint: Batch, linked: bool, positions: Sequence[str]) -> list[str]:
    """Warnings about the positions of a template. `joint` has its queries as a single one.

    `linked` says whether clicks link the positions.
    """
    clicks, states = joint.clicks.sum(axis=0), joint.position_state[0]
    warnings = _component_warnings(joint.position_component[0], linked)
    warnings += _state_warnings("position", states, positions, POSITION_TEXTS)
    warnings += few_clicks("position", positions, clicks, states, POSITION_TEXTS, FEW_POSITION_CLICKS)
    return warnings + _convergence_warnings(joint, 0)


def item_warnings(batch: Batch, query: int, items: Sequence[str]) -> list[str]:
    """Warnings about the items of a query of a template. The warnings about its positions belong to the template."""
    rows = slice(batch.offsets[query], batch.offsets[query + 1])
    clicks, states = batch.clicks[rows].sum(axis=1), batch.item_state[rows]
    warnings = _state_warnings("item", states, items, ITEM_TEXTS)
    return warnings + few_clicks("item", items, clicks, states, ITEM_TEXTS, FEW_ITEM_CLICKS)


def few_clicks(
    what: str, names: Sequence[str], clicks: Floats, states: Ints, texts: StateTexts, least: int
) -> list[str]:
    """A warning about items or positions with few clicks.

    Items and positions that already have a warning about their state are left out.
    """
    columns = zip(names, clicks.tolist(), states.tolist(), strict=True)
    few = [name for name, total, state in columns if total < least and state not in texts]
    return [f"{name_list(what, few)}: fewer than {least} clicks, a rough estimate"] if few else []


def name_list(what: str, names: Iterable[str], plural: str = "") -> str:
    """Names as text, such as 'item a' or 'items a, b'. After the first few names, it says how many more there are."""
    listed = list(names)
    more = f" and {len(listed) - MAX_NAMES:,} more" if len(listed) > MAX_NAMES else ""
    noun = (plural or f"{what}s") if len(listed) > 1 else what
    return f"{noun} {', '.join(listed[:MAX_NAMES])}{more}"


def quoted(name: str) -> str:
    """The name in quotes, so that it stands out from the text around it. A number needs no quotes."""
    return name if name.isdecimal() and len(name) < 10 else format_value(name)


def _component_warnings(position_component: Ints, identifiable: bool) -> list[str]:
    n_components = len(set(position_component.tolist()))
    if n_components > 1:
        return [components_warning(n_components)]
    if not identifiable:
        return ["theta and kappa cannot be separated because the clicks do not connect all items and positions"]
    return []


def _convergence_warnings(batch: Batch, query: int) -> list[str]:
    if batch.converged[query]:
        return []
    return [f"the fit did not converge in {batch.passes[query]} passes"]


def _state_warnings(what: str, states: Ints, names: Sequence[str], texts: StateTexts) -> list[str]:
    members: dict[int, list[str]] = {state: [] for state in sorted(texts)}
    for name, state in zip(names, states.tolist(), strict=True):
        if state in members:
            members[state].append(name)
    return [f"{name_list(what, listed)}: {texts[state]}" for state, listed in members.items() if listed]
