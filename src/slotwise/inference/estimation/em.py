"""theta and kappa of larger posterior density, one pass of expectation-maximisation on counts at a time.

Whether a skipped item was looked at is what is missing. Given theta and kappa, F_il skips hold
A_il = F_il kappa_l (1 - theta_i) / (1 - kappa_l theta_i) looks; given the looks, theta and kappa are shares (Chuklin
et al. 2015). One pass is O(N L) and never touches single displays.
"""

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel


@kernel(inline=True)
def em_pass(tally: CountArrays, prior: float, theta: Floats, kappa: Floats, looks: Floats) -> float:
    """One pass with Beta(prior + 1, prior + 1) priors; returns the largest change of any theta or kappa."""
    clicks, skips, item_clicks, position_clicks = tally.clicks, tally.skips, tally.item_clicks, tally.position_clicks
    n_items, n_positions = clicks.shape
    change = 0.0
    for position in range(n_positions):
        looks[position] = 0.0
    for item in range(n_items):
        unclicked = 0.0
        for position in range(n_positions):
            skipped = skips[item, position]
            missed = 1.0 - kappa[position] * theta[item]
            if skipped > 0.0 and missed > 0.0:
                examined = skipped * kappa[position] * (1.0 - theta[item]) / missed
                unclicked += examined
                looks[position] += examined
        total = 2.0 * prior + item_clicks[item] + unclicked
        if total > 0.0:
            value = (prior + item_clicks[item]) / total
            change = max(change, abs(value - theta[item]))
            theta[item] = value
    for position in range(n_positions):
        views = 2.0 * prior + position_clicks[position]
        for item in range(n_items):
            views += skips[item, position]
        if views > 0.0:
            value = min((prior + position_clicks[position] + looks[position]) / views, 1.0)  # rounding may exceed it
            change = max(change, abs(value - kappa[position]))
            kappa[position] = value
    return change
