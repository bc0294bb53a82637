"""Slot IDS: Thompson sampling chooses the items, information-directed sampling their order; kappa is unknown to it.

It keeps an ensemble of posterior draws (`inference.sampling.ensemble`). Which items are shown follows Algorithm 1 of
Gauthier, Gaudel and Fromont, "Position-Based Multiple-Play Bandits with Thompson Sampling"; in which order follows
Russo and Van Roy, "Learning to Optimize via Information-Directed Sampling" (2018).
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import EMPTY, arrange
from slotwise.checks import Floats, Ints
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.ensemble import Ensemble, empty_ensemble, needs_refill, refill
from slotwise.inference.sampling.ridges import Ridges, single_component
from slotwise.jit import kernel
from slotwise.policies._common import count_display
from slotwise.policies._leaders import Leaders, choose_order, rank_by
from slotwise.policies.slot_ts import ThetaPrior


class Params(NamedTuple):
    """Settings."""

    draws: int = 64  # the size of the ensemble
    growth: float = 0.03  # the ensemble is drawn again when displays or clicks have changed by this share
    thompson: float = 0.1  # the share of rounds that show the best display under a draw as it is
    prior: ThetaPrior = ThetaPrior.FALLING


class Plan(NamedTuple):
    """What to show, computed from the ensemble; M is the number of draws.

    The rows of `displays` are the best display under each draw; then, for each draw, a display of the same items that
    leaves the leaders in greedy order; then the leaders in greedy order, and in the other order.
    """

    displays: Ints  # 2M + 2 x L
    rows: Ints  # M: the row to show for a draw; 2M where its items are the leaders
    chance: Floats  # one number: how often the leaders are shown in the other order


class State(NamedTuple):
    """Counts, and what was drawn given the counts: losing the rest costs a burn-in, but no knowledge."""

    counts: CountArrays
    theta: Floats  # the state of the chain
    kappa: Floats
    beta: Floats  # the prior's a and b
    ridges: Ridges  # work space of the sampler
    ensemble: Ensemble
    leaders: Leaders
    plan: Plan


def check(params: Params) -> str | None:
    """An error message when the settings are invalid."""
    if params.draws < 2:
        return f"draws = {params.draws!r} is not a whole number of at least 2"
    for name, value in (("growth", params.growth), ("thompson", params.thompson)):
        if not 0.0 <= value <= 1.0:
            return f"{name} = {value!r} is not in [0, 1]"
    return None


def check_state(state: State) -> str | None:
    """An error message when a state loaded from a file is invalid; its counts are checked elsewhere."""
    n_items, n_positions = state.theta.size, state.kappa.size
    limits = (
        ("theta", state.theta, 0.0, 1.0),
        ("kappa", state.kappa, 0.0, 1.0),
        ("beta", state.beta, 1.0, np.inf),
        ("ensemble.theta", state.ensemble.theta, 0.0, n_positions),
        ("ensemble.kappa", state.ensemble.kappa, 0.0, 1.0),
        ("leaders.places", state.leaders.places, 0, n_positions - 1),
        ("plan.displays", state.plan.displays, EMPTY, n_items - 1),
        ("plan.rows", state.plan.rows, 0, 2 * state.plan.rows.size),
        ("plan.chance", state.plan.chance, 0.0, 1.0),
    )
    for name, values, least, most in limits:
        if not ((values >= least) & (values <= most)).all():
            return f"{name} is not in [{least:g}, {most:g}]"
    return None


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round: the chain starts at a sample from the uniform prior."""
    chain = ChainState(rng.random(n_items), rng.random(n_positions), np.ones(2))
    return _state(params.draws, empty(n_items, n_positions), chain)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same knowledge with room for more items and positions. The next round draws the ensemble again."""
    theta, kappa = rng.random(n_items), rng.random(n_positions)
    theta[: state.theta.size] = state.theta
    kappa[: state.kappa.size] = state.kappa
    return _state(params.draws, grown(state.counts, n_items, n_positions), ChainState(theta, kappa, state.beta))


@kernel
def _state(draws: int, counts: CountArrays, chain: ChainState) -> State:
    n_items, n_positions = chain.theta.size, chain.kappa.size
    displays = np.zeros((2 * draws + 2, n_positions), np.int64)
    return State(
        counts,
        chain.theta,
        chain.kappa,
        chain.beta,
        single_component(n_items, n_positions),
        empty_ensemble(draws, n_items, n_positions),
        Leaders(np.zeros(n_positions, np.int64), np.zeros(n_positions, np.int64)),
        Plan(displays, np.zeros(draws, np.int64), np.zeros(1)),
    )


@kernel
def choose(params: Params, state: State, rng: np.random.Generator, display: Ints) -> None:
    """Fill `display` with a row of the plan."""
    row, displays = _row(params, state, rng), state.plan.displays
    for position in range(display.size):
        display[position] = displays[row, position]


@kernel
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Scores under which the best display is the row of the plan that `choose` would show.

    Where not all items are allowed, the rest of the display follows the draw, or the posterior means.
    """
    row, ensemble, displays, places = (
        _row(params, state, rng),
        state.ensemble,
        state.plan.displays,
        state.leaders.places,
    )
    if row < params.draws:
        theta[:] = ensemble.theta[row]
        kappa[:] = ensemble.kappa[row]
        return
    theta[:] = ensemble.mean_theta
    kappa[:] = ensemble.mean_kappa
    above = theta.max()
    for rank in range(places.size):
        theta[displays[row, places[rank]]] = above + places.size - rank


update = count_display(__name__)


@kernel
def _row(params: Params, state: State, rng: np.random.Generator) -> int:
    """The row of the plan to show now."""
    if needs_refill(state.counts, state.ensemble.drawn_at, params.growth):
        chain = ChainState(state.theta, state.kappa, state.beta)
        refill(state.counts, state.ridges, chain, state.ensemble, params.prior, rng)
        _make_plan(state.ensemble, state.leaders, state.plan)
    draw = int(params.draws * rng.random())
    if rng.random() < params.thompson:
        return draw
    row = state.plan.rows[draw]
    if row == 2 * params.draws and rng.random() < state.plan.chance[0]:
        return row + 1
    return int(row)


@kernel
def _make_plan(ensemble: Ensemble, leaders: Leaders, plan: Plan) -> None:
    displays, rows = plan.displays, plan.rows
    draws, n_items = ensemble.theta.shape
    n_positions = leaders.places.size
    for draw in range(draws):
        arrange(ensemble.theta[draw], ensemble.kappa[draw], displays[draw])
        rows[draw] = draw
    rank_by(ensemble.mean_kappa, leaders.places)
    if n_items < n_positions:
        return  # every display shows all items, and leaves the least visible positions of its draw empty
    rank_by(ensemble.mean_theta, leaders.items)
    for draw in range(draws):
        rows[draw] = 2 * draws
        if _follow(displays[draw], ensemble.kappa[draw], leaders, displays[draws + draw]):
            rows[draw] = draws + draw
    order = np.empty(n_positions, np.int64)
    plan.chance[0] = choose_order(ensemble, leaders, order)
    for rank in range(n_positions):
        displays[2 * draws, leaders.places[rank]] = leaders.items[rank]
        displays[2 * draws + 1, leaders.places[rank]] = leaders.items[order[rank]]


@kernel
def _follow(best: Ints, kappa: Floats, leaders: Leaders, display: Ints) -> bool:
    """Fill `display` with the items of `best`, the best display under a draw; returns whether one is not a leader.

    An item that is not a leader keeps the rank that the draw gives it. The leaders take the other ranks in greedy
    order: to change their order too would cost regret, and tell nothing about the other item.
    """
    items, places = leaders.items, leaders.places
    ranked = np.empty(places.size, np.int64)
    rank_by(kappa, ranked)
    next_leader, followed = 0, False
    for rank in range(places.size):
        item = best[ranked[rank]]
        if _contains(items, item):
            while not _contains(best, items[next_leader]):
                next_leader += 1
            item = items[next_leader]
            next_leader += 1
        else:
            followed = True
        display[places[rank]] = item
    return followed


@kernel(inline=True)
def _contains(items: Ints, item: int) -> bool:
    found = False
    for k in range(items.size):
        found = found or items[k] == item
    return found
