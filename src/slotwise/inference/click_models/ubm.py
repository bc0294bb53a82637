"""The user browsing model: examination depends on the position and on the position of the last click before it.

Dupret and Piwowarski 2008, "A User Browsing Model to Predict Search Engine Click Data from Past Observations". The
probability of a click is theta_i kappa_{r, r'} for an item at position r after a last click at r'. So the model is a
position-based model whose columns are the pairs (r, r').
"""

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.click_models._cells import CellFit
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES = ("pbm", "cascade")


class UBMFit(CellFit):
    """The theta of each item and the kappa of each pair of positions."""

    def log_likelihood(self, sessions: QuerySessions) -> Floats:
        return self.log_likelihood_by(sessions, pairs(sessions))

    def click_probabilities(self, sessions: QuerySessions) -> Floats:
        """These are sums over the position of the last click before."""
        rows, n_positions = sessions.displays.shape
        last = np.zeros((rows, n_positions + 1))  # the probability that the last click is there; column 0: no click yet
        last[:, 0] = 1.0
        chances = np.zeros((rows, n_positions))
        theta, kappa = self.estimates.theta, self.estimates.kappa
        for position in range(n_positions):
            attraction = np.where(sessions.shown[:, position], theta[sessions.displays[:, position]], 0.0)
            before = slice(0, position + 1)
            clicked = last[:, before] * attraction[:, None] * kappa[_pair(position, 0) : _pair(position + 1, 0)]
            last[:, before] -= clicked
            chances[:, position] = last[:, position + 1] = clicked.sum(axis=1)
        return chances


def fit(sessions: QuerySessions, prior: float = 0.0) -> UBMFit:
    """Maximise the likelihood times Beta(prior + 1, prior + 1) densities."""
    names = [
        f"{position} after {sessions.positions[last - 1]}" if last else f"{position}, no click before"
        for k, position in enumerate(sessions.positions)
        for last in range(k + 1)
    ]
    return UBMFit.of(sessions, pairs(sessions), names, prior)


def _pair(position: int, last: int) -> int:
    """The column of a position, and of the last click before it: 0 for none, else its position from 1."""
    return position * (position + 1) // 2 + last


def pairs(sessions: QuerySessions) -> Ints:
    """The column of each position: rows x positions."""
    n_positions = len(sessions.positions)
    places = np.where(sessions.clicks, np.arange(1, n_positions + 1), 0)
    last = np.zeros_like(places)
    last[:, 1:] = np.maximum.accumulate(places, axis=1)[:, :-1]
    return np.array([_pair(position, 0) for position in range(n_positions)]) + last
