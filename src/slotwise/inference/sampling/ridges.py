"""Moves along the ridges theta kappa = constant of a PBM's posterior, on which steps of one coordinate are slow.

Clicks tell products: an item that was nearly always shown at one position has a well-known product there, and while
that stands neither its theta nor the position's kappa can move alone. `slide` moves a position's kappa and the thetas
of all items at home there against each other. `rescale` moves all thetas and kappas that are connected: no product
changes, so the likelihood does not, and the scale is drawn from its exact law.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.artanh_series import beyond_first, remainder
from slotwise.inference.sampling.coordinate_step import LEAST, MOST
from slotwise.jit import kernel

NOWHERE = -1
_STEP = 2.4  # standard deviations: what suits a random walk in one dimension
_TRIES = 200


class Ridges(NamedTuple):
    """Where the ridges run. It depends on counts alone; any values would do, good ones mix better."""

    homes: Ints  # N: the position that has most of an item's clicks, or NOWHERE
    items: Ints  # N: label of the connected part that an item belongs to, or NOWHERE
    positions: Ints  # L: the same for positions; a part is named after its first position


@kernel
def one_part(n_items: int, n_positions: int) -> Ridges:
    """Ridges of a design that is taken for connected."""
    return Ridges(np.full(n_items, NOWHERE, np.int64), np.zeros(n_items, np.int64), np.zeros(n_positions, np.int64))


@kernel(inline=True)
def find_homes(clicks: Floats, homes: Ints) -> None:
    """Every item's home, by the clicks."""
    for item in range(homes.size):
        most, home = 0.0, NOWHERE
        for position in range(clicks.shape[1]):
            if clicks[item, position] > most:
                most, home = clicks[item, position], position
        homes[item] = home


@kernel(inline=True)
def slide(
    first: int,
    stride: int,
    free_from: int,
    clicks: Floats,
    skips: Floats,
    theta: Floats,
    kappa: Floats,
    homes: Ints,
    items: Ints,
    positions: Ints,
    more_clicks: float,
    more_skips: float,
    rng: np.random.Generator,
) -> None:
    """For every `stride`-th position: log kappa - delta, and log theta + delta for the items at home there.

    A random walk in log coordinates, so the density there counts (an extra 1 in every exponent); its width comes from
    counts and prior alone. Where kappa is fixed all the rest of its part moves the other way: the same products change.
    """
    for position in range(first, kappa.size, stride):
        information, exponent, volume, highest = _counted(clicks, skips, theta, homes, position, more_clicks)
        if highest <= 0.0:
            continue  # no item is at home here
        delta = _STEP / math.sqrt(1.0 + information) * rng.standard_normal()
        log_u = -rng.standard_exponential() - exponent * delta
        if position < free_from:
            _slide_rest(position, delta, log_u, skips, theta, kappa, homes, items, positions, more_clicks, more_skips)
            continue
        log_u -= (volume - 1.0) * delta
        up, down = math.exp(delta), math.exp(-delta)
        seen = kappa[position] * down
        if highest * up >= 1.0 or seen >= 1.0 or seen < LEAST:
            continue
        if more_skips > 0.0:
            for item in range(theta.size):
                if homes[item] == position:
                    log_u -= more_skips * math.log((1.0 - theta[item] * up) / (1.0 - theta[item]))
        rise, error = _rise_by_series(skips, theta, kappa, homes, position, up, down)
        if abs(rise - log_u) <= error:
            rise = _rise(skips, theta, kappa, homes, position, up, down)
        if log_u < rise:
            kappa[position] = seen
            for item in range(theta.size):
                if homes[item] == position:
                    theta[item] *= up


@kernel(inline=True)
def _counted(
    clicks: Floats, skips: Floats, theta: Floats, homes: Ints, position: int, more_clicks: float
) -> tuple[float, float, float, float]:
    """What the counts say of a slide: information on delta, the exponent of e^delta from the clicks on products that
    change and from the prior's volume; and the largest theta at home.

    A cell's information on log(theta kappa) is about clicks x displays / skips.
    """
    information, exponent, volume, highest = 0.0, 0.0, 0.0, 0.0
    for item in range(theta.size):
        if homes[item] == position:
            volume += 1.0 + more_clicks
            highest = max(highest, theta[item])
            for other in range(clicks.shape[1]):
                if other != position:
                    clicked, skipped = clicks[item, other], 1.0 + skips[item, other]
                    exponent += clicked
                    information += clicked * (clicked + skipped) / skipped
        else:
            clicked, skipped = clicks[item, position], 1.0 + skips[item, position]
            exponent -= clicked
            information += clicked * (clicked + skipped) / skipped
    return information + volume * more_clicks, exponent, volume, highest


@kernel(inline=True)
def _rise_by_series(
    skips: Floats, theta: Floats, kappa: Floats, homes: Ints, position: int, up: float, down: float
) -> tuple[float, float]:
    """`_rise` without a logarithm, and how far off it may be."""
    total, size, widest = 0.0, 0.0, 0.0
    for item in range(theta.size):
        if homes[item] == position:
            for other in range(kappa.size):
                if other != position:
                    chance = theta[item] * kappa[other]
                    z = chance * (1.0 - up) / (2.0 - chance * (1.0 + up))
                    square = z * z
                    widest = max(widest, square)
                    size += skips[item, other] * abs(z)
                    total += skips[item, other] * z * (1.0 + beyond_first(square))
        else:
            chance = theta[item] * kappa[position]
            z = chance * (1.0 - down) / (2.0 - chance * (1.0 + down))
            square = z * z
            widest = max(widest, square)
            size += skips[item, position] * abs(z)
            total += skips[item, position] * z * (1.0 + beyond_first(square))
    return 2.0 * total, size * remainder(widest) if widest < 0.5 else math.inf


@kernel
def _rise(skips: Floats, theta: Floats, kappa: Floats, homes: Ints, position: int, up: float, down: float) -> float:
    """How much the log-likelihood of the skips rises when products of the items at home grow, of others shrink."""
    total = 0.0
    for item in range(theta.size):
        if homes[item] == position:
            for other in range(kappa.size):
                if other != position and skips[item, other] > 0.0:
                    chance = theta[item] * kappa[other]
                    total += skips[item, other] * math.log((1.0 - chance * up) / (1.0 - chance))
        elif skips[item, position] > 0.0:
            chance = theta[item] * kappa[position]
            total += skips[item, position] * math.log((1.0 - chance * down) / (1.0 - chance))
    return total


@kernel
def _slide_rest(
    position: int,
    delta: float,
    log_u: float,
    skips: Floats,
    theta: Floats,
    kappa: Floats,
    homes: Ints,
    items: Ints,
    positions: Ints,
    more_clicks: float,
    more_skips: float,
) -> None:
    """The slide of a position with a fixed kappa: the other items of its part go down, the other positions up."""
    label, up, down = positions[position], math.exp(delta), math.exp(-delta)
    for item in range(theta.size):
        if items[item] == label and homes[item] != position:
            log_u += (1.0 + more_clicks) * delta
            if theta[item] * down >= 1.0 or theta[item] * down < LEAST:
                return
            if more_skips > 0.0:
                log_u -= more_skips * math.log((1.0 - theta[item] * down) / (1.0 - theta[item]))
    for other in range(kappa.size):
        if positions[other] == label and other != position:
            log_u -= delta
            if kappa[other] * up >= 1.0 or kappa[other] * up < LEAST:
                return
    if not log_u < _rise(skips, theta, kappa, homes, position, up, down):
        return
    for item in range(theta.size):
        if items[item] == label and homes[item] != position:
            theta[item] *= down
    for other in range(kappa.size):
        if positions[other] == label and other != position:
            kappa[other] *= up


@kernel(inline=True)
def rescale(
    theta: Floats,
    kappa: Floats,
    free_from: int,
    items: Ints,
    positions: Ints,
    more_clicks: float,
    more_skips: float,
    rng: np.random.Generator,
) -> None:
    """For every connected part without a fixed kappa: log theta + delta and log kappa - delta, delta by its law.

    With n items and l positions in the part its density is exp((n (1 + more_clicks) - l) delta), times the prior's
    (1 - theta)^more_skips, as far as no theta and no kappa exceeds 1.
    """
    for label in range(free_from, kappa.size):
        if positions[label] != label:
            continue
        rate, theta_most, kappa_most = 0.0, 0.0, 0.0
        for item in range(theta.size):
            if items[item] == label:
                rate += 1.0 + more_clicks
                theta_most = max(theta_most, theta[item])
        for position in range(label, kappa.size):
            if positions[position] == label:
                rate -= 1.0
                kappa_most = max(kappa_most, kappa[position])
        if theta_most <= 0.0 or kappa_most <= 0.0:
            continue
        low, high = math.log(kappa_most), -math.log(theta_most)
        if more_skips > 0.0:
            delta = _scale_slice(theta, items, label, low, high, rate, more_skips, rng)
        else:
            delta = _truncated_exponential(low, high, rate, rng)
        up, down = math.exp(delta), math.exp(-delta)
        for item in range(theta.size):
            if items[item] == label:
                theta[item] = min(theta[item] * up, MOST)
        for position in range(label, kappa.size):
            if positions[position] == label:
                kappa[position] = min(kappa[position] * down, MOST)


@kernel(inline=True)
def _truncated_exponential(low: float, high: float, rate: float, rng: np.random.Generator) -> float:
    """A draw of density exp(rate delta) on [low, high], whatever the sign of the rate."""
    u, width = rng.random(), high - low
    if abs(rate) * width < 1e-9:
        return low + u * width
    if rate > 0.0:
        return high + math.log(u + (1.0 - u) * math.exp(-rate * width)) / rate
    return low + math.log(u + (1.0 - u) * math.exp(rate * width)) / rate


@kernel
def _scale_slice(
    theta: Floats,
    items: Ints,
    label: int,
    low: float,
    high: float,
    rate: float,
    more_skips: float,
    rng: np.random.Generator,
) -> float:
    """A slice step from delta = 0 (Neal 2003, figure 5): under a Beta prior the law of the scale has no simple draw."""
    fall = rng.standard_exponential()
    for _ in range(_TRIES):
        delta = low + (high - low) * rng.random()
        up, total, product = math.exp(delta), 0.0, 1.0
        for item in range(theta.size):
            if items[item] == label:
                product *= max(1.0 - theta[item] * up, 1.0 - MOST) / (1.0 - min(theta[item], MOST))
                if not 1e-100 < product < 1e100:  # one logarithm for many factors
                    total += math.log(product)
                    product = 1.0
        if rate * delta + more_skips * (total + math.log(product)) > -fall:
            return delta
        if delta < 0.0:
            low = delta
        else:
            high = delta
    return 0.0
