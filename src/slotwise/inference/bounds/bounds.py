"""Lower bounds on the regret of every consistent policy: liminf R(T) / log T >= C for T -> infinity.

With kappa known: Lagrée, Vernade and Cappé 2016, "Multiple-Play Bandits in the Position-Based Model". With kappa
unknown: Komiyama, Honda and Takeda 2017, "Position-based Multiple-play Bandit Problem with Unknown Position Bias". Both
bounds are asymptotic: C bounds the final slope of the regret over log T, but the regret itself may be below C log T.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from slotwise.checks import BadInput, Floats, Ints
from slotwise.clickmodels.pbm import PBM
from slotwise.inference.bounds.nearest_alternative import (
    RankedModel,
    bernoulli_divergence,
    divergences,
    nearest,
    ranked_model,
    variable,
)

TOLERANCE = 1e-6
CUT_ITERATIONS = 500
MARGIN = 1e-9  # the least distance of theta from 0 and 1, where logarithms are infinite


def known_kappa_bound(model: PBM) -> float:
    """C for policies that know kappa. Each item k > L has to be shown at the position where this costs least.

    C is the sum over k > L of min over l of Delta(v_kl) / d(kappa_l theta_k, kappa_l theta_L), where v_kl is the best
    display with k inserted at position l and the last item removed. If an item ties with the L-th, the best display is
    not unique and the formula does not apply. Such a model raises BadInput. Positions of visibility 0 are ignored,
    because they get no clicks.
    """
    items, positions = _ranked(model)
    theta, kappa = model.theta[items], model.kappa[positions]
    if kappa.size == 0:
        return 0.0
    _check_no_tie("theta", model.theta, items[kappa.size - 1 : kappa.size + 1])
    return math.fsum(_least_cost(theta, kappa, rank) for rank in range(kappa.size, theta.size))


def unknown_kappa_bound(model: PBM, order_known: bool = False, tolerance: float = TOLERANCE) -> float:
    """C for policies that do not know kappa. With `order_known`, they know the order of the positions by visibility.

    C is the value of the program in `regret_program`. The computed value is at most 1 / (1 - tolerance) times too
    large. At a tie the best display is ambiguous and the value is not the bound, so a tie raises BadInput. A tie is
    between two of the L best items, between the L-th item and the next one or, if the order is unknown, between two
    positions. Near a tie, the value is very large. Positions of visibility 0 are ignored, because they get no clicks.
    """
    if not 0.0 < tolerance < 1.0:
        raise BadInput(f"tolerance = {tolerance!r} is not between 0 and 1")
    items, positions = _ranked(model)
    if items.size == 1 or positions.size == 0:
        return 0.0  # there is only one display, or no display gets clicks
    _check_no_tie("theta", model.theta, items[: positions.size + 1])
    if not order_known:
        _check_no_tie("kappa", model.kappa, positions)
    theta, kappa = np.clip(model.theta[items], MARGIN, 1.0 - MARGIN), model.kappa[positions]
    return _least_regret(ranked_model(theta, kappa, order_known), _ties(theta, kappa, order_known), tolerance)


def _ranked(model: PBM) -> tuple[Ints, Ints]:
    """Items by decreasing theta, and positions by decreasing kappa. Positions of visibility 0 are left out."""
    items = np.argsort(-model.theta, kind="stable")
    positions = np.argsort(-model.kappa, kind="stable")
    return items, positions[model.kappa[positions] > 0.0]


def _check_no_tie(name: str, values: Floats, ranked: Ints) -> None:
    for better, worse in pairwise(ranked.tolist()):
        if values[better] - values[worse] < MARGIN:
            raise BadInput(
                f"{name}[{better}] = {name}[{worse}] = {float(values[better]):g} is a tie, so there are several best "
                "displays; the regret bound is defined for models with a single best display"
            )


def _least_cost(theta: Floats, kappa: Floats, item: int) -> float:
    last = kappa.size - 1
    costs: list[float] = []
    for position in range(kappa.size):
        down = float(((theta[position:last] - theta[position + 1 : last + 1]) * kappa[position + 1 :]).sum())
        lost = (theta[position] - theta[item]) * kappa[position] - down
        costs.append(lost / bernoulli_divergence(kappa[position] * theta[item], kappa[position] * theta[last]))
    return min(costs)


def _ties(theta: Floats, kappa: Floats, order_known: bool) -> list[tuple[int, float]]:
    """The ties at which the best display first changes. Each tie is a coordinate and its value."""
    ties = [(k, 0.0) for k in range(theta.size - 1)]
    if not order_known:
        products = np.log(theta[: kappa.size] * kappa)
        ties += [(k, float(products[k + 1] - products[k])) for k in range(kappa.size - 1)]
    return ties


def _least_regret(model: RankedModel, ties: list[tuple[int, float]], tolerance: float) -> float:
    """Use cutting planes: solve, find the nearest alternative at each tie, add the violated ones, and repeat."""
    alternatives = [model.z.copy() for _ in ties]
    rows = []
    for (coordinate, value), z in zip(ties, alternatives, strict=True):
        z[coordinate] = value
        rows.append(_divergence_row(model, z))
    regret, worst = 0.0, 1.0
    for _ in range(CUT_ITERATIONS):
        regret, q = _solve_linear_program(model, np.array(rows))
        worst = math.inf
        for (coordinate, value), z in zip(ties, alternatives, strict=True):
            rate = nearest(model, q, coordinate, value, 0.01 * tolerance, z)
            worst = min(worst, rate)
            if rate < 1.0 - tolerance:
                rows.append(_divergence_row(model, z))
        if worst >= 1.0 - tolerance:
            break
    return regret / min(worst, 1.0)  # q / worst satisfies the constraint of every alternative


def _divergence_row(model: RankedModel, z: Floats) -> Floats:
    row = np.empty(model.kappa.size * (model.theta.size - 1))
    divergences(model, z, row)
    return row


def _solve_linear_program(model: RankedModel, cuts: Floats) -> tuple[float, Floats]:
    """Minimise the regret under two constraints: every cut is at least 1, and displays can realise the solution."""
    # imported here because the import takes longer than everything else
    from scipy.optimize import linprog  # type: ignore[import-untyped]

    theta, kappa = model.theta, model.kappa
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
    solution: Any = linprog(cost, np.vstack([balance, -cuts / scale]), limits, method="highs")
    if solution.x is None:
        raise BadInput(f"the regret bound cannot be computed: the model is too close to a tie ({solution.message})")
    q = np.zeros((n_items, n_positions))
    for pair, value in zip(pairs, solution.x, strict=True):
        q[pair] = max(value, 0.0)
    return float(solution.fun), q
