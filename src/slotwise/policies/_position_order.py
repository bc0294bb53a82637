"""The order of the positions, for policies that must be given it: scores of the positions, the best has the largest."""

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels.pbm import Model
from slotwise.jit import kernel


@kernel
def by_position(n_positions: int) -> Floats:
    """The first position is the best, then the second, and so on."""
    return -np.arange(n_positions).astype(np.float64)


@kernel
def by_visibility(model: Model, n_positions: int) -> Floats:
    """The most visible position of a PBM is the best. In other click models it is the first position."""
    return model.kappa.copy() if model.kappa.size == n_positions else by_position(n_positions)
