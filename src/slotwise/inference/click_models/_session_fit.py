"""What every fit of a click model to sessions can do."""

from typing import Protocol

from slotwise.checks import Floats
from slotwise.inference.click_models._parameters import Parameters
from slotwise.logs.sessions import QuerySessions


class SessionFit(Protocol):
    """A click model that was fitted to the sessions of a query. It can be applied to other sessions of this query."""

    def log_likelihood(self, sessions: QuerySessions) -> Floats:
        """The log-probability of the clicks of one session of each row."""

    def click_probabilities(self, sessions: QuerySessions) -> Floats:
        """The probability of a click at each position, given the display: rows x positions."""

    def parameters(self, level: float) -> list[Parameters]:
        """The estimates with intervals."""
