"""Counts of clicks and skips per item and position, and their kernels. A PBM policy learns from nothing else."""

import os
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from slotwise.checks import BadInput, Floats, Ints, matrix, number, within
from slotwise.files import load_document, save_document
from slotwise.jit import kernel

FORMAT_VERSION = 1
_MOST = 1e300


class CountArrays(NamedTuple):
    """Counts in the form that the kernels use. Kernels change them in place and keep the redundant sums up to date."""

    clicks: Floats  # N x L
    skips: Floats  # N x L
    skips_by_position: Floats  # L x N: the transpose, so that loops over items read contiguous memory
    item_clicks: Floats  # N
    position_clicks: Floats  # L
    displays: Floats  # one number: how many displays were counted; policies compute the round t from it


@dataclass(frozen=True, eq=False)
class Counts:
    """Clicks S and skips F per item and position, and the number of displays that they come from.

    The default of `displays` is the largest sum of clicks and skips at any position.

    >>> counts = Counts(clicks=[[40, 20], [20, 10]], skips=[[60, 80], [80, 90]])
    >>> counts.displays
    200.0
    >>> counts.save("counts.json")
    >>> Counts.load("counts.json").clicks
    array([[40., 20.],
           [20., 10.]])
    """

    clicks: Floats
    skips: Floats
    displays: float

    def __init__(self, clicks: ArrayLike, skips: ArrayLike, displays: float | None = None) -> None:
        s = within("clicks", matrix("clicks", clicks), 0.0, np.inf)
        f = within("skips", matrix("skips", skips), 0.0, np.inf)
        if s.shape != f.shape:
            raise BadInput(f"clicks is {s.shape} and skips is {f.shape}; both must be items x positions")
        if max(s.max(), f.max()) > _MOST:
            raise BadInput(
                f"clicks and skips go up to {max(s.max(), f.max()):g}; the limit is {_MOST:g}, so that sums stay finite"
            )
        n_displays = float((s + f).sum(axis=0).max()) if displays is None else number("displays", displays)
        if not 0.0 <= n_displays < np.inf:
            raise BadInput(f"displays = {displays!r} is not a number of at least 0")
        object.__setattr__(self, "clicks", s)
        object.__setattr__(self, "skips", f)
        object.__setattr__(self, "displays", n_displays)

    def arrays(self) -> CountArrays:
        """A copy in the form that the kernels use."""
        arrays = empty(*self.clicks.shape)
        restore(arrays, self.clicks, self.skips, self.displays)
        return arrays

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as versioned JSON. An existing file is replaced atomically."""
        body = _SavedCounts(self.clicks.tolist(), self.skips.tolist(), self.displays)
        save_document(path, "counts", FORMAT_VERSION, body)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Counts":
        """Load a file that `save` wrote."""
        saved = load_document(path, "counts", FORMAT_VERSION, _SavedCounts)
        try:
            return cls(saved.clicks, saved.skips, saved.displays)
        except BadInput as error:
            raise BadInput(f"{str(path)!r} is a damaged slotwise counts file: {error}") from None

    @classmethod
    def of(cls, arrays: CountArrays) -> "Counts":
        """A copy of the kernels' counts."""
        return cls(arrays.clicks.copy(), arrays.skips.copy(), float(arrays.displays[0]))


class _SavedCounts(msgspec.Struct):
    clicks: list[list[float]]
    skips: list[list[float]]
    displays: float | None = None


@kernel
def empty(n_items: int, n_positions: int) -> CountArrays:
    """Counts before the first display."""
    return CountArrays(
        np.zeros((n_items, n_positions)),
        np.zeros((n_items, n_positions)),
        np.zeros((n_positions, n_items)),
        np.zeros(n_items),
        np.zeros(n_positions),
        np.zeros(1),
    )


@kernel(inline=True)
def add(counts: CountArrays, display: Ints, clicks: Ints) -> None:
    """Count one display: a click or a skip for every position that is not empty."""
    all_clicks, skips, skips_by_position = counts.clicks, counts.skips, counts.skips_by_position
    item_clicks, position_clicks = counts.item_clicks, counts.position_clicks
    for position in range(display.size):
        item = display[position]
        if item < 0:
            continue
        if clicks[position] > 0:
            all_clicks[item, position] += 1.0
            item_clicks[item] += 1.0
            position_clicks[position] += 1.0
        else:
            skips[item, position] += 1.0
            skips_by_position[position, item] += 1.0
    counts.displays[0] += 1.0


@kernel(inline=True)
def skip_to_click(counts: CountArrays, item: int, position: int) -> None:
    """Count a late click: turn one skip into a click."""
    counts.skips[item, position] -= 1.0
    counts.skips_by_position[position, item] -= 1.0
    counts.clicks[item, position] += 1.0
    counts.item_clicks[item] += 1.0
    counts.position_clicks[position] += 1.0


@kernel(inline=True)
def shift(counts: CountArrays, item: int, position: int, clicks: float, skips: float) -> None:
    """Add amounts to one cell. They may be negative, but rounding errors never make a count negative."""
    counts.skips[item, position] = max(counts.skips[item, position] + skips, 0.0)
    counts.skips_by_position[position, item] = counts.skips[item, position]
    counts.clicks[item, position] = max(counts.clicks[item, position] + clicks, 0.0)
    counts.item_clicks[item] = max(counts.item_clicks[item] + clicks, 0.0)
    counts.position_clicks[position] = max(counts.position_clicks[position] + clicks, 0.0)


@kernel
def shift_many(
    counts: CountArrays, items: Ints, positions: Ints, clicks: Floats, skips: Floats, displays: float
) -> None:
    """Add amounts to many cells and to the number of displays. The amounts may be negative."""
    for k in range(items.size):
        shift(counts, items[k], positions[k], clicks[k], skips[k])
    counts.displays[0] = max(counts.displays[0] + displays, 0.0)


@kernel
def fade(counts: CountArrays, factor: float) -> None:
    """Multiply every count, and the number of displays, by `factor`, so that the past weighs less."""
    restore(counts, counts.clicks * factor, counts.skips * factor, counts.displays[0] * factor)


@kernel
def restore(counts: CountArrays, clicks: Floats, skips: Floats, displays: float) -> None:
    """Set the counts of the first rows and columns, and recompute every redundant sum.

    The loops are plain because numba takes seconds to compile the assignment of a slice.
    """
    all_clicks, all_skips = counts.clicks, counts.skips
    for item in range(clicks.shape[0]):
        for position in range(clicks.shape[1]):
            all_clicks[item, position] = clicks[item, position]
            all_skips[item, position] = skips[item, position]
    counts.displays[0] = displays
    for item in range(all_clicks.shape[0]):
        counts.item_clicks[item] = 0.0
    for position in range(all_clicks.shape[1]):
        counts.position_clicks[position] = 0.0
        for item in range(all_clicks.shape[0]):
            counts.item_clicks[item] += all_clicks[item, position]
            counts.position_clicks[position] += all_clicks[item, position]
            counts.skips_by_position[position, item] = all_skips[item, position]


@kernel
def grown(counts: CountArrays, n_items: int, n_positions: int) -> CountArrays:
    """The same counts with more items and positions. The counts of the new ones are 0."""
    larger = empty(n_items, n_positions)
    restore(larger, counts.clicks, counts.skips, counts.displays[0])
    return larger
