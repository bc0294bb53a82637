"""The rank-1 interaction, fitted to sessions: one item at one position, clicked with theta of the item times kappa.

Katariya et al. 2017. The likelihood is that of the position-based model, so the estimates are the same.
"""

import numpy as np

from slotwise.checks import BadInput
from slotwise.inference.click_models.pbm import PBMFit
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES: tuple[str, ...] = ()
COMPARED = False  # its displays are not whole pages


def fit(sessions: QuerySessions, prior: float = 0.0) -> PBMFit:
    """Maximise the likelihood times Beta(prior + 1, prior + 1) densities."""
    if (sessions.shown.sum(axis=1) > 1).any():
        raise BadInput(
            f"query {sessions.name!r} has displays with two items or more; the rank-1 model is for one item at one "
            "position: fit pbm"
        )
    return PBMFit.of(sessions, np.arange(len(sessions.positions)), sessions.positions, prior)
