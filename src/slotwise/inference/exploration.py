"""How often each item must be shown at each position, per unit of log t: the program behind the bound and PMED.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias", section 3:
minimise the regret, the sum of (theta_l - theta_i) kappa_l q_il, over q >= 0 that displays can realise and that tell
every alternative from the truth: the sum over i != l of q_il d(theta_i kappa_l, theta'_i kappa'_l) is at least 1.
There are infinitely many alternatives, so they are added one by one where they are violated (cutting planes).

q_ll is free: it costs nothing and tells nothing. What remains of "q is doubly balanced" is then that item l of the best
display is shown elsewhere at most as often as others take its position.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.alternatives import Truth, divergences, nearest, variable
from slotwise.inference.simplex import Dictionary, add_row, dictionary, pivot, solve
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

    Every alternative is told apart at rate 1 at least, and the regret is at most 1 / (1 - tolerance) times the least
    possible. Should the rounds of cuts run out, the first still holds; NaN when not even that was reached.
    """
    n_items, n_positions = memory.q.shape
    if n_items == 1:
        return 0.0
    n_variables = n_positions * (n_items - 1)
    table = dictionary(n_variables, n_positions + memory.ties.size)
    row = np.empty(n_variables)
    _balance(truth, table, row)
    _recall(truth, table, row, memory)
    worst = 0.0
    for _ in range(ROUNDS_OF_CUTS):
        if not solve(table, n_positions + memory.kept[0]):
            break
        _read(table, n_positions + memory.kept[0], memory.q)
        worst = _cut(truth, tolerance, table, row, memory)
        if worst >= 1.0 - tolerance:
            break
    _forget(table, memory)
    return _scaled(truth, worst, memory.q)


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
def _recall(truth: Truth, table: Dictionary, row: Floats, memory: Program) -> None:
    """A row for each alternative of the last solution, or for the plainest one of each tie."""
    pool, ties, n_ties = memory.pool, memory.ties, truth.z.size
    if memory.kept[0] == 0:
        memory.kept[0] = n_ties
        for tie in range(n_ties):
            for k in range(n_ties):
                pool[tie, k] = truth.z[k]
    for cut in range(memory.kept[0]):
        for k in range(n_ties):  # the bounds may have moved with the truth
            pool[cut, k] = max(pool[cut, k], truth.low[k])
        pool[cut, ties[cut]] = 0.0
        divergences(truth, pool[cut], row)
        add_row(table, truth.kappa.size + cut + 1, row, 1.0)


@kernel
def _cut(truth: Truth, tolerance: float, table: Dictionary, row: Floats, memory: Program) -> float:
    """Add the nearest alternative of each tie that q does not tell apart well enough; the least rate found."""
    pool, ties, kept, n_ties = memory.pool, memory.ties, memory.kept, truth.z.size
    worst = np.inf
    for tie in range(n_ties):
        rate = nearest(truth, memory.q, tie, 0.0, NEWTON_SHARE * tolerance, pool[tie])
        worst = min(worst, rate)
        if rate < 1.0 - tolerance and kept[0] < ties.size:
            divergences(truth, pool[tie], row)
            for k in range(n_ties):
                pool[kept[0], k] = pool[tie, k]
            ties[kept[0]] = tie
            kept[0] += 1
            add_row(table, truth.kappa.size + kept[0], row, 1.0)
    return worst


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
def _forget(table: Dictionary, memory: Program) -> None:
    """Keep, besides one alternative for each tie, those whose rows bind: their surplus is not basic."""
    pool, ties, n_ties = memory.pool, memory.ties, memory.pool.shape[1]
    first = table.nonbasic.size + memory.q.shape[1] + 1
    binds = np.zeros(ties.size, np.bool_)
    for number in table.nonbasic:
        if number >= first + n_ties:
            binds[number - first] = True
    kept = n_ties
    for cut in range(n_ties, memory.kept[0]):
        if binds[cut]:
            for k in range(n_ties):
                pool[kept, k] = pool[cut, k]
            ties[kept] = ties[cut]
            kept += 1
    memory.kept[0] = kept


@kernel
def _scaled(truth: Truth, worst: float, q: Floats) -> float:
    """Show everything more often by what the worst alternative lacks; the regret then."""
    theta, kappa = truth.theta, truth.kappa
    if not worst > 0.0:
        return np.nan
    regret = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            q[item, position] /= min(worst, 1.0)
            regret += (theta[position] - theta[item]) * kappa[position] * q[item, position]
    return regret
