"""The kernel that arranges a display by one draw of an ensemble."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slotwise.arrange import EMPTY, arrange_among
from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.ensemble_draws import Float32s
from slotwise.jit import kernel


class Scores(NamedTuple):
    """Scores of rows and columns of the count matrix. Each draw has its own."""

    theta: Float32s  # M x rows
    kappa: Float32s  # M x columns


class DisplayPlace(NamedTuple):
    """Where a display belongs in the count matrix: its segment, and the columns of its positions."""

    segment: int
    n_segments: int
    columns: Ints


class DisplayRules(NamedTuple):
    """Which items may be shown, the pins, and a display to be preferred. The last two may be EMPTY at a position."""

    allowed: NDArray[np.bool_]
    pins: Ints
    preferred: Ints


@kernel(nogil=False)
def arrange_draw(
    scores: Scores, draw: int, later_items: Floats, place: DisplayPlace, rules: DisplayRules, display: Ints
) -> None:
    """Fill the display by one draw. `later_items` has the thetas of items that were added after the draws were made."""
    thetas, kappas = scores
    segment, n_segments, columns = place
    allowed, pins, preferred = rules
    n_drawn = allowed.size - later_items.size
    theta, kappa = np.empty(allowed.size), np.empty(columns.size)
    for item in range(n_drawn):
        theta[item] = thetas[draw, item * n_segments + segment]
    for item in range(n_drawn, allowed.size):
        theta[item] = later_items[item - n_drawn]
    for position in range(columns.size):
        kappa[position] = kappas[draw, columns[position]]
    _prefer(theta, kappa, preferred)
    arrange_among(theta, kappa, allowed, pins, display)


@kernel
def _prefer(theta: Floats, kappa: Floats, preferred: Ints) -> None:
    """Raise the scores of the preferred items above all others, in an order that puts each at its position."""
    if preferred[0] == EMPTY:
        return  # a preferred display is never empty at its first position
    above = theta.max()
    for position in range(preferred.size):
        rank = 0
        for other in range(position):
            rank += kappa[other] >= kappa[position]
        for other in range(position + 1, preferred.size):
            rank += kappa[other] > kappa[position]
        theta[preferred[position]] = above + preferred.size - rank
