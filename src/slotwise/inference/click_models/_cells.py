"""CellFit: a click has the probability theta of the item times kappa of a column, as in a position-based model.

The columns of the position-based model are the positions. Those of the user browsing model are pairs of positions.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.click_models._parameters import Parameters
from slotwise.inference.estimation.fit import Fit, fit
from slotwise.logs.sessions import QuerySessions


@dataclass(frozen=True)
class CellFit:
    """Estimates of theta and kappa, with the names of the items and columns. The largest kappa is 1."""

    estimates: Fit
    items: list[str]
    columns: list[str]

    @classmethod
    def of(cls, sessions: QuerySessions, column: Ints, columns: list[str], prior: float) -> Self:
        """Fit the counts of each item and column. `column` has the number of the column for every position."""
        return cls(fit(sessions.counts_by(column, len(columns)), prior=prior), sessions.items, columns)

    def products(self, sessions: QuerySessions, column: Ints) -> Floats:
        """The probability of a click in the column of each position, and 0 at empty positions: rows x positions."""
        theta, kappa = self.estimates.theta, self.estimates.kappa
        return np.where(sessions.shown, theta[sessions.displays] * kappa[column], 0.0)

    def log_likelihood_by(self, sessions: QuerySessions, column: Ints) -> Floats:
        """The log-probability of the clicks of each row."""
        chance = self.products(sessions, column)
        with np.errstate(divide="ignore"):
            logs = np.log(np.where(sessions.clicks, chance, 1.0 - chance))
        return np.asarray(np.where(sessions.shown, logs, 0.0).sum(axis=1))

    def parameters(self, level: float) -> list[Parameters]:
        """The theta of each item and the kappa of each column."""
        ends, found = self.estimates.intervals(level), self.estimates
        return [
            Parameters("theta", self.items, found.theta, found.theta_error, ends.theta),
            Parameters("kappa", self.columns, found.kappa, found.kappa_error, ends.kappa),
        ]
