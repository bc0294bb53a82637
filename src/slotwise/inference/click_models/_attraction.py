"""The attraction of items from how often visitors looked at them, and how often they were attracted."""

import numpy as np

from slotwise.checks import Floats


def attraction_of(attracted: Floats, seen: Floats, prior: float) -> tuple[Floats, Floats]:
    """The attraction of each item and its standard error.

    An item that was never seen gets the mean of the others and an infinite error. The error of an attraction of 0 or 1
    is NaN.
    """
    known = seen > 0.0
    attraction = (attracted + prior) / np.where(known, seen + 2.0 * prior, 1.0)
    attraction[~known] = attraction[known].mean() if known.any() else 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(attraction * (1.0 - attraction) / seen)
    error[known & ((attraction == 0.0) | (attraction == 1.0))] = np.nan
    error[~known] = np.inf
    return attraction, error
