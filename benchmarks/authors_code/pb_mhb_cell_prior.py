"""PB-MHB with half a click and half a skip in every cell before the first round.

The public code of Gauthier, Gaudel and Fromont (2021) has this prior. The prior of their paper is uniform. The round t
counts displays only.
"""

import numpy as np

from slotwise.counts import restore
from slotwise.jit import kernel
from slotwise.policies import pb_mhb
from slotwise.policies._common import choose_by_score, count_display
from slotwise.policies.pb_mhb import Params, State, check, score

__all__ = ["Params", "State", "check", "choose", "init", "score", "update"]

_PSEUDO_COUNT = 0.5


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state of pb_mhb, with the counts of the prior."""
    state = pb_mhb.init(params, n_items, n_positions, rng)
    half = np.full((n_items, n_positions), _PSEUDO_COUNT)
    restore(state.counts, half, half, 0.0)
    return state


choose = choose_by_score(__name__)
update = count_display(__name__)
