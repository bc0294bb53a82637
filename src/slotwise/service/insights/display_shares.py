"""Which items displays have at each position: the best displays, and the displays that visitors see now."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, NO_LIMIT, ItemRules
from slotwise.checks import Ints
from slotwise.inference.sampling.posterior import LabelGroup
from slotwise.item_terms import ItemTerms
from slotwise.policies._policy_module import find, learns
from slotwise.service.insights.insight_inputs import InsightInputs

Bools = NDArray[np.bool_]


class PositionProbability(Struct):
    """The probability that the best display has this item at this position."""

    segment: str
    layout: str
    position: str
    item: str
    probability: float


class ShownItem(Struct):
    """The share of displays that show this item at this position now, given the page's mode and pins.

    Displays of the holdout do not count. Under a policy that does not learn, only pins are listed.
    """

    segment: str
    layout: str
    position: str
    item: str
    share: float
    reason: Literal["pinned", "learnt", "default"]


class DisplayGroup(NamedTuple):
    """The displays of one layout for one segment, with these pins."""

    segment: str
    layout: str
    positions: list[str]
    pins: Mapping[str, str]


def display_groups(inputs: InsightInputs) -> list[DisplayGroup]:
    """The groups of displays that are arranged for each draw: without pins, and with the pins of the page."""
    groups = [
        DisplayGroup(segment, layout, positions, pins)
        for segment in inputs.segments
        for layout, positions in inputs.layouts.items()
        for pins in ([{}, inputs.pins[layout]] if inputs.pins[layout] else [{}])
    ]
    return [group for group in groups if len(group.pins) < len(group.positions)]


def label_group(inputs: InsightInputs, active: Bools, group: DisplayGroup) -> LabelGroup:
    """The rows whose items may be shown, the columns to fill, and the rows that are pinned."""
    rows = [segment == group.segment for segment, _, _ in inputs.rows]
    columns = [inputs.columns.index((group.layout, position)) + 1 for position in group.positions]
    pinned = np.full(len(columns), EMPTY)
    if group.pins:
        row_of = {item: k for k, (segment, item, _) in enumerate(inputs.rows) if segment == group.segment}
        for k, position in enumerate(group.positions):
            pinned[k] = row_of[group.pins[position]] if position in group.pins else EMPTY
    return LabelGroup(active & np.array(rows), np.array(columns), pinned)


def row_rules(inputs: InsightInputs, n_rows: int) -> ItemRules:
    """The values and categories of the rows. Rows of other pages follow, up to `n_rows`: they are never shown."""
    terms, rows = ItemTerms(n_rows), list(enumerate(inputs.rows))
    terms.change({k: spec.value for k, (_, _, spec) in rows}, {k: spec.category for k, (_, _, spec) in rows})
    return terms.rules(inputs.spec.most_per_category or NO_LIMIT)


def best_items(inputs: InsightInputs, group_displays: Sequence[Ints]) -> list[PositionProbability]:
    """The best displays without pins. `group_displays` has the displays of each of `display_groups` under each draw."""
    return [
        PositionProbability(group.segment, group.layout, *entry)
        for group, displays in zip(display_groups(inputs), group_displays, strict=True)
        if not group.pins
        for entry in _shares(inputs, group, displays)
    ]


def shown_items(inputs: InsightInputs, group_displays: Sequence[Ints]) -> list[ShownItem]:
    """What visitors see. Thompson sampling shows a display as often as it is the best one under a draw."""
    shown = [
        ShownItem(segment, layout, position, item, 1.0, "pinned")
        for segment in inputs.segments
        for layout, pins in inputs.pins.items()
        for position, item in pins.items()
    ]
    if inputs.spec.mode != "learn":
        return shown + [
            ShownItem(segment, layout, position, item, 1.0, "default")
            for segment in inputs.segments
            for layout, display in inputs.default_displays.items()
            for position, item in display.items()
            if position not in inputs.pins[layout]
        ]
    if not learns(find(inputs.spec.policy)):
        return shown
    return shown + [
        ShownItem(row.segment, row.layout, row.position, row.item, row.probability, "learnt")
        for row in learnt_items(inputs, group_displays)
    ]


def learnt_items(inputs: InsightInputs, group_displays: Sequence[Ints]) -> list[PositionProbability]:
    """What learnt displays have at the positions without a pin."""
    return [
        PositionProbability(group.segment, group.layout, *entry)
        for group, displays in zip(display_groups(inputs), group_displays, strict=True)
        if group.pins == inputs.pins[group.layout]
        for entry in _shares(inputs, group, displays)
    ]


def _shares(inputs: InsightInputs, group: DisplayGroup, displays: Ints) -> Iterator[tuple[str, str, float]]:
    """The share of each item at each position without a pin, as (position, item, share)."""
    for k, position in enumerate(group.positions):
        if position in group.pins:
            continue
        rows, times = np.unique(displays[:, k], return_counts=True)
        for row, share in zip(rows.tolist(), (times / len(displays)).tolist(), strict=True):
            if row != EMPTY:
                yield position, inputs.rows[row][1], share
