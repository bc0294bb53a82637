"""The program behind the bound and PMED: how often each item must be shown at each position, per unit of log t.

Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias". The program
minimises the regret, the sum of (theta_l - theta_i) kappa_l q_il, over all q >= 0 that meet two conditions: displays
can realise q, and q distinguishes every alternative from the model. The second condition means that for every
alternative, the sum over i != l of q_il d(theta_i kappa_l, theta'_i kappa'_l) is at least 1. There are infinitely many
alternatives, so violated ones are added one by one (cutting planes).

q_ll is free: it costs nothing and distinguishes nothing. So displays can realise q if each item l of the best display
is shown elsewhere at most as often as other items are shown at its position.
"""

from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.copying import copy
from slotwise.inference.bounds.nearest_alternative import RankedModel, divergences, nearest, variable
from slotwise.inference.bounds.simplex import Dictionary, add_row, dictionary, pivot, solve
from slotwise.jit import kernel

CUT_ITERATIONS = 100
CUTS_PER_VARIABLE = 5  # capacity; near-one at a tolerance of 1e-6 needs 3
NEWTON_SHARE = 0.01  # the tolerance of alternatives, as a share of the program's tolerance
MIN_COST = 1e-9  # displays without regret cost this much, because otherwise their number would be unbounded


class RegretProgram(NamedTuple):
    """The last solution, and the alternatives from which the next solution starts. Another model can reuse both."""

    q: Floats  # N x L; q_ll is 0
    alternatives: Floats  # capacity x N-1: the nearest alternative at each tie, then those of the cuts
    ties: Ints  # capacity: the coordinate in which each alternative is tied
    n_alternatives: Ints  # one number: how many alternatives are in use; 0 before the first solution


@kernel
def regret_program(n_items: int, n_positions: int) -> RegretProgram:
    """A program that was not solved yet."""
    n_ties = n_items - 1
    capacity = n_ties + CUTS_PER_VARIABLE * n_ties * n_positions
    ties = np.zeros(capacity, np.int64)
    for tie in range(n_ties):
        ties[tie] = tie
    return RegretProgram(np.zeros((n_items, n_positions)), np.zeros((capacity, n_ties)), ties, np.zeros(1, np.int64))


@kernel
def solve_regret_program(model: RankedModel, tolerance: float, program: RegretProgram) -> float:
    """Fill program.q with the solution for a known order of positions. Returns its regret per unit of log t.

    The constraint of every alternative holds to a hundredth of `tolerance`, and the regret is at most 1 / (1 -
    tolerance) times the least possible. If the limit of iterations is reached, only the constraints are certain to
    hold. If even the constraints do not hold, the result is NaN.
    """
    n_items, n_positions = program.q.shape
    if n_items == 1:
        return 0.0
    n_variables = n_positions * (n_items - 1)
    table = dictionary(n_variables, n_positions + program.ties.size)
    row = np.empty(n_variables)
    _add_balance_rows(model, table, row)
    q, alternatives, ties, size = program.q, program.alternatives, program.ties, program.n_alternatives
    if size[0] == 0:
        size[0] = n_items - 1
        for tie in range(n_items - 1):
            copy(model.z, alternatives[tie])  # the simplest alternative: only the tied coordinate changes
    for cut in range(size[0]):
        _add_cut(model, alternatives[cut], ties[cut], table, n_positions + cut + 1, row)
    worst = 0.0
    for _ in range(CUT_ITERATIONS):
        if not solve(table, n_positions + size[0]):
            break
        _read_solution(table, n_positions + size[0], q)
        worst = np.inf
        for tie in range(n_items - 1):
            rate = nearest(model, q, tie, 0.0, NEWTON_SHARE * tolerance, alternatives[tie])
            worst = min(worst, rate)
            if rate < 1.0 - tolerance and size[0] < ties.size:
                copy(alternatives[tie], alternatives[size[0]])
                ties[size[0]] = tie
                size[0] += 1
                _add_cut(model, alternatives[tie], tie, table, n_positions + size[0], row)
        if worst >= 1.0 - tolerance:
            break
    _drop_slack_cuts(table.nonbasic, n_variables + n_positions + 1, alternatives, ties, size)
    if not worst > 0.0:
        size[0] = 0  # these alternatives are not a good start for the next solution
        return np.nan
    return _scale_to_feasible(model, worst, q)


@kernel
def _add_balance_rows(model: RankedModel, table: Dictionary, row: Floats) -> None:
    """Add the costs, and a row for each item of the best display.

    The row says that the item is shown elsewhere no more often than other items are shown at its position.
    """
    theta, kappa, cost = model.theta, model.kappa, table.body[0]
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
    # The cheapest chain moves each item one position down and removes the last. With this chain in the basis, the costs
    # become reduced costs for the dual prices of the assignment. No reduced cost is negative.
    for best in range(n_positions - 1):
        pivot(table, n_positions, best + 1, variable(best, best + 1, n_items))
    for k in range(row.size):
        cost[k] = max(cost[k], MIN_COST)


@kernel
def _add_cut(model: RankedModel, z: Floats, tie: int, table: Dictionary, at: int, row: Floats) -> None:
    """Move the alternative z to its tie, and clip it to the model's bounds. Require a divergence of at least 1."""
    for k in range(z.size):
        z[k] = max(z[k], model.low[k])
    z[tie] = 0.0
    divergences(model, z, row)
    add_row(table, at, row, 1.0)


@kernel
def _read_solution(table: Dictionary, rows: int, q: Floats) -> None:
    """Fill q from the dictionary: the values of the basic variables, 0 for all others."""
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
def _drop_slack_cuts(nonbasic: Ints, first: int, alternatives: Floats, ties: Ints, size: Ints) -> None:
    """Keep the nearest alternative of each tie and the cuts that bind, and drop all others.

    A cut binds if its surplus variable is nonbasic. `first` is the index of the first cut's surplus variable.
    """
    n_ties = alternatives.shape[1]
    binds = np.zeros(ties.size, np.bool_)
    for number in nonbasic:
        if number >= first:
            binds[number - first] = True
    end = n_ties
    for cut in range(n_ties, size[0]):
        if binds[cut]:
            copy(alternatives[cut], alternatives[end])
            ties[end] = ties[cut]
            end += 1
    size[0] = end


@kernel
def _scale_to_feasible(model: RankedModel, worst: float, q: Floats) -> float:
    """Scale q up so that the constraint of the worst alternative holds. Returns the regret of the scaled q."""
    theta, kappa = model.theta, model.kappa
    regret = 0.0
    for item in range(theta.size):
        for position in range(kappa.size):
            q[item, position] /= min(worst, 1.0)
            regret += (theta[position] - theta[item]) * kappa[position] * q[item, position]
    return regret
