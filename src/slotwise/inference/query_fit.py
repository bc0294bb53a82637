"""QueryFit: the model fitted to one query, with its names, its evidence, and how far to trust it."""

import math
from dataclasses import dataclass

import msgspec

from slotwise.arrange import EMPTY
from slotwise.checks import BadInput, Floats, number
from slotwise.clickmodels.pbm import PBM
from slotwise.counts import Counts


class Misfit(msgspec.Struct, frozen=True):
    """How far the clicks of a query are from a position-based model, and the cell that adds most to it."""

    deviance: float
    degrees: int
    p_value: float  # the probability of a deviance as large, were the position-based model true
    size: float  # by how much click rates are off: the root of the mean squared relative error, noise taken away
    item: str
    position: str
    observed: float  # the cell's click rate
    fitted: float


@dataclass(frozen=True, eq=False, kw_only=True)
class QueryFit(PBM):
    """A PBM with names, estimated from the counts of one query: an environment like any other.

    Unlike a PBM typed in by hand it may have fewer items than positions; it then cannot be simulated.
    """

    name: str
    items: list[str]
    positions: list[str]
    method: str
    level: float  # of the intervals
    theta_error: Floats  # standard errors, or deviations of the posterior; NaN and infinite: not known
    theta_interval: Floats  # N x 2: lower and upper ends, NaN where there is none
    kappa_error: Floats
    kappa_interval: Floats  # L x 2
    counts: Counts  # what it was fitted to
    ess: float  # bayes: how many independent draws the worst number is worth; else NaN
    identifiable: bool
    misfit: Misfit | None  # None: too few clicks, or too few cells, to tell
    warnings: list[str]

    @property
    def displays(self) -> float:
        """How many displays the counts come from."""
        return self.counts.displays

    @property
    def clicks(self) -> float:
        """How many clicks there were."""
        return float(self.counts.clicks.sum())

    @property
    def best(self) -> dict[str, str]:
        """The best display by name, {position: item}."""
        shown = self.best_display().tolist()
        names = zip(self.positions, shown, strict=True)
        return {position: self.items[item] for position, item in names if item != EMPTY}

    def faded(self, displays: float | None) -> Counts:
        """The counts, weighing no more than so many displays; None: all they weigh."""
        if displays is None:
            return self.counts
        most = number("displays", displays)
        if not 0.0 <= most < math.inf:
            raise BadInput(f"displays = {displays!r} is not a number of at least 0")
        share = min(1.0, most / self.counts.displays) if self.counts.displays > 0.0 else 1.0
        return Counts(share * self.counts.clicks, share * self.counts.skips, share * self.counts.displays)
