"""The displays from which one is picked at random, and so the propensities of learnt displays.

Items without a row in the ensemble are drawn for every display. If they are exchangeable, the propensities are exact
although these draws are not known. Given a draw of the ensemble, an item with a row comes at a rank if the right number
of the other items draw a larger theta, and this number is binomial. What remains of each rank belongs to the items
without a row, and each of them has the same share of it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.service.ensembles.arrange_draw import Int32s
from slotwise.service.ensembles.largest_draws import exceeded

_LEAST = 1e-12  # the rounding errors of sums of probabilities are far below
Bools = NDArray[np.bool_]


class PickedDisplays(NamedTuple):
    """The displays from which one is picked, and the probability of each."""

    displays: Int32s  # picks x positions
    chances: Floats

    def propensities(self, pick: int) -> list[float]:
        """The probability of each item of a pick's display at its position."""
        shares = self.chances @ (self.displays == self.displays[pick])
        return [min(share, 1.0) for share in shares.tolist()]  # a sum of chances may exceed 1 by rounding


class DrawnShares(NamedTuple):
    """The probability of each item at each position, in displays for which items without a row are drawn.

    `others` has those of each item without a row. It is empty if the probabilities are not known.
    """

    shares: dict[int, list[float]]  # item -> positions
    others: list[float]

    def propensities(self, display: Ints) -> list[float] | None:
        """The probability of each item of a display at its position. None if one is not known, or too small."""
        if not self.others:
            return None
        found = [
            1.0 if item == EMPTY else self.shares.get(item, self.others)[position]
            for position, item in enumerate(display.tolist())
        ]
        return found if min(found) > _LEAST else None


UNKNOWN_SHARES = DrawnShares({}, [])


class DrawnDisplays(NamedTuple):
    """The display of each draw of an ensemble without the items that have no row, and what it was made from.

    `theta` are those of the displayed items, in the order of the display.
    """

    displays: Ints  # draws x positions
    theta: Floats  # draws x positions
    kappa: Floats  # draws x positions
    beta: Floats  # draws x 2: the law of the thetas of items without a row
    chances: Floats  # of each draw


def with_items_without_row(drawn: DrawnDisplays, n_items: int, pins: Ints) -> DrawnShares:
    """The shares of displays in which so many exchangeable items without a row take part. None of them is pinned."""
    free = np.flatnonzero(pins == EMPTY)
    n_draws, n_free = len(drawn.displays), free.size
    order = free[np.argsort(-drawn.kappa[:, free], axis=1, kind="stable")]  # the position of each rank
    ranked = np.take_along_axis(drawn.displays, order, axis=1)
    above = _counts_above(exceeded(drawn.beta, np.take_along_axis(drawn.theta, order, axis=1)), n_items)
    above[ranked == EMPTY] = 0.0
    displays = np.full((n_free, n_draws, pins.size), EMPTY, np.int64)
    chances = np.zeros(displays.shape)
    chances[:1, :, :] = drawn.chances[:, None]
    displays[:, :, :] = pins
    for k in range(n_free):  # k items without a row come before
        moved = order[:, k:]
        np.put_along_axis(displays[k], moved, ranked[:, : n_free - k], axis=1)
        np.put_along_axis(chances[k], moved, above[:, : n_free - k, k] * drawn.chances[:, None], axis=1)
        np.put_along_axis(chances[k], order[:, :k], 0.0, axis=1)
    filled = np.arange(n_free) < (ranked != EMPTY).sum(axis=1)[:, None] + n_items
    others = np.zeros(pins.size)
    np.add.at(others, order, filled * drawn.chances[:, None])
    others = np.maximum(others - (chances * (displays != EMPTY)).sum(axis=(0, 1)), 0.0) / n_items
    items, rows = np.unique(displays, return_inverse=True)
    shares = np.zeros((items.size, pins.size))
    np.add.at(shares, (rows.reshape(displays.shape), np.arange(pins.size)), chances)
    shares = np.minimum(shares, 1.0)  # a sum of chances may exceed 1 by rounding
    return DrawnShares(dict(zip(items.tolist(), shares.tolist(), strict=True)), others.tolist())


def _counts_above(exceeded: Floats, n_items: int) -> Floats:
    """Draws x ranks x counts: the probability that so many of the items draw a larger theta than the ranked item."""
    n_counts = exceeded.shape[1]
    found = np.empty((*exceeded.shape, n_counts))  # 0, 1, 2, ...
    odds = exceeded / (1.0 - exceeded)
    found[:, :, 0] = np.exp(n_items * np.log1p(-exceeded))
    for count in range(1, n_counts):
        found[:, :, count] = found[:, :, count - 1] * max(n_items - count + 1, 0) / count * odds
    return found
