"""Oracle: it knows the true click model and always shows the best display. Its regret is 0.

Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling", section 5.3.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Ints
from slotwise.clickmodels._click_model import BestDisplay, Feedback
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies._common import count_display

FEEDBACK = tuple(Feedback)  # it learns nothing


class Params(NamedTuple):
    """Settings."""

    best: BestDisplay  # the best display of the true click model


class State(NamedTuple):
    """Counts, which the policy does not use."""

    counts: CountArrays


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    return None if params.best.items.size else "oracle needs best, the best display of the true click model"


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    return State(empty(n_items, n_positions))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """The best display (below Eq. 1)."""
    copy(params.best.items, display)


update = count_display(__name__)
