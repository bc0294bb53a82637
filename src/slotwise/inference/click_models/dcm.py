"""The dependent click model, fitted to sessions: after a click, visitors leave with a probability of the position.

Guo, Liu and Wang 2009. They maximise a bound in which every visitor leaves after the last click. The likelihood here
also counts the visitors who went on and clicked no more, so that the estimates are right for large logs.
"""

from slotwise.inference.click_models._scan_fit import ScanFit, fit_scan
from slotwise.logs.sessions import QuerySessions

SPECIAL_CASES = ("cascade",)


def fit(sessions: QuerySessions, prior: float = 0.0) -> ScanFit:
    """Maximise the likelihood times Beta(prior + 1, prior + 1) densities."""
    return fit_scan(sessions, "termination", by_item=False, going_on=False, prior=prior)
