"""Counts: clicks and skips per item and position, all that a policy learns from, and the kernels on them."""

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
    """Counts as the kernels hold them: changed in place, with the sums that samplers read kept up to date."""

    clicks: Floats  # N x L
    skips: Floats  # N x L
    skips_by_position: Floats  # L x N: the transpose, so that loops over items run along memory
    item_clicks: Floats  # N
    position_clicks: Floats  # L
    displays: Floats  # one number: displays counted, from which the policies derive the round t


@dataclass(frozen=True, eq=False)
class Counts:
    """Clicks S and skips F per item x position, and the number of displays they come from.

    When `displays` is not given, it is the number of outcomes at the busiest position.
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
            raise BadInput(f"clicks and skips go up to {max(s.max(), f.max()):g}; above {_MOST:g} sums are not finite")
        shown = float((s + f).sum(axis=0).max()) if displays is None else number("displays", displays)
        if not 0.0 <= shown < np.inf:
            raise BadInput(f"displays = {displays!r} is not a number of at least 0")
        object.__setattr__(self, "clicks", s)
        object.__setattr__(self, "skips", f)
        object.__setattr__(self, "displays", shown)

    def arrays(self) -> CountArrays:
        """A copy for the kernels to act on."""
        tally = empty(*self.clicks.shape)
        restore(tally, self.clicks, self.skips, self.displays)
        return tally

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save as versioned JSON; the file is replaced whole."""
        body = _Saved(self.clicks.tolist(), self.skips.tolist(), self.displays)
        save_document(path, "counts", FORMAT_VERSION, body)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Counts":
        """Read back what `save` wrote."""
        saved = load_document(path, "counts", FORMAT_VERSION, _Saved)
        try:
            return cls(saved.clicks, saved.skips, saved.displays)
        except BadInput as error:
            raise BadInput(f"{str(path)!r} is a damaged slotwise counts: {error}") from None

    @classmethod
    def of(cls, tally: CountArrays) -> "Counts":
        """A copy of what the kernels hold."""
        return cls(tally.clicks.copy(), tally.skips.copy(), float(tally.displays[0]))


class _Saved(msgspec.Struct):
    clicks: list[list[float]]
    skips: list[list[float]]
    displays: float | None = None


@kernel
def empty(n_items: int, n_positions: int) -> CountArrays:
    """Nothing shown yet."""
    return CountArrays(
        np.zeros((n_items, n_positions)),
        np.zeros((n_items, n_positions)),
        np.zeros((n_positions, n_items)),
        np.zeros(n_items),
        np.zeros(n_positions),
        np.zeros(1),
    )


@kernel(inline=True)
def add(tally: CountArrays, display: Ints, clicks: Ints) -> None:
    """Count one display: a click or a skip for every position that showed an item."""
    clicked, skips, skips_by_position = tally.clicks, tally.skips, tally.skips_by_position
    item_clicks, position_clicks = tally.item_clicks, tally.position_clicks
    for position in range(display.size):
        item = display[position]
        if item < 0:
            continue
        if clicks[position] > 0:
            clicked[item, position] += 1.0
            item_clicks[item] += 1.0
            position_clicks[position] += 1.0
        else:
            skips[item, position] += 1.0
            skips_by_position[position, item] += 1.0
    tally.displays[0] += 1.0


@kernel(inline=True)
def move(tally: CountArrays, item: int, position: int) -> None:
    """A click that came late: what was counted as a skip becomes a click."""
    tally.skips[item, position] -= 1.0
    tally.skips_by_position[position, item] -= 1.0
    tally.clicks[item, position] += 1.0
    tally.item_clicks[item] += 1.0
    tally.position_clicks[position] += 1.0


@kernel(inline=True)
def shift(tally: CountArrays, item: int, position: int, clicks: float, skips: float) -> None:
    """Change one cell by these amounts, either of which may be below 0; rounding takes no count below 0."""
    tally.skips[item, position] = max(tally.skips[item, position] + skips, 0.0)
    tally.skips_by_position[position, item] = tally.skips[item, position]
    tally.clicks[item, position] = max(tally.clicks[item, position] + clicks, 0.0)
    tally.item_clicks[item] = max(tally.item_clicks[item] + clicks, 0.0)
    tally.position_clicks[position] = max(tally.position_clicks[position] + clicks, 0.0)


@kernel
def shift_many(
    tally: CountArrays, items: Ints, positions: Ints, clicks: Floats, skips: Floats, displays: float
) -> None:
    """Change many cells, and the number of displays."""
    for k in range(items.size):
        shift(tally, items[k], positions[k], clicks[k], skips[k])
    tally.displays[0] = max(tally.displays[0] + displays, 0.0)


@kernel
def fade(tally: CountArrays, factor: float) -> None:
    """Let the past weigh less: every count, displays too, times `factor`."""
    restore(tally, tally.clicks * factor, tally.skips * factor, tally.displays[0] * factor)


@kernel
def restore(tally: CountArrays, clicks: Floats, skips: Floats, displays: float) -> None:
    """Set the counts of the first rows and columns, and compute every kept sum anew."""
    n_items, n_positions = clicks.shape
    tally.clicks[:n_items, :n_positions] = clicks
    tally.skips[:n_items, :n_positions] = skips
    tally.displays[0] = displays
    for item in range(tally.clicks.shape[0]):
        tally.item_clicks[item] = tally.clicks[item].sum()
    for position in range(tally.clicks.shape[1]):
        tally.position_clicks[position] = tally.clicks[:, position].sum()
        tally.skips_by_position[position] = tally.skips[:, position]


@kernel
def grown(tally: CountArrays, n_items: int, n_positions: int) -> CountArrays:
    """The same counts with room for more items and positions, those never shown."""
    larger = empty(n_items, n_positions)
    restore(larger, tally.clicks, tally.skips, tally.displays[0])
    return larger
