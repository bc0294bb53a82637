"""Lower bounds of the regret of any policy that learns: liminf R(T) / log T >= C, as T grows.

With kappa known: Lagrée, Vernade and Cappé 2016, "Multiple-Play Bandits in the Position-Based Model".
With kappa unknown: Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position
Bias". Both are asymptotic: C is the slope that regret reaches on a logarithmic axis, not a floor under it.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from slotwise.checks import BadInput, Floats, Ints
from slotwise.clickmodels.pbm import PBM
from slotwise.inference.bounds.alternatives import Truth, divergences, nearest, told_apart, truth_of, variable

TOLERANCE = 1e-6
ROUNDS_OF_CUTS = 500
FROM_0_AND_1 = 1e-9  # theta is kept this far from both, where logarithms would be infinite


def known_kappa_bound(model: PBM) -> float:
    """C for policies that are told kappa: each item k > L must be tried where trying it costs least.

    It is the sum over k > L of min over l of Delta(v_kl) / d(kappa_l theta_k, kappa_l theta_L), v_kl being the best
    display with k put in at position l and the last item out. An item as good as the L-th leaves no single best
    display, and the formula says nothing then: BadInput. Positions of visibility 0 are left out: they earn nothing.
    """
    items, positions = _ranked(model)
    theta, kappa = model.theta[items], model.kappa[positions]
    if kappa.size == 0:
        return 0.0
    _no_tie("theta", model.theta, items[kappa.size - 1 : kappa.size + 1])
    return math.fsum(_cheapest_try(theta, kappa, rank) for rank in range(kappa.size, theta.size))


def unknown_kappa_bound(model: PBM, order_known: bool = False, tolerance: float = TOLERANCE) -> float:
    """C for policies that are not told kappa, or (`order_known`) only which positions are more visible than which.

    It is the value of the program in `regret_program`, at most 1 / (1 - tolerance) times too large.
    Ties within the L best items, of the L-th with the next or, when the order is unknown, of two positions leave no
    single best display, and the value grows without end towards a tie, where the truth is another: BadInput. Positions
    of visibility 0 are left out: they earn nothing.
    """
    if not 0.0 < tolerance < 1.0:
        raise BadInput(f"tolerance = {tolerance!r} is not in ]0, 1[")
    items, positions = _ranked(model)
    if items.size == 1 or positions.size == 0:
        return 0.0  # a single display, or none that earns anything
    _no_tie("theta", model.theta, items[: positions.size + 1])
    if not order_known:
        _no_tie("kappa", model.kappa, positions)
    theta, kappa = np.clip(model.theta[items], FROM_0_AND_1, 1.0 - FROM_0_AND_1), model.kappa[positions]
    return _least_regret(truth_of(theta, kappa, order_known), _ties(theta, kappa, order_known), tolerance)


def _ranked(model: PBM) -> tuple[Ints, Ints]:
    """Items and positions by decreasing theta and kappa, without positions that nobody sees."""
    items = np.argsort(-model.theta, kind="stable")
    positions = np.argsort(-model.kappa, kind="stable")
    return items, positions[model.kappa[positions] > 0.0]


def _no_tie(name: str, values: Floats, ranked: Ints) -> None:
    for one, other in pairwise(ranked.tolist()):
        if values[one] - values[other] < FROM_0_AND_1:
            raise BadInput(
                f"{name}[{one}] = {name}[{other}] = {float(values[one]):g} is a tie that leaves several best displays; "
                "the regret bound is one for models with a single best display"
            )


def _cheapest_try(theta: Floats, kappa: Floats, item: int) -> float:
    last = kappa.size - 1
    costs: list[float] = []
    for position in range(kappa.size):
        down = float(((theta[position:last] - theta[position + 1 : last + 1]) * kappa[position + 1 :]).sum())
        lost = (theta[position] - theta[item]) * kappa[position] - down
        costs.append(lost / told_apart(kappa[position] * theta[item], kappa[position] * theta[last]))
    return min(costs)


def _ties(theta: Floats, kappa: Floats, order_known: bool) -> list[tuple[int, float]]:
    """Where the best display changes first: a coordinate and the value at which two items, or positions, are equal."""
    ties = [(k, 0.0) for k in range(theta.size - 1)]
    if not order_known:
        products = np.log(theta[: kappa.size] * kappa)
        ties += [(k, float(products[k + 1] - products[k])) for k in range(kappa.size - 1)]
    return ties


def _least_regret(truth: Truth, ties: list[tuple[int, float]], tolerance: float) -> float:
    """Cutting planes: solve, look for the alternative told apart worst on each tie, add it, until none is missing."""
    closest = [truth.z.copy() for _ in ties]
    rows = []
    for (fixed, value), z in zip(ties, closest, strict=True):
        z[fixed] = value
        rows.append(_row(truth, z))
    regret, worst = 0.0, 1.0
    for _ in range(ROUNDS_OF_CUTS):
        regret, q = _solve(truth, np.array(rows))
        worst = math.inf
        for (fixed, value), z in zip(ties, closest, strict=True):
            rate = nearest(truth, q, fixed, value, 0.01 * tolerance, z)
            worst = min(worst, rate)
            if rate < 1.0 - tolerance:
                rows.append(_row(truth, z))
        if worst >= 1.0 - tolerance:
            break
    return regret / min(worst, 1.0)  # q / worst tells every alternative apart


def _row(truth: Truth, z: Floats) -> Floats:
    row = np.empty(truth.kappa.size * (truth.theta.size - 1))
    divergences(truth, z, row)
    return row


def _solve(truth: Truth, cuts: Floats) -> tuple[float, Floats]:
    """The linear program: least regret, no item shown elsewhere more often than replaced, every cut at least 1."""
    # imported here, since it takes longer than all the rest
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    theta, kappa = truth.theta, truth.kappa
    n_items, n_positions = theta.size, kappa.size
    pairs = [(i, p) for p in range(n_positions) for i in range(n_items) if i != p]
    cost = np.array([(theta[p] - theta[i]) * kappa[p] for i, p in pairs])
    balance = np.zeros((n_positions, len(pairs)))
    for item, position in pairs:
        balance[position, variable(item, position, n_items)] = -1.0
        if item < n_positions:
            balance[item, variable(item, position, n_items)] = 1.0
    scale = cuts.max(axis=1, keepdims=True)
    limits = np.concatenate([np.zeros(n_positions), -1.0 / scale[:, 0]])
    solved: Any = linprog(cost, np.vstack([balance, -cuts / scale]), limits, method="highs")
    if solved.x is None:
        raise BadInput(
            f"the regret bound cannot be computed for this model, which is too close to a tie: {solved.message}"
        )
    q = np.zeros((n_items, n_positions))
    for pair, value in zip(pairs, solved.x, strict=True):
        q[pair] = max(value, 0.0)
    return float(solved.fun), q
