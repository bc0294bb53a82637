"""The likelihood of models in which a visitor looks at one position after the other until they leave.

A visitor clicks an item with the probability `attraction`. After a click they leave with the probability `leave`, which
belongs to the item or to the position. Otherwise, and after a skip, they go on with the probability `going_on`. The
cascade, the dependent click model and the dynamic Bayesian network are of this kind.

Up to the last click, the visitor looked at everything. After it, they may have left or may have skipped the rest, so
the likelihood sums over where they stopped.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY
from slotwise.checks import Floats, Ints
from slotwise.jit import kernel


class ScanModel(NamedTuple):
    """The parameters. `leave` has an element for every item if `by_item`, else for every position."""

    attraction: Floats
    leave: Floats
    going_on: float
    by_item: bool


@kernel
def scan_likelihood(
    scan: ScanModel,
    displays: Ints,
    clicks: NDArray[np.bool_],
    number: Floats,
    log_likelihood: Floats,
    gradient: ScanModel,
) -> float:
    """Set the log-likelihood of one session of each row, and add up the gradient over all sessions.

    `gradient` has arrays for the derivatives by attraction and leave. Returns the derivative by `going_on`.
    """
    attraction, leave, going_on = scan.attraction, scan.leave, scan.going_on
    by_attraction, by_leave = gradient.attraction, gradient.leave
    n_rows, n_positions = displays.shape
    looked = np.empty(n_positions + 1)  # the probability of no click from a position on, if the visitor looks there
    by_going_on = 0.0
    for row in range(n_rows):
        last = -1
        for position in range(n_positions):
            if displays[row, position] != EMPTY and clicks[row, position]:
                last = position
        weight, total, shown_before = number[row], 0.0, False
        for position in range(last + 1):  # the visitor looks at all of these
            item = displays[row, position]
            if item == EMPTY:
                continue
            if shown_before:
                total += np.log(going_on) if going_on > 0.0 else -np.inf
                by_going_on += weight / max(going_on, 1e-300)
            shown_before = True
            if not clicks[row, position]:
                total += np.log(1.0 - attraction[item]) if attraction[item] < 1.0 else -np.inf
                by_attraction[item] -= weight / max(1.0 - attraction[item], 1e-300)
                continue
            total += np.log(attraction[item]) if attraction[item] > 0.0 else -np.inf
            by_attraction[item] += weight / max(attraction[item], 1e-300)
            if position < last:
                place = item if scan.by_item else position
                total += np.log(1.0 - leave[place]) if leave[place] < 1.0 else -np.inf
                by_leave[place] -= weight / max(1.0 - leave[place], 1e-300)
        looked[n_positions] = 1.0
        for position in range(n_positions - 1, last, -1):
            item = displays[row, position]
            if item == EMPTY:
                looked[position] = looked[position + 1]
            else:
                looked[position] = (1.0 - attraction[item]) * (1.0 - going_on + going_on * looked[position + 1])
        slope = 0.0  # the derivative of the log-likelihood by looked[position]
        rest = looked[last + 1]
        if last < 0:
            total += np.log(rest) if rest > 0.0 else -np.inf
            slope = weight / max(rest, 1e-300)
        else:
            place = displays[row, last] if scan.by_item else last
            stays = 1.0 - going_on + going_on * rest
            ends = leave[place] + (1.0 - leave[place]) * stays
            total += np.log(ends) if ends > 0.0 else -np.inf
            by_ends = weight / max(ends, 1e-300)
            by_leave[place] += by_ends * (1.0 - stays)
            by_going_on += by_ends * (1.0 - leave[place]) * (rest - 1.0)
            slope = by_ends * (1.0 - leave[place]) * going_on
        for position in range(last + 1, n_positions):
            item = displays[row, position]
            if item == EMPTY:
                continue
            after = looked[position + 1]
            by_attraction[item] -= slope * (1.0 - going_on + going_on * after)
            by_going_on += slope * (1.0 - attraction[item]) * (after - 1.0)
            slope *= (1.0 - attraction[item]) * going_on
        log_likelihood[row] = total
    return by_going_on


def click_chances(scan: ScanModel, displays: Ints) -> Floats:
    """The probability of a click at each position, given the display: rows x positions."""
    looks, chances = np.ones(len(displays)), np.zeros(displays.shape)
    for position in range(displays.shape[1]):
        item = displays[:, position]
        shown = item != EMPTY
        clicked = np.where(shown, scan.attraction[item], 0.0)
        leaves = scan.leave[item] if scan.by_item else scan.leave[position]
        chances[:, position] = looks * clicked
        looks = np.where(shown, looks * scan.going_on * (1.0 - clicked * leaves), looks)
    return chances
