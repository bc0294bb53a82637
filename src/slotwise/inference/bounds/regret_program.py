"""How often each item must be shown at each position, per unit of log t: the program behind the bound and PMED.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias":
minimise the regret, the sum of (theta_l - theta_i) kappa_l q_il, over q >= 0 that displays can realise and that tell
every alternative from the truth: the sum over i != l of q_il d(theta_i kappa_l, theta'_i kappa'_l) is at least 1.
There are infinitely many alternatives, so they are added one by one where they are violated (cutting planes).

q_ll is free: it costs nothing and tells nothing. What remains of "q is doubly balanced" is then that item l of the best
display is shown elsewhere at most as often as others take its position.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.bounds.alternatives import Truth, divergences, nearest, variable
from slotwise.inference.bounds.simplex import Dictionary, add_row, dictionary, pivot, solve
from slotwise.jit import kernel

ROUNDS_OF_CUTS = 100
CUTS_PER_VARIABLE = 5  # room for them; near-one at a tolerance of 1e-6 takes 3
NEWTON_SHARE = 0.01  # alternatives are found this much more precisely than the program is solved
TAX = 1e-9  # what is free costs this much, lest it be done without end


class Program(NamedTuple):
    """The last solution, and what the next one starts from: alternatives stay alternatives when the truth moves."""

    q: Floats  # N x L; q_ll is 0
    pool: Floats  # room x N-1: the nearest alternative to each tie, then those of the cuts
    ties: Ints  # room: the coordinate that each of them has at its tie
    kept: Ints  # one number: how many of the pool are in use, 0 before the first solution


@kernel
def program(n_items: int, n_positions: int) -> Program:
    """Nothing solved yet."""
    n_ties = n_items - 1
    room = n_ties + CUTS_PER_VARIABLE * n_ties * n_positions
    ties = np.zeros(room, np.int64)
    for tie in range(n_ties):
        ties[tie] = tie
    return Program(np.zeros((n_items, n_positions)), np.zeros((room, n_ties)), ties, np.zeros(1, np.int64))


@kernel
def explore(truth: Truth, tolerance: float, memory: Program) -> float:
    """Fill memory.q with the solution for known order of positions; its regret per unit of log t.

    Every alternative is told apart at rate 1 at least, to a hundredth of `tolerance`, and the regret is at most
    1 / (1 - tolerance) times the least possible. Should the rounds of cuts run out, the first still holds; NaN when not
    even that was reached.
    """
    n_items, n_positions = memory.q.shape
    if n_items == 1:
        return 0.0
    n_variables = n_positions * (n_items - 1)
    table = dictionary(n_variables, n_positions + memory.ties.size)
    row = np.empty(n_variables)
    _balance(truth, table, row)
    q, pool, ties, kept = memory.q, memory.pool, memory.ties, memory.kept
    if kept[0] == 0:
        kept[0] = n_items - 1
        for tie in range(n_items - 1):
            _copy(truth.z, pool[tie])  # the plainest alternative
    for cut in range(kept[0]):
        _add_cut(truth, pool[cut], ties[cut], table, n_positions + cut + 1, row)
    worst = 0.0
    for _ in range(ROUNDS_OF_CUTS):
        if not solve(table, n_positions + kept[0]):
            break
        _read(table, n_positions + kept[0], q)
        worst = np.inf
        for tie in range(n_items - 1):
            rate = nearest(truth, q, tie, 0.0, NEWTON_SHARE * tolerance, pool[tie])
            worst = min(worst, rate)
            if rate < 1.0 - tolerance and kept[0] < ties.size:
                _copy(pool[tie], pool[kept[0]])
                ties[kept[0]] = tie
                kept[0] += 1
                _add_cut(truth, pool[tie], tie, table, n_positions + kept[0], row)
        if worst >= 1.0 - tolerance:
            break
    _forget(table.nonbasic, n_variables + n_positions + 1, pool, ties, kept)
    if not worst > 0.0:
        kept[0] = 0  # what led here is no good start
        return np.nan
    return _scaled(truth, worst, q)


@kernel
def _balance(truth: Truth, table: Dictionary, row: Floats) -> None:
    """The costs, and a row for each item of the best display: shown elsewhere at most as often as replaced."""
    theta, kappa, cost = truth.theta, truth.kappa, table.body[0]
    n_items, n_positions = theta.size, kappa.size
    for best in range(n_positions):
        for k in range(row.size):
            row[k] = 0.0
        for item in range(n_items):
            if item != best:
                cost[variable(item, best, n_items)] = (theta[best] - theta[item]) * kappa[best]
                row[variable(item, best, n_items)] = 1.0
        for position in range(n_positions):
            if position != best:
                row[variable(best, position, n_items)] = -1.0
        add_row(table, best + 1, row, 0.0)
    # moving each item one position down and dropping the last is the cheapest chain: with it in the basis, the costs
    # become those of the assignment's dual prices, none of them negative
    for best in range(n_positions - 1):
        pivot(table, n_positions, best + 1, variable(best, best + 1, n_items))
    for k in range(row.size):
        cost[k] = max(cost[k], TAX)


@kernel
def _add_cut(truth: Truth, z: Floats, tie: int, table: Dictionary, at: int, row: Floats) -> None:
    """Ask that the alternative z, brought to where its tie and the bounds now are, be told apart at rate 1."""
    for k in range(z.size):
        z[k] = max(z[k], truth.low[k])
    z[tie] = 0.0
    divergences(truth, z, row)
    add_row(table, at, row, 1.0)


@kernel(inline=True)
def _copy(source: Floats, target: Floats) -> None:
    for k in range(source.size):
        target[k] = source[k]


@kernel
def _read(table: Dictionary, rows: int, q: Floats) -> None:
    """q_il from the dictionary: the values of the basic variables, 0 for all others."""
    n_items, n_positions = q.shape
    n_variables = table.nonbasic.size
    for item in range(n_items):
        for position in range(n_positions):
            q[item, position] = 0.0
    for row in range(1, rows + 1):
        pair = table.basic[row]
        if pair < n_variables:
            position, item = pair // (n_items - 1), pair % (n_items - 1)
            q[item if item < position else item + 1, position] = max(table.body[row, n_variables], 0.0)


@kernel
def _forget(nonbasic: Ints, first: int, pool: Floats, ties: Ints, kept: Ints) -> None:
    """Keep, besides one alternative for each tie, those whose rows bind: their surplus, `first` on, is not basic."""
    n_ties = pool.shape[1]
    binds = np.zeros(ties.size, np.bool_)
    for number in nonbasic:
        if number >= first:
            binds[number - first] = True
    end = n_ties
    for cut in range(n_ties, kept[0]):
        if binds[cut]:
            _copy(pool[cut], pool[end])
            ties[end] = ties[cut]
            end += 1
    kept[0] = end


@kernel
def _scaled(truth: Truth, worst: float, q: Floats) -> float:
    """Show everything more often by what the worst alternative lacks; the regret then."""
    theta, kappa = truth.theta, truth.kappa
    regret = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            q[item, position] /= min(worst, 1.0)
            regret += (theta[position] - theta[item]) * kappa[position] * q[item, position]
    return regret
