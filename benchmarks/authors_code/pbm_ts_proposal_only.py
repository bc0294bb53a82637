"""PBM-TS that draws theta from the proposal of Lagree et al., not from the posterior.

The rejection sampler of the public code of Gauthier, Gaudel and Fromont (2021) computes the target density, but does
not add it to the acceptance threshold. So a proposal with density q (up to a factor) is accepted with probability
min(1, 1 / (M q)). Except for items without a click, nearly every proposal is accepted. In that code, the Beta prior has
a = b = 1/2. M is at least 1, and is left out here.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats
from slotwise.clickmodels.pbm import Model
from slotwise.counts import CountArrays, empty
from slotwise.jit import kernel
from slotwise.policies._common import choose_by_score, count_display

_TRIES = 1000
_PSEUDO_COUNT = 0.5


class Params(NamedTuple):
    model: Model


class State(NamedTuple):
    counts: CountArrays
    theta: Floats
    kappa: Floats


@kernel
def init(params: Params, n_items: int, n_positions: int, rng: np.random.Generator) -> State:
    return State(empty(n_items, n_positions), np.zeros(n_items), np.zeros(n_positions))


@kernel(inline=True)
def score(params: Params, state: State, rng: np.random.Generator, theta: Floats, kappa: Floats) -> None:
    """Beta(S_il + 1/2, F_il + 1/2) / kappa_l at the position l with the most displays of the item (Eq. 8)."""
    visibility, clicks, skips = params.model.kappa, state.counts.clicks, state.counts.skips
    for position in range(kappa.size):
        kappa[position] = visibility[position]
    for item in range(theta.size):
        most = 0
        for position in range(kappa.size):
            if clicks[item, position] + skips[item, position] > clicks[item, most] + skips[item, most]:
                most = position
        a, b = clicks[item, most] + _PSEUDO_COUNT, skips[item, most] + _PSEUDO_COUNT
        for _ in range(_TRIES):
            rate = rng.beta(a, b)
            theta[item] = rate / visibility[most]
            log_q = (a - 1.0) * math.log(max(rate, 1e-300)) + (b - 1.0) * math.log(max(1.0 - rate, 1e-300))
            if rate <= visibility[most] and math.log(rng.random()) < -log_q:
                break


choose = choose_by_score(__name__)
update = count_display(__name__)
