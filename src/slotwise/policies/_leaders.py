"""The leaders, which are the items of the best display under the posterior means, and the order to show them in.

Leaders and places are numbered by rank: leader 0 has the largest mean theta, place 0 is the position with the largest
mean kappa. An order is the leader at each place; 0, 1, 2, ... is the greedy one.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.ensemble import Ensemble
from slotwise.jit import kernel
from slotwise.policies._information import Outlook, best_mixture, information


class Leaders(NamedTuple):
    """Items and positions by rank."""

    items: Ints  # L
    places: Ints  # L


class OrderCells(NamedTuple):
    """What one click or skip of a leader at a place is expected to bring."""

    clicks: Floats  # L x L: the mean click probability
    information: Floats  # L x L: on the best place of the leader, or on the best leader of the place


@kernel
def rank_by(values: Floats, ranked: Ints) -> None:
    """Fill `ranked` with the indices of the largest values, in decreasing order; the lower index wins a tie."""
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
def choose_order(ensemble: Ensemble, leaders: Leaders, alternative: Ints) -> float:
    """Fill `alternative` with the order to mix with the greedy one, and return how often to show it.

    The candidates are the best order under each draw and each swap of two leaders. Regret is what an order loses
    against the best order under each draw, on average.
    """
    draws, n = ensemble.theta.shape[0], leaders.items.size
    theta, kappa = np.empty((draws, n)), np.empty((draws, n))
    for draw in range(draws):
        for rank in range(n):
            theta[draw, rank] = ensemble.theta[draw, leaders.items[rank]]
            kappa[draw, rank] = ensemble.kappa[draw, leaders.places[rank]]
    orders = _candidates(theta, kappa)
    cells = _cells(theta, kappa, orders)
    best = 0.0
    for draw in range(draws):
        for place in range(n):
            best += theta[draw, orders[draw, place]] * kappa[draw, place] / draws
    for place in range(n):
        alternative[place] = place
    greedy = _outlook(best, cells, alternative)
    ratio, chosen, chance = best_mixture(greedy, greedy).ratio, -1, 0.0
    for candidate in range(orders.shape[0]):
        mixture = best_mixture(greedy, _outlook(best, cells, orders[candidate]))
        if mixture.ratio < ratio:
            ratio, chosen, chance = mixture.ratio, candidate, mixture.chance
    if chosen >= 0:
        alternative[:] = orders[chosen]
    return chance


@kernel
def _candidates(theta: Floats, kappa: Floats) -> Ints:
    """The best order under each draw, in the rows of the draws; then each swap of two leaders in the greedy order."""
    draws, n = theta.shape
    orders = np.empty((draws + n * (n - 1) // 2, n), np.int64)
    leaders, places = np.empty(n, np.int64), np.empty(n, np.int64)
    for draw in range(draws):
        rank_by(theta[draw], leaders)
        rank_by(kappa[draw], places)
        for rank in range(n):
            orders[draw, places[rank]] = leaders[rank]
    row = draws
    for place in range(n):
        for other in range(place):
            for rank in range(n):
                orders[row, rank] = rank
            orders[row, place], orders[row, other] = other, place
            row += 1
    return orders


@kernel
def _cells(theta: Floats, kappa: Floats, orders: Ints) -> OrderCells:
    draws, n = theta.shape
    cells = OrderCells(np.zeros((n, n)), np.zeros((n, n)))
    chances, sums, sizes = np.empty(draws), np.empty(n), np.empty(n)
    best_leader, best_place = np.empty((n, draws), np.int64), np.empty((n, draws), np.int64)
    for draw in range(draws):
        for place in range(n):
            best_leader[place, draw] = orders[draw, place]
            best_place[orders[draw, place], draw] = place
    for leader in range(n):
        for place in range(n):
            for draw in range(draws):
                chances[draw] = theta[draw, leader] * kappa[draw, place]
                cells.clicks[leader, place] += chances[draw] / draws
            on_place = information(chances, best_place[leader], sums, sizes)
            on_leader = information(chances, best_leader[place], sums, sizes)
            cells.information[leader, place] = max(on_place, on_leader)
    return cells


@kernel
def _outlook(best: float, cells: OrderCells, order: Ints) -> Outlook:
    clicks, learnt = 0.0, 0.0
    for place in range(order.size):
        clicks += cells.clicks[order[place], place]
        learnt += cells.information[order[place], place]
    return Outlook(max(best - clicks, 0.0), learnt)
