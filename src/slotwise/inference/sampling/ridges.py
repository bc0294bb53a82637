"""Moves along the ridges of a PBM's posterior, on which theta kappa is constant and single-coordinate steps are slow.

Clicks determine only the products theta kappa. If an item was nearly always displayed at one position, the product of
its theta and the position's kappa is well known. While this product stays fixed, neither of the two can change alone.
The main position of an item is the one with most of its clicks. `slide` changes the kappa of a position and the thetas
of all items with this main position in opposite directions. `rescale` changes all thetas and kappas of a connected
component. It changes no product, so the likelihood stays the same, and the scale can be drawn from its exact law.
"""

import math
from typing import NamedTuple

import numpy as np

from slotwise.checks import Floats, Ints
from slotwise.inference.sampling.artanh_series import beyond_first, remainder
from slotwise.inference.sampling.coordinates import LEAST, MOST, BetaFactor
from slotwise.inference.sampling.slice_bracket import shrink
from slotwise.jit import kernel

NO_POSITION = -1
_STEP = 2.4  # standard deviations: the usual optimum of a random walk in one dimension
_TRIES = 200


class Ridges(NamedTuple):
    """The directions of the ridges.

    They depend on the counts alone. The moves are valid for any directions, but directions that follow the counts mix
    better.
    """

    main_positions: Ints  # N: the position with most of an item's clicks, or NO_POSITION
    items: Ints  # N: the label of an item's connected component, or NO_POSITION
    positions: Ints  # L: the same for positions; the label of a component is its first position


class PositionScan(NamedTuple):
    """The positions that one pass of `slide` updates."""

    first: int
    stride: int
    free_from: int  # the first position whose kappa is not fixed


class Slide(NamedTuple):
    """One proposal of `slide`."""

    position: int
    delta: float
    up: float  # e^delta
    down: float  # e^-delta


class ScaleLaw(NamedTuple):
    """The density exp(rate delta) on [low, high]."""

    low: float
    high: float
    rate: float


@kernel
def single_component(n_items: int, n_positions: int) -> Ridges:
    """The ridges of a design that is assumed to be connected."""
    none = np.full(n_items, NO_POSITION, np.int64)
    return Ridges(none, np.zeros(n_items, np.int64), np.zeros(n_positions, np.int64))


@kernel(inline=True)
def find_main_positions(clicks: Floats, main_positions: Ints) -> None:
    """Fill `main_positions` from the clicks."""
    for item in range(main_positions.size):
        most, main = 0.0, NO_POSITION
        for position in range(clicks.shape[1]):
            if clicks[item, position] > most:
                most, main = clicks[item, position], position
        main_positions[item] = main


@kernel(inline=True)
def slide(
    scan: PositionScan,
    clicks: Floats,
    skips: Floats,
    theta: Floats,
    kappa: Floats,
    main_positions: Ints,
    items: Ints,
    positions: Ints,
    prior: BetaFactor,
    rng: np.random.Generator,
) -> None:
    """For each position of the scan, subtract delta from log kappa, and add delta to log theta of its items.

    The items of a position are those that have it as main position. This is a random walk in log coordinates, so the
    density is taken in log coordinates: every exponent is larger by 1. The width of a step depends on the counts and
    the prior alone. If kappa is fixed, the rest of its component moves in the opposite direction instead, which changes
    the same products.

    The arrays are separate arguments, because tuples of arrays made a round of `slot_ts` 3 % slower.
    """
    for position in range(scan.first, kappa.size, scan.stride):
        information, exponent, volume, highest = _exponents(clicks, skips, theta, main_positions, position, prior)
        if highest <= 0.0:
            continue  # no item has its main position here
        delta = _STEP / math.sqrt(1.0 + information) * rng.standard_normal()
        log_u = -rng.standard_exponential() - exponent * delta
        proposal = Slide(position, delta, math.exp(delta), math.exp(-delta))
        if position < scan.free_from:
            _slide_rest(proposal, log_u, skips, theta, kappa, Ridges(main_positions, items, positions), prior)
            continue
        log_u -= (volume - 1.0) * delta
        up, proposed_kappa = proposal.up, kappa[position] * proposal.down
        if highest * up >= 1.0 or proposed_kappa >= 1.0 or proposed_kappa < LEAST:
            continue
        if prior.skips > 0.0:
            for item in range(theta.size):
                if main_positions[item] == position:
                    log_u -= prior.skips * math.log((1.0 - theta[item] * up) / (1.0 - theta[item]))
        rise, error = _rise_by_series(proposal, skips, theta, kappa, main_positions)
        if abs(rise - log_u) <= error:
            rise = _rise(proposal, skips, theta, kappa, main_positions)
        if log_u < rise:
            kappa[position] = proposed_kappa
            for item in range(theta.size):
                if main_positions[item] == position:
                    theta[item] *= up


@kernel(inline=True)
def _exponents(
    clicks: Floats, skips: Floats, theta: Floats, main_positions: Ints, position: int, prior: BetaFactor
) -> tuple[float, float, float, float]:
    """The quantities that a slide at a position depends on.

    In order, they are:
    - the information on delta (a cell's information on log(theta kappa) is about clicks x displays / skips),
    - the exponent of e^delta from the clicks on products that change,
    - the exponent of e^delta from the volume of the thetas under the prior,
    - the largest theta that changes.
    """
    information, exponent, volume, highest = 0.0, 0.0, 0.0, 0.0
    for item in range(theta.size):
        if main_positions[item] == position:
            volume += 1.0 + prior.clicks
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
    return information + volume * prior.clicks, exponent, volume, highest


@kernel(inline=True)
def _rise_by_series(
    proposal: Slide, skips: Floats, theta: Floats, kappa: Floats, main_positions: Ints
) -> tuple[float, float]:
    """Approximate `_rise` without a logarithm. Also returns an upper bound of the error."""
    position, up, down = proposal.position, proposal.up, proposal.down
    total, size, widest = 0.0, 0.0, 0.0
    for item in range(theta.size):
        if main_positions[item] == position:
            for other in range(kappa.size):
                if other != position:
                    z = _artanh_argument(theta[item] * kappa[other], up)
                    square = z * z
                    widest = max(widest, square)
                    size += skips[item, other] * abs(z)
                    total += skips[item, other] * z * (1.0 + beyond_first(square))
        else:
            z = _artanh_argument(theta[item] * kappa[position], down)
            square = z * z
            widest = max(widest, square)
            size += skips[item, position] * abs(z)
            total += skips[item, position] * z * (1.0 + beyond_first(square))
    return 2.0 * total, size * remainder(widest) if widest < 0.5 else math.inf


@kernel(inline=True)
def _artanh_argument(chance: float, factor: float) -> float:
    """The z of log((1 - factor chance) / (1 - chance)) = 2 artanh(z)."""
    return chance * (1.0 - factor) / (2.0 - chance * (1.0 + factor))


@kernel
def _rise(proposal: Slide, skips: Floats, theta: Floats, kappa: Floats, main_positions: Ints) -> float:
    """How much the log-likelihood of the skips rises.

    At other positions, the products of items with this main position grow. At this position, the products of other
    items shrink.
    """
    position, up, down = proposal.position, proposal.up, proposal.down
    total = 0.0
    for item in range(theta.size):
        if main_positions[item] == position:
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
    proposal: Slide, log_u: float, skips: Floats, theta: Floats, kappa: Floats, ridges: Ridges, prior: BetaFactor
) -> None:
    """Slide at a position with a fixed kappa.

    In its component, the thetas of items with other main positions go down, and the kappas of other positions go up.
    """
    main_positions, items, positions = ridges.main_positions, ridges.items, ridges.positions
    position, delta, up, down = proposal.position, proposal.delta, proposal.up, proposal.down
    label = positions[position]
    for item in range(theta.size):
        if items[item] == label and main_positions[item] != position:
            log_u += (1.0 + prior.clicks) * delta
            if theta[item] * down >= 1.0 or theta[item] * down < LEAST:
                return
            if prior.skips > 0.0:
                log_u -= prior.skips * math.log((1.0 - theta[item] * down) / (1.0 - theta[item]))
    for other in range(kappa.size):
        if positions[other] == label and other != position:
            log_u -= delta
            if kappa[other] * up >= 1.0 or kappa[other] * up < LEAST:
                return
    if not log_u < _rise(proposal, skips, theta, kappa, main_positions):
        return
    for item in range(theta.size):
        if items[item] == label and main_positions[item] != position:
            theta[item] *= down
    for other in range(kappa.size):
        if positions[other] == label and other != position:
            kappa[other] *= up


@kernel(inline=True)
def rescale(
    free_from: int,
    theta: Floats,
    kappa: Floats,
    items: Ints,
    positions: Ints,
    prior: BetaFactor,
    rng: np.random.Generator,
) -> None:
    """In each component without a fixed kappa, add delta to every log theta and subtract delta from every log kappa.

    delta follows its exact law. With n items and l positions in the component, its density is
    exp((n (1 + prior.clicks) - l) delta), times the prior's factors (1 - theta)^prior.skips. No theta and no kappa may
    exceed 1.
    """
    for label in range(free_from, kappa.size):
        if positions[label] != label:
            continue
        rate, theta_most, kappa_most = 0.0, 0.0, 0.0
        for item in range(theta.size):
            if items[item] == label:
                rate += 1.0 + prior.clicks
                theta_most = max(theta_most, theta[item])
        for position in range(label, kappa.size):
            if positions[position] == label:
                rate -= 1.0
                kappa_most = max(kappa_most, kappa[position])
        if theta_most <= 0.0 or kappa_most <= 0.0:
            continue
        law = ScaleLaw(math.log(kappa_most), -math.log(theta_most), rate)
        if prior.skips > 0.0:
            delta = _scale_slice(law, theta, items, label, prior.skips, rng)
        else:
            delta = _truncated_exponential(law, rng)
        up, down = math.exp(delta), math.exp(-delta)
        for item in range(theta.size):
            if items[item] == label:
                theta[item] = min(theta[item] * up, MOST)
        for position in range(label, kappa.size):
            if positions[position] == label:
                kappa[position] = min(kappa[position] * down, MOST)


@kernel(inline=True)
def _truncated_exponential(law: ScaleLaw, rng: np.random.Generator) -> float:
    """A draw from a `ScaleLaw`. Its rate may have either sign."""
    low, high, rate = law.low, law.high, law.rate
    u, width = rng.random(), high - low
    if abs(rate) * width < 1e-9:
        return low + u * width
    if rate > 0.0:
        return high + math.log(u + (1.0 - u) * math.exp(-rate * width)) / rate
    return low + math.log(u + (1.0 - u) * math.exp(rate * width)) / rate


@kernel
def _scale_slice(
    law: ScaleLaw, theta: Floats, items: Ints, label: int, skips: float, rng: np.random.Generator
) -> float:
    """Take a slice step from delta = 0 (Neal 2003, figure 5).

    If the density has a factor (1 - theta)^skips, there is no simple way to draw delta directly.
    """
    low, high, rate = law.low, law.high, law.rate
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
        if rate * delta + skips * (total + math.log(product)) > -fall:
            return delta
        low, high = shrink(low, high, delta, 0.0)
    return 0.0
