"""The cascade model, fitted to sessions: attraction = clicks / observations, up to the first click of a session.

Craswell et al. 2008. A session with two clicks has the probability 0.
"""

import numpy as np

from slotwise.inference.click_models._attraction import attraction_of
from slotwise.inference.click_models._scan_fit import ScanFit, fixed_scan
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES: tuple[str, ...] = ()


def fit(sessions: QuerySessions, prior: float = 0.0) -> ScanFit:
    """The attraction of each item. An item that no visitor looked at gets the mean of the others."""
    clicks = sessions.shown & sessions.clicks
    observed = sessions.shown & (np.cumsum(clicks, axis=1) - clicks == 0)
    number = np.broadcast_to(sessions.number[:, None], clicks.shape)
    seen, clicked = (
        np.bincount(sessions.displays[chosen], number[chosen], len(sessions.items)).astype(np.float64)
        for chosen in (observed, observed & clicks)
    )
    return fixed_scan(*attraction_of(clicked, seen, prior), sessions)
