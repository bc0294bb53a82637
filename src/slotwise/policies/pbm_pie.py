"""PBM-PIE: it shows the empirically best items, and in the last position it tries items that might be better.

Lagree, Vernade and Cappe 2016, "Multiple-Play Bandits in the Position-Based Model".
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.arrange import arrange
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, empty
from slotwise.inference.estimation.running_estimate import KappaSource, RunningEstimate, initial_estimate_from, refresh
from slotwise.inference.estimation.svd import PLUG_IN_PSEUDO_COUNT
from slotwise.inference.sampling.theta_given_kappa import log_density, mode, upper_bound
from slotwise.jit import kernel
from slotwise.policies._common import count_display
from slotwise.policies.pbm_ucb import Params, check

__all__ = ["Params", "State", "check", "choose", "init", "update"]


class State(NamedTuple):
    """Counts, the estimate of kappa, and work space of a round."""

    counts: CountArrays
    estimate: RunningEstimate
    theta: Floats  # theta_hat of the last round
    is_leader: Ints


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round."""
    estimate = initial_estimate_from(params.kappa, params.model, n_items, n_positions)
    return State(empty(n_items, n_positions), estimate, np.zeros(n_items), np.zeros(n_items, np.int64))


@kernel(inline=True)
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Show the leaders. With probability 1/2, the least visible position instead shows an item that might be better.

    Equally good leaders are in the order of their indices. Every run of a simulation shuffles the indices.
    """
    if params.kappa != KappaSource.ORACLE:
        refresh(params.kappa, params.fill, PLUG_IN_PSEUDO_COUNT, state)
    counts, estimate = state.counts, state.estimate
    n_items, n_positions = counts.clicks.shape
    t = 1.0 + counts.displays[0]
    if t <= n_items:  # first, show every item once at every position
        for position in range(n_positions):
            display[position] = (int(t) - 1 + position) % n_items
        return
    _estimate_theta(state)
    theta, kappa = state.theta, estimate.kappa
    arrange(theta, kappa, display)
    last = 0  # the least visible position, the last one of several; `arrange` puts the last leader there
    for position in range(n_positions):
        if kappa[position] <= kappa[last]:
            last = position
    if rng.random() < 0.5:
        return
    # reservoir sampling: each candidate is chosen with the same probability
    leaders = state.is_leader
    for item in range(n_items):
        leaders[item] = 0
    for position in range(n_positions):
        leaders[display[position]] = 1
    least = theta[display[last]]
    candidates = 0
    for item in range(n_items):
        if leaders[item] == 0 and might_exceed(state, item, (1.0 + params.epsilon) * math.log(t), least):
            candidates += 1
            if rng.random() * candidates < 1.0:
                display[last] = item


@kernel(inline=True)
def _estimate_theta(state: State) -> None:
    """theta_hat_i = S_i / Vk_i."""
    counts, theta, kappa = state.counts, state.theta, state.estimate.kappa
    clicks, skips, item_clicks = counts.clicks, counts.skips, counts.item_clicks
    for item in range(theta.size):
        views = 0.0
        for position in range(kappa.size):
            views += kappa[position] * (clicks[item, position] + skips[item, position])
        theta[item] = item_clicks[item] / views if views > 0.0 else 1.0


@kernel(inline=True)
def might_exceed(state: State, item: int, threshold: float, level: float) -> bool:
    """Whether U_i >= level, where U_i = sup{q >= m : sum_l V_il d(S_il / V_il, kappa_l q) <= threshold}.

    m minimises the sum. The sum is a constant minus h(q) of `inference.sampling.theta_given_kappa`, so m and U_i follow
    from h. If the sum exceeds the threshold even at m, U_i is m.
    """
    counts, kappa = state.counts, state.estimate.capped_kappa
    item_clicks, skips = counts.item_clicks[item], counts.skips
    peak = mode(item_clicks, skips, item, kappa)
    if peak >= level:
        return True
    return index(state, item, threshold, peak) >= level


@kernel
def index(state: State, item: int, threshold: float, peak: float) -> float:
    """U_i, given the minimiser m = `peak`."""
    counts, kappa = state.counts, state.estimate.capped_kappa
    clicks, skips = counts.clicks, counts.skips
    # sum_l V d(S/V, kappa q) = constant - h(q); the constant is the log-likelihood of the saturated model
    saturated = 0.0
    for position in range(kappa.size):
        s, f = clicks[item, position], skips[item, position]
        if s > 0.0 and f > 0.0:
            saturated += s * math.log(s / (s + f)) + f * math.log(f / (s + f))
        if s > 0.0:
            saturated -= s * math.log(max(kappa[position], 1e-300))
    item_clicks = counts.item_clicks[item]
    least_divergence = saturated
    if peak > 0.0:
        least_divergence -= log_density(min(peak, 1.0 - 1e-12), item_clicks, skips, item, kappa)
    return upper_bound(peak, threshold - least_divergence, item_clicks, skips, item, kappa)


update = count_display(__name__)
