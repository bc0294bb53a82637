"""What a policy would show after it has learnt from a log, as a target of off-policy evaluation."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from slotwise.checks import Floats
from slotwise.inference.fit_queries import fit_queries
from slotwise.inference.off_policy.logged_cells import LoggedCells
from slotwise.logs.query import Query
from slotwise.recommender import Recommender

_DISPLAYS = 4000  # chosen to find out how often the policy shows each item at each position


def policy_shares(
    policy: str | ModuleType,
    params: Mapping[str, Any] | None,
    cells: LoggedCells,
    items: list[str],
    positions: list[str],
    seed: int = 0,
) -> Floats:
    """The shares of a policy for each half of the log. It has learnt from the other half: see `TargetShares`."""
    half = cells.half
    learnt_from = [cells.counts(len(items), len(positions), half != own) for own in (0, 1)]
    return np.stack([_shares(policy, params, Query("", items, positions, counts), seed) for counts in learnt_from])


def _shares(policy: str | ModuleType, params: Mapping[str, Any] | None, query: Query, seed: int) -> Floats:
    (fit,) = fit_queries([query])
    page = Recommender.from_fit(fit, policy=policy, params=params, seed=seed, displays=None)
    row, column = ({name: k for k, name in enumerate(names)} for names in (query.items, query.positions))
    shown = np.zeros((len(row), len(column)))
    for _ in range(_DISPLAYS):
        for position, item in page.recommend().items():
            shown[row[item], column[position]] += 1.0
    return shown / _DISPLAYS
