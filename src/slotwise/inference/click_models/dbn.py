"""The dynamic Bayesian network, fitted to sessions: the simplified one, with visitors who leave without a click.

Chapelle and Zhang 2009, "A Dynamic Bayesian Network Click Model for Web Search Ranking". The probability to go on to
the next position, if not satisfied, is the same at every position.
"""

from slotwise.inference.click_models._scan_fit import ScanFit, fit_scan
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES = ("cascade", "sdbn")


def fit(sessions: QuerySessions, prior: float = 0.0) -> ScanFit:
    """Maximise the likelihood times Beta(prior + 1, prior + 1) densities."""
    return fit_scan(sessions, "satisfaction", by_item=True, going_on=True, prior=prior)
