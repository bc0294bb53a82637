"""What a log with propensities says, as sums: all that the estimators of this folder need."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.checks import Floats, Ints
from slotwise.counts import Counts


class LoggedCells(NamedTuple):
    """Displays and earnings of a log, summed by cluster of visitors, item, position and propensity.

    A propensity is the probability with which the item was shown at the position when the display was chosen. Few
    different propensities occur, because displays are picks from a small number of draws. So a log of any size has few
    cells. An infinite propensity gives the weight 0: such cells only add to the counts. `earned` counts clicks, or sums
    the values of the clicked items.
    """

    cluster: Ints
    item: Ints
    position: Ints
    propensity: Floats
    shown: Floats
    clicked: Floats
    earned: Floats
    displays: Floats  # the displays of each cluster whose propensities are finite

    @property
    def half(self) -> Ints:
        """The half of the log, 0 or 1, to which each cluster belongs. What one half learns, the other half checks."""
        return np.arange(self.displays.size) % 2

    def counts(self, n_items: int, n_positions: int, clusters: NDArray[np.bool_] | None = None) -> Counts:
        """The clicks and skips of each item at each position, in all clusters or in some."""
        used = np.ones(self.item.size, np.bool_) if clusters is None else clusters[self.cluster]
        cell = self.item[used] * n_positions + self.position[used]
        shown, clicked = (
            np.bincount(cell, weights[used], n_items * n_positions).reshape(n_items, n_positions)
            for weights in (self.shown, self.clicked)
        )
        return Counts(clicks=clicked, skips=shown - clicked)

    def cluster_sums(self, terms: Floats) -> Floats:
        """The sum of `terms`, one for each cell, over the cells of each cluster."""
        return np.asarray(np.bincount(self.cluster, terms, self.displays.size), float)
