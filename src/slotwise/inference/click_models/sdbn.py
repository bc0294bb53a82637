"""The simplified dynamic Bayesian network, fitted to sessions: a clicked item may satisfy the visitor, who then leaves.

Chapelle and Zhang 2009, "A Dynamic Bayesian Network Click Model for Web Search Ranking", with a continuation of 1. They
take every last click for one that satisfied. The likelihood here also counts the visitors who went on and clicked no
more, so that the estimates are right for large logs.
"""

from slotwise.inference.click_models._scan_fit import ScanFit, fit_scan
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES = ("cascade",)


def fit(sessions: QuerySessions, prior: float = 0.0) -> ScanFit:
    """Maximise the likelihood times Beta(prior + 1, prior + 1) densities."""
    return fit_scan(sessions, "satisfaction", by_item=True, going_on=False, prior=prior)
