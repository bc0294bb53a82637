"""The cascade model, fitted to sessions: attraction = clicks / observations, up to the first click of a session.

Craswell et al. 2008. A session with two clicks has the probability 0.
"""

import numpy as np

from slotwise.inference.click_models._scan_fit import ScanFit, fixed_scan
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES: tuple[str, ...] = ()


def fit(sessions: QuerySessions, prior: float = 0.0) -> ScanFit:
    """The attraction of each item. An item that no visitor looked at gets the mean of the others."""
    clicks = sessions.shown & sessions.clicks
    observed = sessions.shown & (np.cumsum(clicks, axis=1) - clicks == 0)
    number = np.broadcast_to(sessions.number[:, None], clicks.shape)
    seen, clicked = (
        np.bincount(sessions.displays[chosen], number[chosen], len(sessions.items))
        for chosen in (observed, observed & clicks)
    )
    known = seen > 0.0
    attraction = (clicked + prior) / np.where(known, seen + 2.0 * prior, 1.0)
    attraction[~known] = attraction[known].mean() if known.any() else 0.5
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(attraction * (1.0 - attraction) / seen)
    error[known & ((attraction == 0.0) | (attraction == 1.0))] = np.nan
    error[~known] = np.inf
    return fixed_scan(attraction, error, sessions)
