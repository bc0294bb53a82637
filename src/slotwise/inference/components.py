"""The connected parts of the item-position graph: across parts only products theta kappa are identified."""

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays


def components(tally: CountArrays) -> tuple[Ints, Ints]:
    """Labels of items and of positions. A part is named after its first position; an item never shown has none, -1."""
    shown = (tally.clicks + tally.skips) > 0.0
    positions = np.arange(shown.shape[1])
    while True:  # every position takes the least label it can reach through one item, until nothing changes
        items = np.where(shown, positions, shown.shape[1]).min(axis=1)
        reached = np.where(shown, items[:, None], shown.shape[1]).min(axis=0)
        relabelled = np.minimum(positions, reached)
        if np.array_equal(relabelled, positions):
            return np.where(items == shown.shape[1], -1, items), positions
        positions = relabelled


def normalise(theta: Floats, kappa: Floats, items: Ints, positions: Ints, first: int) -> None:
    """Scale every draw, a row of theta and of kappa, to a largest kappa of 1 in each part from label `first` on.

    Draw by draw, never the means. The theta of an item never shown becomes its click rate at the most visible position,
    which is what theta is for the others; a position that showed nothing keeps its prior.
    """
    theta[:, items == -1] *= kappa.max(axis=1, keepdims=True)
    for label in range(first, positions.size):
        members = positions == label
        if members.any() and (items == label).any():
            scale = kappa[:, members].max(axis=1, keepdims=True)
            kappa[:, members] /= scale
            theta[:, items == label] *= scale
