"""Retired items, removed positions and removed segments that are folded: all of their counts are in the snapshot.

Late clicks can no longer change these counts, so a page in memory does not have them. The store keeps them. If the page
needs them again, it is loaded again.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from slotwise.service.pages.page_definition import ItemSpec, PageBody


class Folded(NamedTuple):
    """The numbers of folded items, columns and segments. The store numbers the columns from 0."""

    items: frozenset[int] = frozenset()
    columns: frozenset[int] = frozenset()
    segments: frozenset[int] = frozenset()

    def __or__(self, other: "Folded") -> "Folded":
        return Folded(*(mine | theirs for mine, theirs in zip(self, other, strict=True)))

    def __sub__(self, other: "Folded") -> "Folded":
        return Folded(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    def has_cell(self, item: int, column: int, segment: int) -> bool:
        """Whether the counts of an item at a position for a segment are folded."""
        return item in self.items or column in self.columns or segment in self.segments

    def still_unused(self, body: PageBody, specs: Sequence[ItemSpec]) -> "Folded":
        """Without the items, columns and segments that the page uses."""
        return Folded(
            frozenset(item for item in self.items if specs[item].state == "retired"),
            self.columns & _removed_columns(body),
            self.segments & _removed_segments(body),
        )


NOTHING_FOLDED = Folded()


def find_unused(body: PageBody, specs: Sequence[ItemSpec], counted: Iterable[int]) -> Folded:
    """What a page no longer shows. `counted` are the items with counts. What the log does not count is folded."""
    retired = frozenset(item for item in counted if specs[item].state == "retired")
    return Folded(retired, _removed_columns(body), _removed_segments(body))


def _removed_columns(body: PageBody) -> frozenset[int]:
    layouts = body.spec.all_layouts()
    return frozenset(
        number for number, (layout, position) in enumerate(body.columns) if position not in layouts.get(layout, [])
    )


def _removed_segments(body: PageBody) -> frozenset[int]:
    return frozenset(number for number, name in enumerate(body.segments) if name and name not in body.spec.segments)
