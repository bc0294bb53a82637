"""One pass of expectation-maximisation on counts, which increases the posterior density of theta and kappa.

The missing data is whether the visitor examined a skipped item. Given theta and kappa, F_il skips contain A_il = F_il
kappa_l (1 - theta_i) / (1 - kappa_l theta_i) examinations on average. Given the examinations, theta and kappa are
ratios of counts (Chuklin et al. 2015). One pass takes O(N L) time, whatever the number of displays.
"""

from slotwise.checks import Floats
from slotwise.counts import CountArrays
from slotwise.jit import kernel


@kernel(inline=True)
def em_pass(counts: CountArrays, prior: float, theta: Floats, kappa: Floats, examinations: Floats) -> float:
    """One pass with Beta(prior + 1, prior + 1) priors. Returns the largest change of any theta or kappa."""
    clicks, skips = counts.clicks, counts.skips
    item_clicks, position_clicks = counts.item_clicks, counts.position_clicks
    n_items, n_positions = clicks.shape
    change = 0.0
    for position in range(n_positions):
        examinations[position] = 0.0
    for item in range(n_items):
        unclicked = 0.0
        for position in range(n_positions):
            skipped = skips[item, position]
            no_click = 1.0 - kappa[position] * theta[item]
            if skipped > 0.0 and no_click > 0.0:
                examined = skipped * kappa[position] * (1.0 - theta[item]) / no_click
                unclicked += examined
                examinations[position] += examined
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
            value = min((prior + position_clicks[position] + examinations[position]) / views, 1.0)  # against rounding
            change = max(change, abs(value - kappa[position]))
            kappa[position] = value
    return change
