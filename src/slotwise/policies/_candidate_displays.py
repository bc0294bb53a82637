"""The candidates of information-directed sampling: displays near the greedy one, and the best display of each draw.

The greedy display is the best display under the posterior means, and the leaders are its items. Leaders and places are
numbered by rank: leader 0 has the largest value x mean theta, and place 0 is the position with the largest mean kappa.
"""

from typing import NamedTuple

import numpy as np

from slotwise.arrange import NO_LIMIT, ItemRules, within_limit
from slotwise.checks import Floats, Ints
from slotwise.copying import copy
from slotwise.jit import kernel
from slotwise.policies._information import Cells, Outlook, best_mixture, outlook


class Leaders(NamedTuple):
    """Items and positions by rank."""

    items: Ints  # L
    places: Ints  # L


class Choice(NamedTuple):
    """The display to mix with the greedy one. `chance` and `ratio` are arrays of one number that the search updates."""

    display: Ints  # L
    chance: Floats  # how often it is shown
    ratio: Floats  # regret^2 / information of the mixture


@kernel
def rank_by(values: Floats, ranked: Ints) -> None:
    """Fill `ranked` with the indices of the largest values, in decreasing order. The lower index wins a tie."""
    n_ranked = 0
    for index in range(values.size):
        if n_ranked < ranked.size:
            rank = n_ranked
            n_ranked += 1
        elif values[index] > values[ranked[-1]]:
            rank = ranked.size - 1
        else:
            continue
        while rank > 0 and values[ranked[rank - 1]] < values[index]:
            ranked[rank] = ranked[rank - 1]
            rank -= 1
        ranked[rank] = index


@kernel
def choose_mixture(
    cells: Cells, best: Ints, best_reward: float, leaders: Leaders, rules: ItemRules, alternative: Ints
) -> float:
    """Fill `alternative` with the display to mix with the greedy one, and return how often to show the alternative.

    There are three kinds of candidates. The first are the rows of `best`, the best display under each draw. The second
    are greedy displays in which another item is inserted at some rank or replaces the leader of that rank. The third
    are greedy displays in which two leaders are swapped. Displays above the limit of a category are left out.
    `best_reward` is the expected reward of a row of `best` under its own draw.
    """
    items, places = leaders.items, leaders.places
    has_limit = rules.most_per_category != NO_LIMIT
    for rank in range(places.size):
        alternative[places[rank]] = items[rank]
    greedy = outlook(cells, best_reward, alternative)
    choice = Choice(alternative, np.zeros(1), np.full(1, best_mixture(greedy, greedy).ratio))
    for draw in range(best.shape[0]):
        _consider(cells, best_reward, greedy, best[draw], choice)
    is_leader = np.zeros(cells.reward.shape[0], np.bool_)
    is_leader[items] = True
    display = np.empty(places.size, np.int64)
    for item in range(is_leader.size):
        for rank in range(places.size):
            if not is_leader[item]:
                for replace in (False, True):
                    _insert(item, rank, replace, leaders, display)
                    if not has_limit or within_limit(display, rules):
                        _consider(cells, best_reward, greedy, display, choice)
    for rank in range(places.size):
        for other in range(rank):
            _insert(items[other], rank, True, leaders, display)
            display[places[other]] = items[rank]
            _consider(cells, best_reward, greedy, display, choice)
    return float(choice.chance[0])


@kernel
def _insert(item: int, rank: int, replace: bool, leaders: Leaders, display: Ints) -> None:
    """Put the item into the greedy display at a rank. With `replace`, it replaces the leader there.

    Otherwise that leader and all later ones move down.
    """
    items, places = leaders.items, leaders.places
    for k in range(places.size):
        display[places[k]] = items[k - 1] if k > rank and not replace else items[k]
    display[places[rank]] = item


@kernel
def _consider(cells: Cells, best_reward: float, greedy: Outlook, display: Ints, choice: Choice) -> None:
    """Choose this display if its best mixture with the greedy display has a smaller ratio."""
    mixture = best_mixture(greedy, outlook(cells, best_reward, display))
    if mixture.ratio < choice.ratio[0]:
        choice.ratio[0], choice.chance[0] = mixture.ratio, mixture.chance
        copy(display, choice.display)
