"""Slot IDS: information-directed sampling for the PBM, and Thompson sampling of unlikely items. It does not know kappa.

Both use an ensemble of draws from the posterior. Information-directed sampling follows Russo and Van Roy, "Learning to
Optimize via Information-Directed Sampling" (2018); Thompson sampling is Algorithm 1 of Gauthier, Gaudel and Fromont,
"Position-Based Multiple-Play Bandits with Thompson Sampling".

Information-directed sampling alone gives up on an item that was unlucky at first, because few draws have such an item
in their best display. Thompson sampling tries the item as often as it may still be one of the best. So each round picks
a draw. If its best display has an unlikely item, this display is shown, as in Thompson sampling. Otherwise the round
uses information-directed sampling, with the posterior given that no unlikely item is among the best.
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import EMPTY, NO_LIMIT, ItemRules, arrange, arrange_among
from slotwise.checks import Floats, Ints
from slotwise.copying import copy
from slotwise.counts import CountArrays, empty, grown
from slotwise.inference.sampling.coordinates import ChainState
from slotwise.inference.sampling.ensemble import Ensemble, empty_ensemble, needs_refill, refill
from slotwise.inference.sampling.ridges import Ridges, single_component
from slotwise.jit import kernel
from slotwise.policies._candidate_displays import Leaders, choose_mixture, rank_by
from slotwise.policies._common import count_display
from slotwise.policies._ensemble_source import PlannedDisplays, PosteriorEnsemble
from slotwise.policies._information import cells_of
from slotwise.policies.slot_ts import ThetaPrior

_LEAST_DRAWS = 8  # with fewer draws, the variance between groups of draws says nothing


class Params(NamedTuple):
    """Settings."""

    draws: int = 64  # the size of the ensemble
    growth: float = 0.03  # the ensemble is drawn again when displays or clicks have changed by this share
    thompson: float = 0.0  # how often the best display under any other draw is shown; 1 is Thompson sampling only
    unlikely: float = 0.1  # an item is unlikely if fewer than this share of the draws have it in their best display
    prior: ThetaPrior = ThetaPrior.FALLING


class Plan(NamedTuple):
    """What to show. The plan is computed from the ensemble."""

    displays: Ints  # M + 2 x L: the best display under each draw, the greedy one, and the one mixed with it
    chance: Floats  # one number: how often the display that is mixed with the greedy one is shown instead
    least_share: Floats  # M: of the items in the draw's best display, the smallest share of draws that show an item
    most_per_category: Ints  # one number: the limit that the plan was made for


class LikelyDraws(NamedTuple):
    """The draws without unlikely items. Information-directed sampling uses only them."""

    theta: Floats  # K x N
    kappa: Floats  # K x L
    best: Ints  # K x L: the best display under each of them
    best_reward: float  # the mean over draws of the expected reward of the draw's best display


class State(NamedTuple):
    """Counts, and what was drawn given the counts. Lost draws can be repeated after a short burn-in."""

    counts: CountArrays
    theta: Floats  # the state of the chain
    kappa: Floats
    beta: Floats  # the prior's a and b
    ridges: Ridges  # work space of the sampler
    ensemble: Ensemble
    leaders: Leaders
    plan: Plan


def check(params: Params) -> str | None:
    """An error message if the settings are invalid, else None."""
    if params.draws < 2:
        return f"draws = {params.draws!r} is not a whole number of at least 2"
    for name in ("growth", "thompson", "unlikely"):
        value = getattr(params, name)
        if not 0.0 <= value <= 1.0:
            return f"{name} = {value!r} is not in [0, 1]"
    return None


def check_state(state: State) -> str | None:
    """An error message if a state loaded from a file is invalid, else None. Its counts are checked elsewhere."""
    n_items, n_positions = state.theta.size, state.kappa.size
    limits = (
        ("theta", state.theta, 0.0, 1.0),
        ("kappa", state.kappa, 0.0, 1.0),
        ("beta", state.beta, 1.0, np.inf),
        ("ensemble.theta", state.ensemble.theta, 0.0, n_positions),
        ("ensemble.kappa", state.ensemble.kappa, 0.0, 1.0),
        ("leaders.places", state.leaders.places, 0, n_positions - 1),
        ("plan.displays", state.plan.displays, EMPTY, n_items - 1),
        ("plan.chance", state.plan.chance, 0.0, 1.0),
        ("plan.least_share", state.plan.least_share, 0.0, 1.0),
    )
    for name, values, least, most in limits:
        if not ((values >= least) & (values <= most)).all():
            return f"{name} is not in [{least:g}, {most:g}]"
    return None


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The state before the first round. The chain starts at a sample from the uniform prior."""
    chain = ChainState(rng.random(n_items), rng.random(n_positions), np.ones(2))
    return _state(params.draws, empty(n_items, n_positions), chain)


@kernel
def grow(params: Params, state: State, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    """The same knowledge with room for more items and positions. The next round draws the ensemble again."""
    theta, kappa = rng.random(n_items), rng.random(n_positions)
    copy(state.theta, theta[: state.theta.size])
    copy(state.kappa, kappa[: state.kappa.size])
    return _state(params.draws, grown(state.counts, n_items, n_positions), ChainState(theta, kappa, state.beta))


@kernel
def _state(draws: int, counts: CountArrays, chain: ChainState) -> State:
    n_items, n_positions = chain.theta.size, chain.kappa.size
    displays = np.zeros((draws + 2, n_positions), np.int64)
    return State(
        counts,
        chain.theta,
        chain.kappa,
        chain.beta,
        single_component(n_items, n_positions),
        empty_ensemble(draws, n_items, n_positions),
        Leaders(np.zeros(n_positions, np.int64), np.zeros(n_positions, np.int64)),
        Plan(displays, np.zeros(1), np.zeros(draws), np.zeros(1, np.int64)),
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

    If some of its items are not allowed, other items replace them, in the order of the draw or of the posterior means.
    """
    _fill_scores(params, state, _row(params, state, rng), np.empty(0), theta, kappa)


@kernel
def score_values(
    params: Params, state: State, rng: np.random.Generator, rules: ItemRules, theta: Floats, kappa: Floats
) -> None:
    """Like `score`, for a plan that follows the rules. The scores of items are those of value x theta.

    If a request has another limit than the plan, the best display under a draw is shown, as in Thompson sampling.
    """
    if needs_refill(state.counts, state.ensemble.drawn_at, params.growth):
        _refill(params, state, rules, rng)
    row = _pick_row(params, state, rules.most_per_category, rng)
    _fill_scores(params, state, row, rules.values, theta, kappa)


@kernel
def _fill_scores(params: Params, state: State, row: int, values: Floats, theta: Floats, kappa: Floats) -> None:
    ensemble, displays, places = state.ensemble, state.plan.displays, state.leaders.places
    is_draw = row < params.draws
    copy(ensemble.theta[row] if is_draw else ensemble.mean_theta, theta)
    copy(ensemble.kappa[row] if is_draw else ensemble.mean_kappa, kappa)
    for item in range(values.size):
        theta[item] *= values[item]
    if is_draw:
        return
    above = theta.max()
    for rank in range(places.size):
        theta[displays[row, places[rank]]] = above + places.size - rank


update = count_display(__name__)


@kernel
def _row(params: Params, state: State, rng: np.random.Generator) -> int:
    """The row of the plan to show now, if there are no rules."""
    if needs_refill(state.counts, state.ensemble.drawn_at, params.growth):
        _refill(params, state, ItemRules(np.empty(0), np.empty(0, np.int64), NO_LIMIT), rng)
    return _pick_row(params, state, NO_LIMIT, rng)


@kernel
def _refill(params: Params, state: State, rules: ItemRules, rng: np.random.Generator) -> None:
    chain = ChainState(state.theta, state.kappa, state.beta)
    refill(state.counts, state.ridges, chain, state.ensemble, params.prior, rng)
    _make_plan(params.unlikely, rules, state.ensemble, state.leaders, state.plan)


@kernel
def _pick_row(params: Params, state: State, most_per_category: int, rng: np.random.Generator) -> int:
    plan, places = state.plan, state.leaders.places
    too_few = plan.displays[params.draws, places[places.size - 1]] == EMPTY
    no_plan = too_few or plan.most_per_category[0] != most_per_category
    draw = int(params.draws * rng.random())
    if no_plan or plan.least_share[draw] < params.unlikely or rng.random() < params.thompson:
        return draw
    return params.draws + (1 if rng.random() < plan.chance[0] else 0)


@kernel
def _make_plan(unlikely: float, rules: ItemRules, ensemble: Ensemble, leaders: Leaders, plan: Plan) -> None:
    """Plan displays. If too few items can be shown together, the greedy display has empty positions."""
    draws, n_items = ensemble.theta.shape
    n_positions = leaders.places.size
    plan.most_per_category[0] = rules.most_per_category
    best, greedy = plan.displays[:draws], plan.displays[draws]
    allowed, no_pins = np.ones(n_items, np.bool_), np.full(n_positions, EMPTY)
    has_rules = rules.values.size > 0 or rules.most_per_category != NO_LIMIT
    for draw in range(draws):
        if has_rules:
            arrange_among(ensemble.theta[draw], ensemble.kappa[draw], allowed, no_pins, rules, best[draw])
        else:
            arrange(ensemble.theta[draw], ensemble.kappa[draw], best[draw])
    rank_by(ensemble.mean_kappa, leaders.places)
    by_rank = np.empty(n_positions)  # instead of kappas, so that the position of an item is its rank
    for rank in range(n_positions):
        by_rank[rank] = -rank
    arrange_among(ensemble.mean_theta, by_rank, allowed, no_pins, rules, leaders.items)
    for rank in range(n_positions):
        greedy[leaders.places[rank]] = leaders.items[rank]
    if leaders.items[n_positions - 1] == EMPTY:
        return  # every display shows as many items as possible, so `_pick_row` takes the best display under a draw
    _find_least_shares(best, n_items, plan.least_share)
    likely = _likely_draws(unlikely, rules.values, ensemble, best, plan.least_share)
    if likely.best.shape[0] < _LEAST_DRAWS:  # too few to compare; most rounds pick another draw
        plan.chance[0] = 0.0
        return
    cells = cells_of(likely.theta, likely.kappa, likely.best, rules.values)
    plan.chance[0] = choose_mixture(cells, likely.best, likely.best_reward, leaders, rules, plan.displays[draws + 1])


@kernel
def _find_least_shares(best: Ints, n_items: int, least_share: Floats) -> None:
    """For each draw, find the item of its best display that the fewest draws show, and the share of these draws."""
    draws, n_positions = best.shape
    shares = np.zeros(n_items)
    for draw in range(draws):
        for position in range(n_positions):
            shares[best[draw, position]] += 1.0 / draws
    for draw in range(draws):
        least_share[draw] = 1.0
        for position in range(n_positions):
            least_share[draw] = min(least_share[draw], shares[best[draw, position]])


@kernel
def _likely_draws(unlikely: float, values: Floats, ensemble: Ensemble, best: Ints, least_share: Floats) -> LikelyDraws:
    n_likely = 0
    for draw in range(best.shape[0]):
        n_likely += least_share[draw] >= unlikely
    theta, kappa = np.empty((n_likely, ensemble.theta.shape[1])), np.empty((n_likely, best.shape[1]))
    displays, best_reward, k = np.empty((n_likely, best.shape[1]), np.int64), 0.0, 0
    for draw in range(best.shape[0]):
        if least_share[draw] >= unlikely:
            copy(ensemble.theta[draw], theta[k])
            copy(ensemble.kappa[draw], kappa[k])
            for position in range(best.shape[1]):
                item = displays[k, position] = best[draw, position]
                value = values[item] if values.size > 0 else 1.0
                best_reward += value * theta[k, item] * kappa[k, position] / n_likely
            k += 1
    return LikelyDraws(theta, kappa, displays, best_reward)


def _planned(params: Params, theta: Floats, kappa: Floats, rules: ItemRules) -> PlannedDisplays | None:
    """The greedy display and the one mixed with it, for a page whose draws are made elsewhere."""
    draws, n_positions = kappa.shape
    scale = kappa.sum(axis=1, keepdims=True)  # an ensemble has kappas that sum to 1
    theta, kappa = theta * scale, kappa / scale
    ensemble = Ensemble(theta, kappa, theta.mean(axis=0), kappa.mean(axis=0), np.zeros(2))
    leaders = Leaders(np.zeros(n_positions, np.int64), np.zeros(n_positions, np.int64))
    plan = Plan(np.zeros((draws + 2, n_positions), np.int64), np.zeros(1), np.zeros(draws), np.zeros(1, np.int64))
    _make_plan(params.unlikely, rules, ensemble, leaders, plan)
    if (plan.displays[draws] == EMPTY).any():
        return None
    mixed = float(plan.chance[0])
    draw_chances = np.where(plan.least_share < params.unlikely, 1.0, params.thompson)
    return PlannedDisplays(plan.displays[draws:], np.array([1.0 - mixed, mixed]), draw_chances)


ENSEMBLE = PosteriorEnsemble(learnt=lambda params: params.prior, planner=_planned)
