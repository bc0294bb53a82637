"""What a cascade reveals of each item: how often visitors looked at it, and how often it attracted them.

The policies that use it assume that visitors look at the positions from the first to the last.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.jit import kernel

_LARGEST = 1.0 - 1e-12  # an index of 1 would have an infinite divergence
_STEPS = 60  # Newton needs 3 to 8
_UNOBSERVED = 1e9  # above every index


class Observations(NamedTuple):
    """Sums over all rounds."""

    attracted: Floats  # N
    looks: Floats  # N
    rounds: Floats  # one number: the rounds so far


@kernel
def no_observations(n_items: int) -> Observations:
    """The sums before the first round."""
    return Observations(np.zeros(n_items), np.zeros(n_items), np.zeros(1))


@kernel(inline=True)
def observe(seen: Observations, display: Ints, clicks: Ints, last: int) -> None:
    """Add a round in which the visitor looked at the positions up to `last`."""
    attracted, looks = seen.attracted, seen.looks
    for position in range(last + 1):
        item = display[position]
        looks[item] += 1.0
        attracted[item] += clicks[position] > 0
    seen.rounds[0] += 1.0


@kernel(inline=True)
def first_click(clicks: Ints) -> int:
    """The position of the first click, or else the last position."""
    for position in range(clicks.size):
        if clicks[position] > 0:
            return position
    return clicks.size - 1


@kernel(inline=True)
def last_click(clicks: Ints) -> int:
    """The position of the last click, or else the last position."""
    for k in range(clicks.size):
        position = clicks.size - 1 - k
        if clicks[position] > 0:
            return position
    return clicks.size - 1


@kernel(inline=True)
def first_failure(clicks: Ints) -> int:
    """The first position without success, or else the last position. What follows it is hidden."""
    for position in range(clicks.size):
        if clicks[position] <= 0:
            return position
    return clicks.size - 1


@kernel(inline=True)
def divergence(p: float, q: float) -> float:
    """The Kullback-Leibler divergence d(p, q) between Bernoulli laws, for 0 < q < 1."""
    d = 0.0
    if p > 0.0:
        d += p * math.log(p / q)
    if p < 1.0:
        d += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return d


@kernel(inline=True)
def kl_index(mean: float, number: float, threshold: float, start: float) -> float:
    """The largest q in [mean, 1] with number * d(mean, q) <= threshold, by Newton's method from `start`.

    d is convex in q and increases from `mean` on. So the first step leads to a q that is too large or right, and all
    later steps decrease it. The index of the last round is a good start.
    """
    level = threshold / number
    if level <= 0.0 or mean >= _LARGEST:
        return mean
    if divergence(mean, _LARGEST) <= level:
        return 1.0
    q = start
    if not mean < q < _LARGEST:
        q = 0.5 * (mean + 1.0)
    for _ in range(_STEPS):
        slope = (q - mean) / (q * (1.0 - q))
        step = (divergence(mean, q) - level) / slope
        following = q - step
        if following <= mean:
            following = 0.5 * (mean + q)  # only from a start that is much too large
        elif following > _LARGEST:
            following = 0.5 * (q + 1.0)  # only from a start that is much too small
        if abs(following - q) <= 1e-10:
            return following
        q = following
    return q


@kernel(inline=True)
def might_reach(mean: float, number: float, threshold: float, level: float) -> bool:
    """Whether the index of `kl_index` is at least `level`. This takes no iteration."""
    return mean >= level or (level <= _LARGEST and number * divergence(mean, level) <= threshold)


@kernel(inline=True)
def kl_indices(seen: Observations, loglog: float, rng: np.random.Generator, indices: Floats) -> None:
    """KL-UCB: U_i = max{q : T_i d(w_i, q) <= log t + c log log t}. Items without a look come first."""
    attracted, looks = seen.attracted, seen.looks
    t = 1.0 + seen.rounds[0]
    threshold = math.log(t) + loglog * math.log(max(math.log(t), 1.0))
    for item in range(indices.size):
        if looks[item] == 0.0:
            indices[item] = _UNOBSERVED + rng.random()  # in random order
        else:
            indices[item] = kl_index(attracted[item] / looks[item], looks[item], threshold, indices[item])


@kernel(inline=True)
def hoeffding_indices(seen: Observations, c: float, rng: np.random.Generator, indices: Floats) -> None:
    """UCB1: U_i = min(1, w_i + sqrt(c log t / T_i)). Items without a look come first."""
    attracted, looks = seen.attracted, seen.looks
    width = c * math.log(1.0 + seen.rounds[0])
    for item in range(indices.size):
        if looks[item] == 0.0:
            indices[item] = _UNOBSERVED + rng.random()
        else:
            indices[item] = min(1.0, attracted[item] / looks[item] + math.sqrt(width / looks[item]))
