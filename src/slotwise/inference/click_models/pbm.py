"""The position-based model, fitted to sessions. Their counts of each item at each position suffice."""

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.click_models._cells import CellFit
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES: tuple[str, ...] = ()


class PBMFit(CellFit):
    """The theta of each item and the kappa of each position."""

    def log_likelihood(self, sessions: QuerySessions) -> Floats:
        return self.log_likelihood_by(sessions, np.arange(len(sessions.positions)))

    def click_probabilities(self, sessions: QuerySessions) -> Floats:
        return self.products(sessions, np.arange(len(sessions.positions)))


def fit(sessions: QuerySessions, prior: float = 0.0) -> PBMFit:
    """Maximise the likelihood times Beta(prior + 1, prior + 1) densities."""
    return PBMFit.of(sessions, np.arange(len(sessions.positions)), sessions.positions, prior)
