"""Visibility rows: counts of another page that tell how visible positions are. Their items are never shown."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from slotwise.checks import BadInput, format_value, number
from slotwise.counts import Counts

_SUFFIX = " (visibility)"  # the end of the names of visibility rows


class VisibilityRows(NamedTuple):
    """Counts of items of another page, and their names."""

    names: list[str]
    counts: Counts


def visibility_rows(
    items: Sequence[str],
    positions: Sequence[str],
    counts: Counts,
    displays: float | None,
    page_items: Iterable[str],
    page_positions: Sequence[str],
) -> VisibilityRows:
    """The observed rows of another page, with names that no item of the new page has.

    Columns get the order of `page_positions`. The counts represent at most `displays` displays.
    """
    if sorted(positions) != sorted(page_positions):
        theirs, own = format_value(list(positions)), format_value(list(page_positions))
        raise BadInput(f"visibility has the positions {theirs}; it must have those of the page, {own}")
    columns = [list(positions).index(name) for name in page_positions]
    views = Counts(counts.clicks[:, columns], counts.skips[:, columns])
    light = faded(views, displays)
    rows = np.flatnonzero((views.clicks + views.skips).any(axis=1)).tolist()
    names = _unused([items[k] for k in rows], page_items)
    return VisibilityRows(names, Counts(light.clicks[rows], light.skips[rows]) if rows else light)


def faded(counts: Counts, displays: float | None) -> Counts:
    """The counts, scaled down so that they represent at most `displays` displays. If None, they stay."""
    if displays is None:
        return counts
    most = number("displays", displays)
    if not 0.0 <= most < math.inf:
        raise BadInput(f"displays = {displays!r} is not a number of at least 0")
    share = min(1.0, most / counts.displays) if counts.displays > 0.0 else 1.0
    return Counts(share * counts.clicks, share * counts.skips, share * counts.displays)


def _unused(names: Iterable[str], items: Iterable[str]) -> list[str]:
    """A name for each row that nothing else has, such as 'hat (visibility)'."""
    taken, unused = set(items), []
    for name in names:
        row = name if name.endswith(_SUFFIX) else f"{name}{_SUFFIX}"
        while row in taken:
            row += _SUFFIX
        taken.add(row)
        unused.append(row)
    return unused
