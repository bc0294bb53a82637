"""Parameters: estimates of one kind, with names, standard errors and intervals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats

_MOST_LOG_ODDS = 700.0  # exp is finite up to about 709


class Parameters(NamedTuple):
    """Estimates of one kind: the attraction of every item, for example.

    An error is NaN if the estimate is 0 or 1, and infinite if the sessions do not determine the parameter.
    """

    kind: str
    names: list[str]
    values: Floats
    errors: Floats
    intervals: Floats  #: N x 2; [0, 1] if there is no finite error


def log_odds_parameters(kind: str, names: Sequence[str], values: Floats, errors: Floats, z: float) -> Parameters:
    """Parameters with intervals that are symmetric in the log-odds."""
    finite = np.isfinite(errors) & (values > 0.0) & (values < 1.0)
    inner = np.where(finite, values, 0.5)
    centre = np.log(inner / (1.0 - inner))
    reach = np.minimum(z * np.where(finite, errors, 0.0) / (inner * (1.0 - inner)), _MOST_LOG_ODDS)
    low, high = (1.0 / (1.0 + np.exp(-(centre + sign * reach))) for sign in (-1.0, 1.0))
    ends = np.stack([np.where(finite, low, 0.0), np.where(finite, high, 1.0)], axis=1)
    return Parameters(kind, list(names), values, errors, ends)
