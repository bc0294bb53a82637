"""Which items displays have at each position: the best displays, and the displays that visitors see now."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import Ints
from slotwise.policies._policy_module import find, learns
from slotwise.service.pages.insight_inputs import InsightInputs

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
    pins: Mapping[str, str]
    free: list[str]  # the positions without a pin


def display_groups(inputs: InsightInputs) -> list[DisplayGroup]:
    """The groups of displays that are arranged for each draw: without pins, and with the pins of the page."""
    groups = [
        DisplayGroup(segment, layout, pins, [position for position in positions if position not in pins])
        for segment in inputs.segments
        for layout, positions in inputs.layouts.items()
        for pins in ([{}, inputs.pins[layout]] if inputs.pins[layout] else [{}])
    ]
    return [group for group in groups if group.free]


def rows_and_columns(inputs: InsightInputs, active: Bools, group: DisplayGroup) -> tuple[Bools, Ints]:
    """The rows whose items may be shown, and the columns to fill."""
    pinned = set(group.pins.values())
    rows = [segment == group.segment and item not in pinned for segment, item, _ in inputs.rows]
    return active & np.array(rows), np.array(
        [inputs.columns.index((group.layout, position)) + 1 for position in group.free]
    )


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
        ShownItem(group.segment, group.layout, *entry, "learnt")
        for group, displays in zip(display_groups(inputs), group_displays, strict=True)
        if group.pins == inputs.pins[group.layout]
        for entry in _shares(inputs, group, displays)
    ]


def _shares(inputs: InsightInputs, group: DisplayGroup, displays: Ints) -> Iterator[tuple[str, str, float]]:
    """The share of each item at each free position of the displays, as (position, item, share)."""
    for k, position in enumerate(group.free):
        rows, times = np.unique(displays[:, k], return_counts=True)
        for row, share in zip(rows.tolist(), (times / len(displays)).tolist(), strict=True):
            if row != EMPTY:
                yield position, inputs.rows[row][1], share
