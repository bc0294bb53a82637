"""Simulated months of visitors who return, each with an own click level. One visitor always gets the same variant."""

from dataclasses import dataclass

import numpy as np

from slotwise.checks import Floats
from slotwise.logs.variant_days import VariantDays

DAYS, CLUSTERS, POSITIONS, MOST_RETURNS = 30, 512, 5, 30
LEARNT, HOLDOUT = 0, 1


@dataclass(frozen=True)
class Month:
    """A month of displays. `rate` is the number of clicks per display of the holdout."""

    displays: int = 100_000
    holdout: float = 0.2
    rate: float = 0.1
    uplift: float = 0.0

    def simulate(self, rng: np.random.Generator) -> Floats:
        """Displays and clicks of each day: days x 2 x variants x clusters."""
        visitors = 2 * self.displays // (1 + MOST_RETURNS)
        level = rng.gamma(2.0, 0.5, visitors)  # mean 1
        variant = np.where(rng.random(visitors) < self.holdout, HOLDOUT, LEARNT)
        cluster = rng.integers(CLUSTERS, size=visitors)
        visitor = np.repeat(np.arange(visitors), rng.integers(1, MOST_RETURNS + 1, visitors))
        day = rng.integers(DAYS, size=visitor.size)
        gain = np.where(variant[visitor] == LEARNT, 1.0 + self.uplift, 1.0)
        clicks = rng.binomial(POSITIONS, np.minimum(self.rate * level[visitor] * gain / POSITIONS, 1.0))
        cell = (day * 2 + variant[visitor]) * CLUSTERS + cluster[visitor]
        sums = [np.bincount(cell, weights, DAYS * 2 * CLUSTERS) for weights in (np.ones_like(clicks), clicks)]
        return np.stack([total.reshape(DAYS, 2, CLUSTERS) for total in sums], axis=1)


def up_to(month: Floats, day: int) -> dict[str, VariantDays]:
    """What the variants earned up to a day, as insights get it from the store. Every click has the value 2."""
    displays, clicks = month[: day + 1, 0], month[: day + 1, 1]
    return {
        name: VariantDays(displays[:, variant], clicks[:, variant], 2.0 * clicks[:, variant])
        for name, variant in (("learnt", LEARNT), ("holdout", HOLDOUT))
    }
