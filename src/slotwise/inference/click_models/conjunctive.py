"""The conjunctive cascade, fitted to sessions: a click says that an item satisfied the visitor, who then goes on.

Kveton, Wen, Ashkan and Szepesvari 2015, "Combinatorial Cascading Bandits". The visitor stops at the first item without
a click. Nothing is known of the items below, so the attraction of an item is clicks / observations down to there. A
session with a click below an item without one has the probability 0.
"""

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.click_models._attraction import attraction_of
from slotwise.inference.click_models._parameters import Parameters, log_odds_parameters
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES: tuple[str, ...] = ()
COMPARED = False  # its clicks mean something else than those of the other models


@dataclass(frozen=True)
class ConjunctiveFit:
    """The attraction of each item, and its error."""

    attraction: Floats
    error: Floats
    items: list[str]

    def log_likelihood(self, sessions: QuerySessions) -> Floats:
        attraction = self.attraction[sessions.displays]
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(sessions.clicks, attraction, 1.0 - attraction))
        observed = _observed(sessions)
        possible = ~(sessions.shown & sessions.clicks & ~observed).any(axis=1)
        return np.asarray(np.where(possible, np.where(observed, logs, 0.0).sum(axis=1), -np.inf))

    def click_probabilities(self, sessions: QuerySessions) -> Floats:
        satisfied = np.where(sessions.shown, self.attraction[sessions.displays], 1.0)
        return np.where(sessions.shown, np.cumprod(satisfied, axis=1), 0.0)

    def parameters(self, level: float) -> list[Parameters]:
        """The attraction of each item."""
        z = NormalDist().inv_cdf((1.0 + level) / 2.0)
        return [log_odds_parameters("attraction", self.items, self.attraction, self.error, z)]


def fit(sessions: QuerySessions, prior: float = 0.0) -> ConjunctiveFit:
    """The attraction of each item. An item that no visitor looked at gets the mean of the others."""
    observed = _observed(sessions)
    number = np.broadcast_to(sessions.number[:, None], observed.shape)
    seen, satisfied = (
        np.bincount(sessions.displays[chosen], number[chosen], len(sessions.items)).astype(np.float64)
        for chosen in (observed, observed & sessions.clicks)
    )
    return ConjunctiveFit(*attraction_of(satisfied, seen, prior), sessions.items)


def _observed(sessions: QuerySessions) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """The items down to the first one without a click."""
    failed = sessions.shown & ~sessions.clicks
    return np.asarray(sessions.shown & (np.cumsum(failed, axis=1) - failed == 0))
